"""The settings of DCPF that rank best on a part of the counts that is put aside.

A fifth of the counts is put aside, and `search` says what is tried on the rest. What came out best there is best
partly by chance. So it is held against the default once more, on other counts than those that it was chosen by, and
only what is clearly better on both is chosen.
"""

import json
import tempfile
import time
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dcpf
from dcpf.counts import Counts
from dcpf.experiments.lines import Lines
from dcpf.experiments.objective import USUAL, Gain, Objective
from dcpf.experiments.search import DEFAULT, SPACE, Settings, Space, best_of, search, space_for
from dcpf.model import DCPF
from dcpf.model.fitted import check_whole, describe_data

Floats = NDArray[np.float64]
Watch = Callable[[int, Settings, bool], object]  # trials that are done, what is tried now, whether it is once more

HELD_OUT = 0.2
# After so many iterations, models with excitation are within 2% of the score that they end with (plays, invoices).
_LOOK = 20
_HOPELESS = 0.95  # of the best score: who has less then is not fitted to the end
_FITS_KEPT = 3  # in memory, those of the best settings among them


@dataclass(frozen=True)
class Trial:
    """Settings that were tried on one of the two splits, and what came of them."""

    settings: Settings
    again: bool  # whether it is on the second split, by which it was not chosen
    score: float
    gain: Gain  # over the default, on the same users
    iterations: int
    seconds: float
    stopped: bool = False  # as hopeless: the score is what it had then


@dataclass(frozen=True)
class Tuned:
    """All that was tried, and what is chosen of it."""

    objective: Objective
    trials: tuple[Trial, ...]  # in their order; the first is the default
    confirmed: Trial | None  # the best on the second split; None where the default is the best
    seed: int

    @property
    def best(self) -> Trial:
        """The trial with the best score."""
        best = best_of({one.settings: one.score for one in self.trials})
        return next(one for one in self.trials if one.settings == best)

    @property
    def chosen(self) -> Settings:
        """The best settings if they are clearly better than the default on both splits, else the default."""
        second = self.confirmed
        clear = second is not None and self.best.gain.low > 0.0 and second.gain.low > 0.0
        return self.best.settings if clear else DEFAULT

    def model(self, **parameters: Any) -> DCPF:
        """An unfitted model with the chosen settings."""
        return DCPF(**asdict(self.chosen) | {"random_state": self.seed} | parameters)


def tune(
    counts: Any,
    metric: str = USUAL,
    trials: int = 40,
    *,
    seed: int = 0,
    journal: Path | None = None,
    threads: int | None = None,
    space: Space = SPACE,
    stop_early: bool = True,
    watch: Watch | None = None,
) -> Tuned:
    """Try so many settings, and choose by a metric such as "ndcg@100>2"; several with commas mean their average.

    What is done is kept in the journal, and a second call goes on from there, with more trials too. The same counts,
    metric and seed give the same trials and the same choice.
    """
    objective = Objective.parse(metric)
    check_whole(trials=trials)
    check_whole(seed=seed, least=0)
    counts = Counts.of(counts)
    about = {
        "version": dcpf.__version__, "metric": str(objective), "seed": seed, "data": describe_data(counts.matrix),
        "space": {name: list(values) for name, values in space.items()}, "default": asdict(DEFAULT),
        "stop_early": stop_early,
    }  # fmt: skip
    with ExitStack() as stack:
        if journal is None:
            journal = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "trials.jsonl"
        kept = stack.enter_context(_Kept(journal, about))
        made = [_Bench(counts, objective, seed, again, threads, kept) for again in (False, True)]
        done = _search(made[0], space_for(counts.shape, space), trials, stop_early, watch)
        tuned = Tuned(objective, tuple(done), None, seed)
        if tuned.best.settings == DEFAULT:
            return tuned
        if watch is not None:
            watch(len(done), tuned.best.settings, True)
        return replace(tuned, confirmed=made[1].trial(tuned.best.settings))


def _search(bench: "_Bench", space: Space, trials: int, stop_early: bool, watch: Watch | None) -> list[Trial]:
    """The first so many trials of the search."""
    done: list[Trial] = []
    proposals = search(space, bench.seed)
    settings = next(proposals)
    while len(done) < trials:
        if watch is not None:
            watch(len(done), settings, False)
        best = max(done, key=lambda one: one.score, default=None)
        done.append(bench.trial(settings, best if stop_early else None, best))
        try:
            settings = proposals.send(done[-1].score)
        except StopIteration:
            break
    return done


def split(counts: Counts, seed: int, *, again: bool = False) -> tuple[Counts, Counts]:
    """(train, test) of the search; or of the second look, whose test counts are as many, and others."""
    train, test = counts.split(HELD_OUT, seed)
    if not again:
        return train, test
    rest, other = train.split(HELD_OUT / (1.0 - HELD_OUT), seed)
    return rest + test, other


