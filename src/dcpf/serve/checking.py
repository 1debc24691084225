"""The predictive check of the model in use, made once and in the background."""

import logging
import threading

import numpy as np

from dcpf.counts import Counts
from dcpf.evaluation.predictive import predictive_check
from dcpf.serve.answers import Check
from dcpf.serve.loaded import Loaded

log = logging.getLogger("dcpf.serve")

_DRAWS = 5
_ENTRIES = 500_000  # a larger model is checked for some of its users, who have about so many
_TOLD = (
    "element", "parameters", "users", "items", "draws", "binarized", "nonzeros", "share", "largest", "total",
    "ranges", "findings",
)  # fmt: skip


class _Stopped(Exception):  # noqa: N818 - nothing went wrong
    """Nobody waits for the check any more."""


class Checks:
    """The check of one model at a time. It starts when it is first asked for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._of: Loaded | None = None
        self._answer: Check = {"state": "computing"}

    def ask(self, loaded: Loaded) -> Check:
        """What is known of it by now."""
        if loaded.model.history_ is None:
            return {"state": "unavailable", "reason": "the model was saved without its training counts"}
        with self._lock:
            if self._of is not loaded:
                self._of, self._answer = loaded, {"state": "computing"}
                threading.Thread(target=self._run, args=(loaded,), name="dcpf-check", daemon=True).start()
            return self._answer

    def stop(self) -> None:
        """A check that is under way ends soon."""
        with self._lock:
            self._of = None

    def _run(self, loaded: Loaded) -> None:
        answer: Check
        try:
            found = predictive_check(loaded.model, _some(loaded), 0, _DRAWS, progress=lambda *_: self._go_on(loaded))
            told = found.to_dict()
            answer = {"state": "ready", **{name: told[name] for name in _TOLD}}  # type: ignore[typeddict-item]
        except _Stopped:
            return
        except Exception:
            log.exception("the predictive check failed")
            answer = {"state": "unavailable", "reason": "the check failed; the log of the service has more"}
        with self._lock:
            if self._of is loaded:
                self._answer = answer

    def _go_on(self, loaded: Loaded) -> None:
        if self._of is not loaded:
            raise _Stopped


def _some(loaded: Loaded) -> Counts | None:
    """The training counts of some users, or None for all."""
    model = loaded.model
    assert model.history_ is not None
    if model.history_.nnz <= _ENTRIES:
        return None
    users = len(model.users_)
    wanted = max(1, round(users * _ENTRIES / model.history_.nnz))
    chosen = np.sort(np.random.default_rng(0).choice(users, wanted, replace=False))
    return Counts(model.history_[chosen], model.users_.take(chosen), model.items_)
