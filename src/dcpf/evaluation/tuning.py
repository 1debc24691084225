"""Choose the parameters of DCPF that rank best on held-out counts.

A fifth of the counts is held out, and parameters are tried on the rest. The best of many trials is best partly by
chance. So it is compared with the default once more, on other held-out counts, and chosen only if it is clearly
better on both.
"""

import tempfile
import time
import warnings
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import asdict, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import dcpf
from dcpf.counts import Counts
from dcpf.evaluation.runs import Journal
from dcpf.evaluation.trials import DEFAULT, DEFAULT_METRIC, Floats, Objective, Trial, Tuned, TunedParameters
from dcpf.model import DCPF
from dcpf.model.checks import check_whole
from dcpf.model.fitted import describe_data

Space = Mapping[str, tuple[Any, ...]]
Watch = Callable[[int, TunedParameters, bool], object]  # trials done, what is tried now, whether on the second split

SPACE: Space = {
    "n_neighbors": (0, 50, 100, 200, 400),
    "neighbor_prior": (10.0, 20.0, 40.0, 80.0, 160.0),
    "element": ("shifted-nb", "logarithmic", "geometric", "raw", "binary"),
    "shape_prior": (0.1, 0.3, 1.0),
    "n_components": (0, 20, 50, 100, 200),
}
"""The values to try of each parameter, in the order in which parameters are varied."""

HELD_OUT = 0.2
# After this many iterations, models with excitation are within 2% of their final score (plays, invoices).
_LOOK = 20
_HOPELESS = 0.95  # of the best score: a fit with a lower score after these iterations is stopped
_FITS_KEPT = 3  # in memory, besides that of the best parameters


def space_for(shape: tuple[int, int], space: Space = SPACE) -> Space:
    """The values that make a difference for this many users and items, and the defaults."""
    largest = {"n_components": min(shape), "n_neighbors": shape[1] - 1}
    return {
        name: tuple(one for one in values if one <= largest[name] or one == getattr(DEFAULT, name))
        if name in largest
        else values
        for name, values in space.items()
    }


def search(space: Space, seed: int) -> Generator[TunedParameters, float, None]:
    """Parameters to try, the default first. Send the score of each; it ends when all have been tried.

    Coordinate search: one parameter after another is varied about the best so far. Excitation comes first: it is
    learned after the factors, so these trials share one fit of the factors. When all single changes have been tried,
    the search draws two changes at once at random, and so on.
    """
    tried: dict[TunedParameters, float] = {DEFAULT: (yield DEFAULT)}
    rng = np.random.default_rng(seed)
    while True:
        before = len(tried)
        for name, values in space.items():
            best = max(tried, key=tried.__getitem__)
            for value in values:
                one = best.changed(**{name: value})
                if one.possible and one not in tried:
                    tried[one] = yield one
        if len(tried) == before:
            left = _nearest(max(tried, key=tried.__getitem__), space, tried)
            if not left:
                return
            one = left[int(rng.integers(len(left)))]
            tried[one] = yield one


def _nearest(best: TunedParameters, space: Space, tried: Iterable[TunedParameters]) -> list[TunedParameters]:
    """The parameters not tried yet that differ from the best in as few places as possible."""
    grid = dict.fromkeys(best.changed(**dict(zip(space, values, strict=True))) for values in product(*space.values()))
    known = set(tried)
    left = [one for one in grid if one.possible and one not in known]
    least = min((one.distance(best) for one in left), default=0)
    return [one for one in left if one.distance(best) == least]