class _Kept(Lines):
    """Finished trials in a file."""

    way_out = "choose another file (--journal), or remove it"

    def __init__(self, path: Path, about: dict[str, Any]) -> None:
        super().__init__(path, about)
        self.trials: dict[tuple[Settings, bool], Trial] = {}

    def add(self, trial: Trial) -> None:
        """Keep a trial: it is on the disk when this returns."""
        self._append(json.dumps(asdict(trial), allow_nan=False).encode() + b"\n")
        self.trials[trial.settings, trial.again] = trial

    def _take(self, plain: Any) -> None:
        parts = {"settings": Settings(**plain["settings"]), "gain": Gain(**plain["gain"])}
        trial = Trial(**plain | parts)
        self.trials[trial.settings, trial.again] = trial


class _Bench:
    """One split of the counts, on which settings are tried."""

    def __init__(
        self, counts: Counts, objective: Objective, seed: int, again: bool, threads: int | None, kept: _Kept
    ) -> None:
        self.seed = seed
        self._train, self._test = split(counts, seed, again=again)
        self._objective, self._again, self._threads, self._kept = objective, again, threads, kept
        self._fits: dict[tuple[int, str, float], DCPF] = {}
        self._default: Floats | None = None

    def trial(self, settings: Settings, rival: Trial | None = None, best: Trial | None = None) -> Trial:
        """Try settings, or take what the journal has of them. Who is hopeless against the rival is stopped early.

        The factors of the best stay in memory, for the next trials are about it.
        """
        known = self._kept.trials.get((settings, self._again))
        if known is not None:
            return known
        if self._default is None:  # which all are compared with
            self._default = self._judged(self._fitted(DEFAULT, None)[0])
            self._objective.score(self._default)  # an error where nobody is judged
            if np.isfinite(self._default).any(axis=1).sum() < 2:
                raise ValueError(
                    f"{self._objective} judges one user only, which tells nothing of others: give counts of more "
                    "users, or choose a lower threshold"
                )
        began = time.perf_counter()
        model, stopped = self._fitted(settings, rival)
        values = self._judged(model)
        gain = self._objective.gain(values, self._default)
        seconds = round(time.perf_counter() - began, 3)
        score = self._objective.score(values)
        trial = Trial(settings, self._again, score, gain, model.n_iter_, seconds, stopped)
        self._forget(settings if best is None or score > best.score else best.settings)
        self._kept.add(trial)
        return trial

    def _judged(self, model: DCPF) -> Floats:
        return self._objective.values(model, self._test)

    def _fitted(self, settings: Settings, rival: Trial | None) -> tuple[DCPF, bool]:
        """A model with these settings, and whether its fit was stopped. Known factors only get other excitation."""
        known = self._fits.get(settings.factors)
        if known is not None:
            self._fits[settings.factors] = self._fits.pop(settings.factors)  # the last used is the last forgotten
            if (known.n_neighbors, known.neighbor_prior) != (settings.n_neighbors, settings.neighbor_prior):
                known.refit_excitation(settings.n_neighbors, settings.neighbor_prior)
            return known, False
        model = DCPF(**asdict(settings), random_state=self.seed, n_jobs=self._threads)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of sizes and iterations, which the last fit tells again
            if rival is None or self._must_finish(settings):
                model.fit(self._train)
            elif not self._finished(model, _HOPELESS * rival.score):
                return model, True
        self._fits[settings.factors] = model
        return model, False

    def _must_finish(self, settings: Settings) -> bool:
        """Factors alone climb long, and tell nothing early on.

        Nor is a fit stopped that was finished before: it may still be in memory or not, and that must not matter.
        """
        here = [one for one in self._kept.trials.values() if one.again == self._again and not one.stopped]
        return not settings.n_neighbors or any(one.settings.factors == settings.factors for one in here)

    def _finished(self, model: DCPF, least: float) -> bool:
        """Fit a model to the end, unless its score is less than this when it has made a few iterations."""
        with tempfile.TemporaryDirectory() as folder:
            model.set_params(checkpoint=folder, callback=lambda now: now.number == _LOOK)
            model.fit(self._train)
            if model.n_iter_ == _LOOK:
                if self._objective.score(self._judged(model)) < least:
                    return False
                model.set_params(callback=None).fit(self._train)  # goes on to the bits of a fit without a stop
        model.set_params(callback=None, checkpoint=None)
        return True

    def _forget(self, best: Settings) -> None:
        """Keep the factors of the best, and a few others."""
        for one in list(self._fits):
            if len(self._fits) > _FITS_KEPT and one != best.factors:
                del self._fits[one]
