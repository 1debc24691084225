"""DCPF: a scikit-learn estimator in front of a fitted model."""

import functools
import math
import numbers
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Concatenate, ParamSpec, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from dcpf import elements, parts
from dcpf.counts import Counts, Id, Ids, Strings, count_matrix, report
from dcpf.elements import Element
from dcpf.inference.blocks import Draw, LocalBlocks, random_start
from dcpf.inference.data import Data
from dcpf.inference.gammas import GammaPosterior
from dcpf.inference.settings import FitSettings
from dcpf.kernels.threads import Threads, thread_count
from dcpf.model.changes import Start, counts_to_learn_from, learn_batch
from dcpf.model.checkpoint import Checkpoint, plain_parameters, remove_checkpoint
from dcpf.model.checks import check_whole, generator, has_ids, warn_caller
from dcpf.model.fit import Fit
from dcpf.model.fitted import Facts, FittedModel, describe_data
from dcpf.model.sessions import sessions_per_count
from dcpf.model.sklearn_contract import CountTransformer
from dcpf.parts import Learning, Part
from dcpf.progress import Iteration, ProgressBar
from dcpf.text import plural

Floats = NDArray[np.floating]
P = ParamSpec("P")
T = TypeVar("T")


def _asks(question: Callable[Concatenate[FittedModel, P], T]) -> Callable[Concatenate["DCPF", P], T]:
    """A method that asks the fitted model, with the estimator's threads."""
    takes_threads = "n_jobs" in question.__annotations__

    @functools.wraps(question)
    def ask(self: "DCPF", *arguments: Any, **named: Any) -> T:
        if takes_threads:
            named.setdefault("n_jobs", self.n_jobs)
        return question(self._fitted(arguments[:1]), *arguments, **named)

    return cast("Callable[Concatenate[DCPF, P], T]", ask)


def _changes(
    question: Callable[Concatenate[FittedModel, P], FittedModel],
) -> Callable[Concatenate["DCPF", P], "DCPF"]:
    """A method that replaces the fitted model by a changed one."""

    @functools.wraps(question)
    def change(self: "DCPF", *arguments: Any, **named: Any) -> "DCPF":
        self.fitted_ = _asks(question)(self, *arguments, **named)
        return self

    return cast("Callable[Concatenate[DCPF, P], DCPF]", change)