def tune(
    counts: Any,
    metric: str = DEFAULT_METRIC,
    trials: int = 40,
    *,
    seed: int = 0,
    journal: Path | None = None,
    threads: int | None = None,
    space: Space = SPACE,
    stop_early: bool = True,
    watch: Watch | None = None,
) -> Tuned:
    """Try this many parameters, and choose by a metric such as "ndcg@100>2", or the mean of several with commas.

    Finished trials are kept in the journal, and a second call resumes from there, also with more trials. The same
    counts, metric and seed give the same trials and the same choice.
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
        way_out = "choose another journal=, or remove it"
        kept = stack.enter_context(Journal(journal, Trial, about, way_out=way_out))
        first, second = (_Bench(counts, objective, seed, again, threads, kept) for again in (False, True))
        finished: list[Trial] = []
        proposals = search(space_for(counts.shape, space), seed)
        settings: TunedParameters | None = next(proposals)
        while settings is not None and len(finished) < trials:
            if watch is not None:
                watch(len(finished), settings, False)
            best = max(finished, key=lambda one: one.score, default=None)
            finished.append(first.trial(settings, best, stop_early=stop_early))
            try:
                settings = proposals.send(finished[-1].score)
            except StopIteration:
                settings = None
        tuned = Tuned(objective, tuple(finished), None, seed)
        if tuned.best.settings == DEFAULT:
            return tuned
        if watch is not None:
            watch(len(finished), tuned.best.settings, True)
        return replace(tuned, confirmed=second.trial(tuned.best.settings))


def split(counts: Counts, seed: int, *, again: bool = False) -> tuple[Counts, Counts]:
    """(train, test) of the search, or of the second split, with as many other test counts."""
    train, test = counts.split(HELD_OUT, seed)
    if not again:
        return train, test
    rest, other = train.split(HELD_OUT / (1.0 - HELD_OUT), seed)
    return rest + test, other


class _Bench:
    """One split of the counts, on which parameters are tried."""

    def __init__(
        self,
        counts: Counts,
        objective: Objective,
        seed: int,
        again: bool,
        threads: int | None,
        journal: Journal[Trial],
    ) -> None:
        self._seed, self._objective, self._again, self._threads = seed, objective, again, threads
        self._train, self._test = split(counts, seed, again=again)
        self._journal = journal
        self._fits: dict[tuple[int, str, float], DCPF] = {}  # by parameters of the factors, the last used last
        self._default: Floats | None = None  # values of the default model, which all are compared with

    def trial(self, settings: TunedParameters, best: Trial | None = None, *, stop_early: bool = False) -> Trial:
        """Try parameters, or take the trial from the journal.

        The factors of the best trial stay in memory, for the next trials vary it.
        """
        known = self._journal.records.get((settings, self._again))
        if known is not None:
            return known
        if self._default is None:
            self._default = self._judged(self._fitted(DEFAULT)[0])
            self._objective.score(self._default)  # an error if nobody is judged
            if np.isfinite(self._default).any(axis=1).sum() < 2:
                raise ValueError(
                    f"{self._objective} judges only one user, which is too few to compare parameters: give counts of "
                    "more users, or choose a lower threshold"
                )
        began = time.perf_counter()
        model, stopped = self._fitted(settings, _HOPELESS * best.score if stop_early and best else None)
        values = self._judged(model)
        gain, score = self._objective.gain(values, self._default), self._objective.score(values)
        seconds = round(time.perf_counter() - began, 3)
        trial = Trial(settings, self._again, score, gain, model.n_iter_, seconds, stopped)
        kept = settings if best is None or score > best.score else best.settings
        for factors in list(self._fits)[:-_FITS_KEPT]:
            if factors != kept.factors:
                del self._fits[factors]
        self._journal.add(trial)
        return trial

    def _judged(self, model: DCPF) -> Floats:
        return self._objective.values(model, self._test)

    def _fitted(self, settings: TunedParameters, least: float | None = None) -> tuple[DCPF, bool]:
        """A model with these parameters, and whether its fit was stopped because its score was below `least`."""
        known = self._fits.pop(settings.factors, None)
        if known is not None:  # its factors stay, with other excitation
            self._fits[settings.factors] = known
            if (known.n_neighbors, known.neighbor_prior) != (settings.n_neighbors, settings.neighbor_prior):
                known.set_params(
                    n_neighbors=settings.n_neighbors, neighbor_prior=settings.neighbor_prior
                ).refit_parts()
            return known, False
        model = DCPF(**asdict(settings), random_state=self._seed, n_jobs=self._threads)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # on sizes and iterations; the final fit repeats them
            if least is None or self._must_finish(settings):
                model.fit(self._train)
            elif not self._finished(model, least):
                return model, True
        self._fits[settings.factors] = model
        return model, False

    def _must_finish(self, settings: TunedParameters) -> bool:
        """Factors alone converge slowly, so an early score says little of them.

        Nor is a fit stopped whose factors were finished before: whether they are still in memory must not matter.
        """
        finished = (one for one in self._journal.records.values() if one.again == self._again and not one.stopped)
        return not settings.n_neighbors or any(one.settings.factors == settings.factors for one in finished)

    def _finished(self, model: DCPF, least: float) -> bool:
        """Fit a model to the end, unless its score is below `least` after a few iterations."""
        with tempfile.TemporaryDirectory() as folder:
            model.set_params(checkpoint=folder, callback=lambda now: now.number == _LOOK)
            model.fit(self._train)
            if model.n_iter_ == _LOOK:
                if self._objective.score(self._judged(model.refit_parts())) < least:
                    return False
                model.set_params(callback=None).fit(self._train)  # resumes to the same bits as without a stop
        model.set_params(callback=None, checkpoint=None)
        return True
