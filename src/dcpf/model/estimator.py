"""DCPF: its parameters, and how they and the data become a fitted model."""

import math
import numbers
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from dcpf import elements
from dcpf.counts import Counts, report
from dcpf.elements import Element
from dcpf.inference.data import Data
from dcpf.inference.momentum import accelerate, resume
from dcpf.inference.settings import Settings
from dcpf.inference.users import Draw, Users, random_start
from dcpf.inference.vbem import Ascent, State, iterate
from dcpf.kernels.threads import Threads, thread_count
from dcpf.model.checkpoint import Checkpoint
from dcpf.model.climbing import Climb
from dcpf.model.describing import Describing
from dcpf.model.fitted import check_whole, generator, has_ids, warn_caller
from dcpf.model.recommending import Recommending
from dcpf.model.saving import Saving
from dcpf.model.streaming import Streaming
from dcpf.model.transformer import CountTransformer
from dcpf.progress import Iteration, ProgressBar
from dcpf.ranking.lists import Catalogue
from dcpf.text import plural

Floats = NDArray[np.floating]


class DCPF(
    Recommending,
    Describing,
    Streaming,
    Saving,
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    CountTransformer,
):
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
        the fit there.
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
    user_posterior_, item_posterior_ : Gammas
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

    def fit(self, X: Any, y: object = None) -> Self:
        """Learn from counts: a `Counts`, a table of users, items and counts, or a users x items matrix.

        A table is one of pandas, polars or pyarrow; a matrix is scipy sparse, or anything that numpy makes one from.
        """
        settings = self._settings()
        counts = self._with_known_names(Counts.of(X))
        matrix = counts.matrix
        if self.n_components > min(matrix.shape):
            fewer = plural(min(matrix.shape), "user" if matrix.shape[0] <= matrix.shape[1] else "item")
            warn_caller(f"n_components={self.n_components} is more than {fewer} can tell apart")
        checkpoint = Checkpoint.of(self.get_params(deep=False), matrix)
        data, found = Data.from_matrix(matrix), checkpoint.position
        element, start = self._start(counts, data) if found is None else (found.state.element, found.state)
        shown = bool(self.verbose)
        with checkpoint, Threads(self.n_jobs) as threads, ProgressBar(self.max_iter, shown=shown) as bar:
            for line in (*counts.notes, report(X, matrix), *checkpoint.notes):
                bar.say(line)
            climb = Climb(self.max_iter, self.tol, self.callback, checkpoint, bar)
            try:
                ascent = Ascent(Users(data, settings, threads), element, settings, threads)
                climb.run(self._states(ascent, element, start))
            finally:  # whatever ended the iterations, what they have reached is kept
                if (good := climb.reached) is not None:
                    self._take_over(counts, settings, good.state, good.bounds)
                    checkpoint.keep(good, ended=climb.ended)
            if settings.n_neighbors and not climb.told_to_stop:  # else it is learned when it is asked for
                bar.say("Learning which items bring which")
                self._learn_excitation(threads)
        self._warn_unsettled(climb)
        return self

    def _warn_unsettled(self, climb: Climb) -> None:
        if not (climb.settled or climb.told_to_stop) and self.tol > 0.0:
            warn_caller(
                f"the bound still rises after max_iter={self.max_iter} iterations; raise max_iter, or set tol=0 "
                "if a fixed number of iterations is meant",
                ConvergenceWarning,
            )

    def _states(
        self, ascent: Ascent, element: Element, start: State | tuple[Floats | Draw, Floats]
    ) -> Iterator[State]:
        """The loop from its start, or on from a state that it had reached."""
        if isinstance(start, State):
            return resume(ascent, start)
        return (accelerate if self.accelerate else iterate)(ascent, ascent.begin(start, element))

    def _with_known_names(self, counts: Counts) -> Counts:
        """With a warm start, items keep the names that they had, unless there are new ones."""
        if not (self.warm_start and counts.names is None and getattr(self, "names_", None)):
            return counts
        return counts.with_names(dict(zip(self.items_, self.names_ or (), strict=True)))

    def _take_over(self, counts: Counts, settings: Settings, state: State, bounds: NDArray[np.float64]) -> None:
        """Keep what the fit has learned."""
        self._take_over_parameters(settings, state, bounds)
        self._keep_all(counts, state.W, state.H)

    def _take_over_items(
        self,
        items: Catalogue,
        data: dict[str, Any],
        settings: Settings,
        state: State,
        bounds: NDArray[np.float64],
    ) -> None:
        """Keep what the fit has learned of items, where users are elsewhere and W is the average one."""
        self._take_over_parameters(settings, state, bounds)
        self._data_ = data
        self._keep_items(items, state.W, state.H)

    def _take_over_parameters(self, settings: Settings, state: State, bounds: NDArray[np.float64]) -> None:
        self.element_ = state.element
        self.bounds_ = bounds
        self.n_iter_ = len(bounds)
        self._settings_ = settings
        self._stream_ = None

    def refit_excitation(self, n_neighbors: int, neighbor_prior: float) -> Self:
        """Learn anew by what items others are excited, with other parameters; factors and element stay as they are.

        As excitation is learned last, this gives what a whole fit with these parameters would give.
        """
        check_is_fitted(self)
        self._training_counts()  # which must be there to learn from
        before = self.n_neighbors, self.neighbor_prior
        self.n_neighbors, self.neighbor_prior = n_neighbors, neighbor_prior
        try:
            checked = self._settings()
        except ValueError:
            self.n_neighbors, self.neighbor_prior = before
            raise
        self._settings_ = replace(
            self._settings_, n_neighbors=checked.n_neighbors, neighbor_prior=checked.neighbor_prior
        )
        self._excitation = None
        with Threads(self.n_jobs) as threads:
            self._learn_excitation(threads)
        return self

    def transform(self, X: Any) -> Floats:
        """E[W] of users not seen in the fit, with the items held fixed: a row for each row of counts.

        Of a table, for each of its users in ascending order.
        """
        check_is_fitted(self)
        return self._fold_in(self._new_users(X).matrix).mean

    def sessions(self, X: Any = None) -> sparse.csr_array:
        """E[N], the expected sessions behind each count of the users of the fit: between 1 and the count.

        Without X, behind the training counts. The rows of a matrix are all users of the fit. A table or `Counts`
        may hold some of them: each user that it has is looked up by id, the others' rows are empty.
        """
        check_is_fitted(self)
        matrix = self._training_counts() if X is None else self._known_users(X)
        mean = self._sessions(matrix, self.user_posterior_)
        return sparse.csr_array((mean, matrix.indices, matrix.indptr), shape=matrix.shape, copy=True)

    def _known_users(self, X: Any) -> sparse.csr_array:
        """Counts with the rows and columns of the model."""
        counts, n_users = self._new_users(X), len(self.users_)
        if has_ids(X):
            places = self.users_.positions(counts.users, "user")
            entries = counts.matrix.tocoo()
            return sparse.csr_array((entries.data, (places[entries.row], entries.col)), (n_users, len(self.items_)))
        if counts.shape[0] != n_users:
            raise ValueError(
                f"sessions() is about the {n_users:,} users of the fit, found {counts.shape[0]:,} rows; "
                "give a row for each of them, empty where there is nothing to ask"
            )
        return counts.matrix

    @property
    def _n_features_out(self) -> int:
        return int(self.item_posterior_.shape.shape[1])

    def _settings(self) -> Settings:
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
        return Settings(
            shape_prior=(float(pair[0]), float(pair[1])),
            learn_element=bool(self.learn_element),
            learn_rates=bool(self.learn_rates),
            n_neighbors=int(self.n_neighbors),
            neighbor_prior=float(self.neighbor_prior),
        )

    @property
    def _size(self) -> int:
        """K: one component for activity and popularity, where there are none for tastes."""
        return int(self.n_components) or 1

    def _start(self, counts: Counts, data: Data) -> tuple[Element, tuple[Floats | Draw, Floats]]:
        """The element and the factors that the iterations start with."""
        element, dtype = elements.get(self.element), np.dtype(self.dtype)
        if isinstance(self.init, str) and self.init == "random":
            drawn, H = random_start(data, self._size, generator(self.random_state), dtype)
            if self.warm_start and hasattr(self, "item_posterior_"):
                if self._n_features_out != self._size:
                    raise ValueError(
                        f"warm_start: the model has {self._n_features_out} components, n_components is now "
                        f"{self.n_components}; they must be the same"
                    )
                users, items = counts.users.find_all(self.users_), counts.items.find_all(self.items_)
                if (users < 0).all() or (items < 0).all():
                    warn_caller("warm_start: the data have no users, or no items, in common with the model")
                W = drawn.of(slice(0, data.shape[0]))
                _carry_over(W, users, self.user_factors)
                _carry_over(H, items, self.item_factors)
                if self.learn_element and type(self.element_) is type(element):
                    element = self.element_
                return element, (W, H)
            return element, (drawn, H)
        if not isinstance(self.init, tuple | list) or len(self.init) != 2:
            raise ValueError(f"init must be 'random' or a pair of arrays (E[W], E[H]), found {self.init!r}")
        return element, (self._given_start(0, data.shape[0]), self._given_start(1, data.shape[1]))

    def _given_start(self, side: int, rows: int) -> Floats:
        name, dtype = ("E[W]", "E[H]")[side], np.dtype(self.dtype)
        array = np.array(self.init[side], dtype=dtype, order="C")
        if array.shape != (rows, self._size):
            raise ValueError(f"init: {name} must have shape ({rows}, {self._size}), found {array.shape}")
        if not (np.isfinite(array).all() and (array > 0.0).all()):
            raise ValueError(f"init: {name} must be positive and finite, found {array.min()} to {array.max()}")
        level = math.prod(float(np.asarray(one).max()) for one in self.init)
        if not 1e8 * np.finfo(dtype).tiny < level < np.finfo(dtype).max / self._size:
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
