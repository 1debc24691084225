"""The predictive check of the model in use, made once, in the background, when it is first asked for."""

import logging
import threading

import numpy as np

from dcpf.counts import Counts
from dcpf.model import FittedModel
from dcpf.serve.answers import Check
from dcpf.serve.served import ServedModel

log = logging.getLogger("dcpf.serve")

_DRAWS = 5
_ENTRIES = 500_000  # of the data; a model of more is checked on a sample of its users


class _Stopped(Exception):  # noqa: N818 - nothing went wrong
    """Nobody waits for this check any more."""


class Checks:
    """Makes the check of one model at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._of: ServedModel | None = None
        self._answer: Check = {"state": "computing"}

    def ask(self, served: ServedModel) -> Check:
        """The check, or how far it is."""
        if served.model.history is None:
            return {"state": "unavailable", "reason": "the model was saved without its training counts"}
        with self._lock:
            if self._of is not served:
                self._of, self._answer = served, {"state": "computing"}
                threading.Thread(target=self._run, args=(served,), name="dcpf-check", daemon=True).start()
            return self._answer

    def stop(self) -> None:
        """End a check under way soon."""
        with self._lock:
            self._of = None

    def _run(self, served: ServedModel) -> None:
        answer: Check
        try:
            from dcpf.evaluation.predictive import predictive_check  # evaluation is not needed to serve

            model = served.model
            found = predictive_check(model, _sample(model), 0, _DRAWS, progress=lambda *_: self._go_on(served))
            fields = found.to_dict()
            del fields["histogram"]  # ranges are enough for the page
            answer = {"state": "ready", **fields}  # type: ignore[typeddict-item]
        except _Stopped:
            return
        except Exception:
            log.exception("the predictive check failed")
            answer = {"state": "unavailable", "reason": "the check failed; the log of the service has more"}
        with self._lock:
            if self._of is served:
                self._answer = answer

    def _go_on(self, served: ServedModel) -> None:
        if self._of is not served:
            raise _Stopped


def _sample(model: FittedModel) -> Counts | None:
    """The training counts of a sample of users, or None to check all."""
    history = model.history
    if history is None or history.nnz <= _ENTRIES:
        return None
    size = max(1, round(len(model.users) * _ENTRIES / history.nnz))
    rows = np.sort(np.random.default_rng(0).choice(len(model.users), size, replace=False))
    return Counts(history[rows], model.users.take(rows), model.items)