class DCPF(ClassNamePrefixFeaturesOutMixin, CountTransformer):  # type: ignore[misc]  # scikit-learn has no types
    """Discrete compound Poisson factorization of a users x items matrix of counts.

    Behind each count y stand n sessions, n ~ Poisson(w . h), and each session adds one or more to the count, by
    the law of the element. The fit learns who likes what (W, H), how active users and how popular items are, and
    from the element's parameters how much a large count is worth: between Poisson factorization of the raw and of
    the binarized counts.

    Parameters
    ----------
    n_components : int
        K, the length of a user's and an item's vector. With 0 there is one component, for how active users and how
        popular items are, and excitation does the rest.
    element : str or Element
        The law of a session: "shifted-nb", "logarithmic", "geometric", "zero-truncated-poisson", one of the limits
        "raw" and "binary", or an object such as `dcpf.elements.Logarithmic(p=0.3)`, where learning then starts.
    n_neighbors : int
        How many items may excite an item: sessions with one bring sessions with another. Those that bring little are
        left out. 0 is factors alone, as in the paper.
    neighbor_prior : float
        How many users must have an item before what they do counts as much as the prior on what it excites: that
        items which go together excite each other. So much it is for an item that 25 users have, and more for one that
        many have. Of fewer than 1,500 users in all it is less, by the root of their number.
    shape_prior : float or (float, float)
        Shape of the gamma priors of W and H; less than 1 makes vectors sparse.
    learn_element : bool
        Learn the element's parameters, or leave them as given. An element that starts at an end of its range, such as
        p = 0, is a limit and stays there.
    learn_rates : bool
        Learn the rates of the gamma priors (activity and popularity), or hold them at 1.
    max_iter, tol : int, float
        Stop when the bound rises by less than `tol` of its size, or after `max_iter` iterations. tol=0 runs all.
    accelerate : bool
        Let each iteration go on in the direction of the last ones as long as the bound rises: some tens of iterations
        for hundreds. False gives the paper's iterations.
    init : "random" or (array, array)
        Where to start, or the pair (E[W], E[H]) itself.
    warm_start : bool
        Let a second `fit` start from what the first has learned: users and items of the same id keep their factors,
        new ones start at random. Otherwise it starts afresh.
    dtype : "float32" or "float64"
        Precision of the factors. Long sums and the bound are float64 in any case.
    n_jobs : int or None
        Threads; None is all cores. The result is the same to the last bit for any number.
    random_state : int, Generator, RandomState or None
        For the random start.
    verbose : bool
        Show a progress bar with the bound and the element's parameters.
    callback : callable or None
        Called after each iteration with a `dcpf.Iteration` (number, bound, element, seconds); a true answer ends
        the fit there, with the factors alone: `refit_parts` learns the other parts.
    checkpoint : path or None
        A folder for what the fit has reached, every 10 iterations or 60 seconds and when it stops. If it holds
        something of a fit of the same data with the same parameters, `fit` goes on from there, to the same bits as if
        it had never stopped. It refuses to go on with others; max_iter, tol, n_jobs, verbose and callback may change.
        A `random_state` that is no number, and the model that a warm start begins with, are not compared. The
        callback hears of the last iteration once more. When the fit has ended, `save` removes the checkpoint.

    Attributes
    ----------
    element_ : Element
        The element with its learned parameters.
    bounds_ : array
        The bound (ELBO) after each iteration.
    n_iter_ : int
        How many iterations were made.
    excitation_ : Excitation or None
        By what items each item is excited, and how much: `strength`, a sparse matrix with a row for each item.
    user_posterior_, item_posterior_ : GammaPosterior
        q(W) and q(H), with `shape`, `row_rate`, `column_rate` and `mean`.
    user_factors, item_factors : array
        E[W] (users x K) and E[H] (items x K). `components_` is E[H] transposed.
    users_, items_ : Ids
        The ids of their rows: integers or strings, as they came; 0, 1, ... if the data were a matrix.
    names_ : Strings or None
        The names of the items, if the data had any.
    history_ : csr_array or None
        The training counts.
    """

    def __init__(
        self,
        n_components: int = 50,
        element: str | Element = "shifted-nb",
        *,
        n_neighbors: int = 200,
        neighbor_prior: float = 40.0,
        shape_prior: float | tuple[float, float] = 0.3,
        learn_element: bool = True,
        learn_rates: bool = True,
        max_iter: int = 500,
        tol: float = 1e-5,
        accelerate: bool = True,
        init: str | tuple[Any, Any] = "random",
        warm_start: bool = False,
        dtype: Any = "float32",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool = False,
        callback: Callable[[Iteration], object] | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> None:
        self.n_components = n_components
        self.element = element
        self.n_neighbors = n_neighbors
        self.neighbor_prior = neighbor_prior
        self.shape_prior = shape_prior
        self.learn_element = learn_element
        self.learn_rates = learn_rates
        self.max_iter = max_iter
        self.tol = tol
        self.accelerate = accelerate
        self.init = init
        self.warm_start = warm_start
        self.dtype = dtype
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback
        self.checkpoint = checkpoint

    @classmethod
    def paper(cls, n_components: int = 100, element: str | Element = "shifted-nb", **parameters: Any) -> Self:
        """The model of the paper, and its iterations: factors alone, and VBEM without acceleration.

        Gouvert, Oberlin and Févotte, "Recommendation from Raw Data with Adaptive Compound Poisson Factorization",
        UAI 2019. All other parameters may be given as for `DCPF`.
        """
        return cls(n_components, element, **{"n_neighbors": 0, "accelerate": False, "shape_prior": 0.3} | parameters)

    def fit(self, X: Any, y: object = None, *, kinds: Sequence[type[Part]] | None = None) -> Self:
        """Learn from counts: a `Counts`, a table of users, items and counts, or a users x items matrix.

        A table is one of pandas, polars or pyarrow; a matrix is scipy sparse, or anything that numpy makes one from.
        `kinds` are the kinds of parts to learn, in this order, where you have one of your own: the first is
        `dcpf.parts.factors.Factors`. By default they are `dcpf.parts.kinds()`.
        """
        del y
        settings = self.checked_settings()
        counts = self._with_known_names(Counts.of(X))
        matrix, described = counts.matrix, describe_data(counts.matrix)
        if self.n_components > min(matrix.shape):
            fewer = plural(min(matrix.shape), "user" if matrix.shape[0] <= matrix.shape[1] else "item")
            warn_caller(f"n_components={self.n_components} is more than {fewer} can tell apart")
        checkpoint = Checkpoint.of(self.get_params(deep=False), described)
        data, start = Data.from_matrix(matrix), None
        element = elements.get(self.element)
        if checkpoint.position is None:
            element, start = self._start(counts, data)
        shown = bool(self.verbose)
        with checkpoint, Threads(self.n_jobs) as threads, ProgressBar(self.max_iter, shown=shown) as bar:
            for line in (*counts.notes, report(X, matrix), *checkpoint.notes):
                bar.say(line)
            blocks = LocalBlocks(data, settings, threads, matrix)
            job = Learning(blocks, element, lambda pairs: np.zeros(pairs.nnz), 0.0, settings, threads, start)
            run = self.fit_with(job, int(matrix.nnz), checkpoint, bar, kinds)
            try:
                run.run()
            except BaseException:
                run.take_reached()
                raise
            finally:  # whatever ended it, what was reached is kept
                if run.parts:
                    self.take(run, counts.users, counts.items, counts.names, matrix, described)
                if run.reached is not None:
                    checkpoint.keep(run.reached, ended=run.ended)
        self.warn_unsettled(run)
        return self

    def fit_with(
        self,
        job: Learning,
        entries: int,
        checkpoint: Any,
        bar: ProgressBar,
        kinds: Sequence[type[Part]] | None = None,
    ) -> Fit:
        """The fit of this model from these blocks, here or on a cluster."""
        return Fit(
            parts.kinds() if kinds is None else kinds,
            job,
            entries,
            max_iter=self.max_iter,
            tol=self.tol,
            callback=self.callback,
            checkpoint=checkpoint,
            bar=bar,
        )

    def take(
        self,
        run: Fit,
        users: Ids,
        items: Ids,
        names: Strings | None,
        history: sparse.csr_array | None,
        data: dict[str, Any],
    ) -> None:
        """Become the model that a fit has learned."""
        bounds = np.empty(0) if run.reached is None else run.reached.bounds
        facts = Facts(data, plain_parameters(self.get_params(deep=False)), bounds)
        learned = FittedModel(run.element, tuple(run.parts), run.weights, users, items, names, history, facts)
        if history is not None:
            mean = sessions_per_count(learned, self.n_jobs)
            learned = replace(learned, facts=replace(facts, sessions_per_count=mean))
        self.fitted_ = learned

    def warn_unsettled(self, run: Fit) -> None:
        """Warn where the fit has ended before its bound had settled."""
        if not (run.settled or run.stopped) and self.tol > 0.0:
            warn_caller(
                f"the bound still rises after max_iter={self.max_iter} iterations; raise max_iter, or set tol=0 "
                "if a fixed number of iterations is meant",
                ConvergenceWarning,
            )

    @classmethod
    def from_fitted(cls, fitted: FittedModel, **parameters: Any) -> Self:
        """An estimator that continues from a fitted model: with `partial_fit`, `refit_parts`, or a warm start.

        Its parameters are those of the fit; `parameters` change some of them.
        """
        model = cls(**{**fitted.facts.parameters, **parameters})
        model.fitted_ = fitted
        return model

    def refit_parts(self, *, kinds: Sequence[type[Part]] | None = None) -> Self:
        """Learn all parts but the factors anew, from the training counts and with the parameters as they are now.

        Factors and element stay. As the other parts are learned last, this gives what a whole fit with these
        parameters would give. After `partial_fit` and `partial_fit_items` it brings them up to date. `kinds` is that
        of `fit`.
        """
        fitted, settings = self._fitted(), self.checked_settings()
        matrix, factors = counts_to_learn_from(fitted), fitted.part("factors")
        if not matrix.nnz:
            raise ValueError("the users of the model have no counts any more, so there is nothing to learn from")
        with Threads(self.n_jobs) as threads, ProgressBar(self.max_iter, shown=bool(self.verbose)) as bar:
            blocks = LocalBlocks(Data.from_matrix(matrix), settings, threads, matrix)
            job = Learning(blocks, fitted.element, lambda pairs: np.zeros(pairs.nnz), 0.0, settings, threads)
            run = self.fit_with(job, int(matrix.nnz), Checkpoint(None), bar, kinds)
            run.learn_after([factors])
            parameters = plain_parameters(self.get_params(deep=False))
            facts = replace(fitted.facts, data=describe_data(matrix), parameters=parameters)
            learned = replace(fitted, parts=tuple(run.parts), weights=run.weights, facts=facts)
            mean = sessions_per_count(learned, self.n_jobs)
            self.fitted_ = replace(learned, facts=replace(facts, sessions_per_count=mean))
        return self

    def partial_fit(
        self, X: Any, y: object = None, *, users: Iterable[Id] | None = None, total_users: int | None = None
    ) -> Self:
        """Learn from some users, new or known, and keep what was learned from others: a step of stochastic VBEM.

        X holds all counts of these users by now: a `Counts`, a table, or a matrix whose rows are `users` (without
        `users`, new ones that are numbered on). Call it with batch after batch, in random order if they are there
        already, and pass after pass over them as long as `bounds_` rises, which has an estimate of the bound after
        each batch. `total_users` is the number of users there will be in all: with it the first batches count as the
        part that they are, and the model becomes clearly better.

        Twenty batches a pass are good, and more than ten passes: the first ten only find out what there is. Twenty
        passes come about as far as hundreds of plain iterations; `fit` with `warm_start=True` continues from there.
        After a fit, or from a loaded model (`DCPF.from_fitted`), it continues from what that has learned. New items
        are added as they come, if X has ids.

        This updates the factors. All other parts stay as they are until you call `refit_parts`.

        There are no checkpoints here: to `save` after a batch and to load before the next change no bit, if
        `random_state` is a number.
        """
        del y
        settings = self.checked_settings()
        if total_users is not None:
            check_whole(total_users=total_users)
        parameters = plain_parameters(self.get_params(deep=False))
        rng, dtype = generator(self.random_state), np.dtype(self.dtype)
        begin = Start(elements.get(self.element), self.size, dtype, rng, parameters)
        known = getattr(self, "fitted_", None)
        if known is not None and not has_ids(X):
            self._check_columns(X)
        self.fitted_ = learn_batch(known, X, users, total_users, settings, begin, self.n_jobs)
        return self

    def save(self, path: str | os.PathLike[str], *, history: bool = True) -> None:
        """Write the model to one .safetensors file. An old file is replaced only when the new one is complete.

        `history=False` leaves the training counts out: then lists need `history=`. What concerns a run only is not
        kept, nor is an `init` of arrays, or a `random_state` that is not a number. The checkpoint of a fit that has
        ended is removed: the model has all that was in it.
        """
        self._fitted().save(path, history=history)
        if self.checkpoint is not None:
            remove_checkpoint(self.checkpoint, self.bounds_)

    recommend = _asks(FittedModel.recommend)
    predict_pairs = _asks(FittedModel.predict_pairs)
    explain = _asks(FittedModel.explain)
    explain_items = _asks(FittedModel.explain_items)
    similar_items = _asks(FittedModel.similar_items)
    similar_users = _asks(FittedModel.similar_users)
    describe = _asks(FittedModel.describe)
    component = _asks(FittedModel.component)
    sessions = _asks(FittedModel.sessions)
    partial_fit_users = _changes(FittedModel.partial_fit_users)
    partial_fit_items = _changes(FittedModel.partial_fit_items)
    forget_users = _changes(FittedModel.forget_users)

    def transform(self, X: Any) -> Floats:
        """E[W] of new users, with the items held fixed: one row for each row of counts.

        For a table, one row for each of its users in ascending order.
        """
        fitted = self._fitted()
        if not has_ids(X):
            self._check_columns(X)
        return fitted.transform(X, n_jobs=self.n_jobs)

    def _check_columns(self, X: Any) -> None:
        validate_data(self, count_matrix(X, allow_empty=True), skip_check_array=True, reset=False)

    def _fitted(self, question: object = None) -> FittedModel:
        del question
        if "fitted_" not in vars(self):  # quicker than check_is_fitted
            check_is_fitted(self)
        fitted: FittedModel = self.fitted_
        return fitted

    @property
    def element_(self) -> Element:
        """The element with its learned parameters."""
        return self._fitted().element

    @property
    def bounds_(self) -> NDArray[np.float64]:
        """The bound after each iteration."""
        return self._fitted().facts.bounds

    @property
    def n_iter_(self) -> int:
        """How many iterations were made."""
        return len(self.bounds_)

    @property
    def users_(self) -> Ids:
        """The ids of the users."""
        return self._fitted().users

    @property
    def items_(self) -> Ids:
        """The ids of the items."""
        return self._fitted().items

    @property
    def names_(self) -> Strings | None:
        """The names of the items."""
        return self._fitted().names

    @property
    def history_(self) -> sparse.csr_array | None:
        """The training counts."""
        return self._fitted().history

    @property
    def n_features_in_(self) -> int:
        """How many items there are."""
        return len(self._fitted().items)

    @property
    def user_posterior_(self) -> GammaPosterior:
        """q(W)."""
        found: GammaPosterior = self._fitted().part("factors").W
        return found

    @property
    def item_posterior_(self) -> GammaPosterior:
        """q(H)."""
        found: GammaPosterior = self._fitted().part("factors").H
        return found

    @property
    def user_factors(self) -> Floats:
        """E[W], users x K."""
        found: Floats = self._fitted().part("factors").user_means
        return found

    @property
    def item_factors(self) -> Floats:
        """E[H], items x K."""
        found: Floats = self._fitted().part("factors").items.H
        return found

    @property
    def components_(self) -> Floats:
        """E[H] transposed, K x items, as scikit-learn names it."""
        return self.item_factors.T

    @property
    def excitation_(self) -> Any:
        """What items add to the rates of others, or None for a model of factors alone."""
        return self._fitted().part("excitation")

    @property
    def _n_features_out(self) -> int:
        return int(self.item_posterior_.shape.shape[1])

    def _with_known_names(self, counts: Counts) -> Counts:
        """With a warm start, items keep the names that they had, unless there are new ones."""
        known: FittedModel | None = getattr(self, "fitted_", None)
        if not (self.warm_start and counts.names is None and known is not None and known.names):
            return counts
        return counts.with_names(dict(zip(known.items, known.names, strict=True)))

    def checked_settings(self) -> FitSettings:
        """Check the parameters, each error naming the parameter, the value and what it may be."""
        check_whole(max_iter=self.max_iter)
        check_whole(n_components=self.n_components, n_neighbors=self.n_neighbors, least=0)
        if not (self.n_components or self.n_neighbors):
            raise ValueError("n_components and n_neighbors are both 0: there would be nothing to learn")
        if not (_is_real(self.neighbor_prior) and 0.0 < self.neighbor_prior < math.inf):
            raise ValueError(f"neighbor_prior must be a positive number, found {self.neighbor_prior!r}")
        if not (_is_real(self.tol) and 0.0 <= self.tol < math.inf):
            raise ValueError(f"tol must be a number >= 0, found {self.tol!r}")
        if str(np.dtype(self.dtype)) not in ("float32", "float64"):
            raise ValueError(f"dtype must be 'float32' or 'float64', found {self.dtype!r}")
        pair = self.shape_prior if isinstance(self.shape_prior, tuple | list) else (self.shape_prior,) * 2
        if len(pair) != 2 or not all(_is_real(a) and 0.0 < a < math.inf for a in pair):
            raise ValueError(
                f"shape_prior must be a positive number or a pair of them (users, items), found {self.shape_prior!r}"
            )
        thread_count(self.n_jobs)
        if self.callback is not None and not callable(self.callback):
            raise TypeError(f"callback must be callable or None, found {self.callback!r}")
        if not isinstance(self.checkpoint, str | os.PathLike | None):
            raise TypeError(f"checkpoint must be the path of a folder or None, found {self.checkpoint!r}")
        return FitSettings(
            shape_prior=(float(pair[0]), float(pair[1])),
            learn_element=bool(self.learn_element),
            learn_rates=bool(self.learn_rates),
            accelerate=bool(self.accelerate),
            n_neighbors=int(self.n_neighbors),
            neighbor_prior=float(self.neighbor_prior),
        )

    @property
    def size(self) -> int:
        """K: one component for activity and popularity, where there are none for tastes."""
        return int(self.n_components) or 1

    def _start(self, counts: Counts, data: Data) -> tuple[Element, tuple[Floats | Draw, Floats]]:
        """The element and the factors that the iterations start with."""
        element, dtype = elements.get(self.element), np.dtype(self.dtype)
        if isinstance(self.init, str) and self.init == "random":
            drawn, H = random_start(data, self.size, generator(self.random_state), dtype)
            known: FittedModel | None = getattr(self, "fitted_", None)
            if not self.warm_start or known is None:
                return element, (drawn, H)
            if self._n_features_out != self.size:
                raise ValueError(
                    f"warm_start: the model has {self._n_features_out} components, n_components is now "
                    f"{self.n_components}; they must be the same"
                )
            users, items = counts.users.find_all(known.users), counts.items.find_all(known.items)
            if (users < 0).all() or (items < 0).all():
                warn_caller("warm_start: the data have no users, or no items, in common with the model")
            W = drawn.of(slice(0, data.shape[0]))
            _carry_over(W, users, self.user_factors)
            _carry_over(H, items, self.item_factors)
            same = self.learn_element and type(known.element) is type(element)
            return known.element if same else element, (W, H)
        if not isinstance(self.init, tuple | list) or len(self.init) != 2:
            raise ValueError(f"init must be 'random' or a pair of arrays (E[W], E[H]), found {self.init!r}")
        return element, (self._given_start(0, data.shape[0]), self._given_start(1, data.shape[1]))

    def _given_start(self, side: int, rows: int) -> Floats:
        name, dtype = ("E[W]", "E[H]")[side], np.dtype(self.dtype)
        array = np.array(self.init[side], dtype=dtype, order="C")
        if array.shape != (rows, self.size):
            raise ValueError(f"init: {name} must have shape ({rows}, {self.size}), found {array.shape}")
        if not (np.isfinite(array).all() and (array > 0.0).all()):
            raise ValueError(f"init: {name} must be positive and finite, found {array.min()} to {array.max()}")
        level = math.prod(float(np.asarray(one).max()) for one in self.init)
        if not 1e8 * np.finfo(dtype).tiny < level < np.finfo(dtype).max / self.size:
            raise ValueError(
                f"init: products of E[W] and E[H] up to {level:.3g} leave the range of {dtype}; "
                "scale them, or use dtype='float64'"
            )
        return array


def _carry_over(start: Floats, places: NDArray[np.int64], learned: Floats) -> None:
    """Put what was learned of each row where that row stands now. The others, drawn at random, come to its level."""
    stays = places >= 0
    known = places[stays]
    if len(known):
        start *= learned[stays].mean(dtype=np.float64) / start.mean(dtype=np.float64)
        start[known] = np.maximum(learned[stays], np.finfo(start.dtype).tiny)


def _is_real(value: object) -> bool:
    return not isinstance(value, bool) and isinstance(value, numbers.Real)
