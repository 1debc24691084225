"""The user side of an iteration: block after block, and what the blocks add up to.

Everything that is learned of a user stays with the block of that user. The item side, the element and the bound need
sums over users, and nothing else. So the loop can run wherever these sums are put together.
"""

import copy
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dcpf import memory
from dcpf.counts.checks import occurring
from dcpf.elements import Element, Totals
from dcpf.inference.data import Block, Data
from dcpf.inference.gammas import GammaPosterior
from dcpf.inference.posterior_tables import PosteriorTables
from dcpf.inference.settings import FitSettings
from dcpf.inference.updates import GammaMoments, beyond, column_means, local_step, update_factors, update_rates
from dcpf.kernels.threads import Threads

Floats = NDArray[np.floating]
Doubles = NDArray[np.float64]

_DRAWN = 2**16  # users who are drawn together
_SPREAD = (2.0, 5.0, 3.0, 1.0)  # how much further log rates reach at the first visits than is known before


@dataclass(frozen=True, slots=True)
class BlockSums:
    """What a block of users adds to the sums that all share."""

    item_shape: NDArray[np.floating]  # to the shapes of q(H)
    numbers: NDArray[np.float64]  # to everything else

    def add(self, other: "BlockSums") -> None:
        """Add the other to this one."""
        np.add(self.item_shape, other.item_shape, out=self.item_shape)
        np.add(self.numbers, other.numbers, out=self.numbers)


@dataclass(slots=True)
class PairwiseSum:
    """The sum over blocks 0, 1, ..., size - 1, in the order of a binary tree.

    Neighbours are added in pairs, then pairs of these, and so on; who has no neighbour waits for the next round. This
    order is that of the blocks' numbers alone, so that sums over some blocks can be made where these are and put
    together elsewhere. Parts that are put in are taken over and changed.
    """

    size: int
    nodes: dict[tuple[int, int], BlockSums] = field(default_factory=dict)  # by level and place

    def put(self, level: int, place: int, part: BlockSums) -> None:
        """Put in the sum over the blocks from place * 2^level on: 2^level of them, or all that are left."""
        while 1 << level < self.size:
            beside = place ^ 1
            if beside << level < self.size:
                other = self.nodes.pop((level, beside), None)
                if other is None:
                    break
                left, right = (other, part) if place % 2 else (part, other)
                left.add(right)
                part = left
            level, place = level + 1, place // 2
        self.nodes[level, place] = part

    @property
    def total(self) -> BlockSums:
        """The sum over all blocks, once all were put in."""
        (part,) = self.nodes.values()
        return part


@dataclass(frozen=True, slots=True)
class Sums:
    """What all users say together at a point."""

    item_shape: Floats  # of q(H), as the local step lets it follow
    totals: Totals
    log_evidence: float  # sum log Z
    bound: float  # of q(W): sum E[log p(w)] + H[q(w)]
    means: Doubles  # sum_u E[w_uk]
    next_means: Doubles  # the same after the next update of q(W)

    @classmethod
    def of(cls, part: BlockSums, counts: float) -> "Sums":
        """From the sum over all blocks, where all counts sum to `counts`."""
        (log_evidence, sessions, shape, bound), means = part.numbers[:4].tolist(), part.numbers[4:]
        half = len(means) // 2
        totals = Totals(counts, sessions, shape)
        return cls(part.item_shape, totals, log_evidence, bound, means[:half], means[half:])


@dataclass(frozen=True)
class Draw:
    """A random E[W], of which any users can be drawn alone. Where blocks are cut does not matter."""

    level: float
    n_components: int
    dtype: np.dtype[np.floating]
    first: np.random.Generator  # of the first users
    key: tuple[int, ...]  # of the generators of all others

    def of(self, users: slice) -> Floats:
        """E[W] of these users."""
        drawn = np.empty((users.stop - users.start, self.n_components), self.dtype)
        for number in range(users.start // _DRAWN, -(-users.stop // _DRAWN)):
            begin, end = number * _DRAWN, min((number + 1) * _DRAWN, users.stop)
            rng = copy.deepcopy(self.first) if number == 0 else np.random.default_rng([*self.key, number])
            values = self.level * rng.exponential(size=(end - begin, self.n_components))
            here = max(begin, users.start)
            drawn[here - users.start : end - users.start] = values[here - begin :]
        return drawn


class Size(Protocol):
    """How much there is to learn from."""

    @property
    def shape(self) -> tuple[int, int]:
        """Users and items."""
        ...

    @property
    def entries(self) -> int:
        """Stored counts."""
        ...


class Blocks(Protocol):
    """Where users are: in this process, or elsewhere.

    What it gives for W is its own business: the loop hands it back, and looks into none of it.
    """

    items: int

    def begin(self, start: "Floats | Draw", H: GammaMoments, element: Element) -> tuple[Any, Sums]:
        """A visit to the start E[W]."""
        ...

    def visit(self, W: Any, H: GammaMoments, element: Element) -> tuple[Any, Sums]:
        """The sums at a point, and the q(W) that the next update gives."""
        ...

    def beyond(self, new: Any, old: Any, push: float) -> Any:
        """The q(W) that lies beyond `new`, seen from `old`, by `push` of the way between them."""
        ...

    def gather(self, W: Any) -> GammaPosterior:
        """The q(W) that a fitted model keeps: of all users, or of one who is what users are on average."""
        ...

    def occupied(self) -> tuple[Any, Any]:
        """Which rows of that q(W), and which items, have entries: an index of each."""
        ...

    def whole(self) -> sparse.csr_array:
        """All counts, here, for parts that are not learned in blocks."""
        ...


class LocalBlocks:
    """All blocks in this process, one after another."""

    def __init__(
        self, data: Data, settings: FitSettings, threads: Threads, matrix: sparse.csr_array | None = None
    ) -> None:
        """`matrix` has the counts of `data`; parts that are learned from all counts ask for it."""
        self.items, self._matrix = data.shape[1], matrix
        self._data, self._settings, self._threads = data, settings, threads
        self._sweep = BlockSweep(data.counts, settings, threads)

    def begin(self, start: Floats | Draw, H: GammaMoments, element: Element) -> tuple[GammaPosterior, Sums]:
        """A visit to the start E[W]."""

        def factors(users: slice) -> GammaMoments:
            return GammaMoments.start(start.of(users) if isinstance(start, Draw) else start[users])

        return self._visit(factors, np.ones(self._data.shape[0]), H, element)

    def visit(self, W: GammaPosterior, H: GammaMoments, element: Element) -> tuple[GammaPosterior, Sums]:
        """The sums at a point, and the q(W) that the next update gives."""

        def factors(users: slice) -> GammaMoments:
            return update_factors(W[users], self._settings.shape_prior[0], self._threads)

        return self._visit(factors, W.row_rate, H, element)

    def beyond(self, new: GammaPosterior, old: GammaPosterior, push: float) -> GammaPosterior:
        """The q(W) that lies beyond `new`, seen from `old`, by `push` of the way between them."""
        return beyond(new, old, push, self._settings.shape_prior[0], self._threads)

    def gather(self, W: GammaPosterior) -> GammaPosterior:
        """It is here."""
        return W

    def occupied(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Users and items with entries."""
        matrix = self.whole()
        return np.flatnonzero(np.diff(matrix.indptr)), occurring(matrix.indices)

    def whole(self) -> sparse.csr_array:
        """The matrix that the blocks were made of."""
        assert self._matrix is not None
        return self._matrix

    def _visit(
        self, factors: Callable[[slice], GammaMoments], row_rate: Doubles, H: GammaMoments, element: Element
    ) -> tuple[GammaPosterior, Sums]:
        data, K = self._data, len(H.column_means)
        W = GammaPosterior(memory.empty((data.shape[0], K), H.geometric.dtype), row_rate.copy(), H.column_means)
        total = PairwiseSum(len(data.blocks))
        for number, block in enumerate(data.blocks):
            part = self._sweep.visit(number, block, factors(block.users), H, element, W[block.users])
            total.put(0, number, part)
        return W, Sums.of(total.total, data.total)


class BlockSweep:
    """What is done with one block of users at a point. It keeps the element's tables from block to block."""

    def __init__(self, counts: NDArray[np.int64], settings: FitSettings, threads: Threads) -> None:
        self._settings, self._threads = settings, threads
        self._tables = PosteriorTables(counts, threads, learn_shape=settings.learn_element)
        self._spans: dict[int, tuple[float, float]] = {}  # of log rates, as they were last met in each block
        self._visits: Counter[int] = Counter()

    def visit(
        self, number: int, block: Block, W: GammaMoments, H: GammaMoments, element: Element, out: GammaPosterior
    ) -> BlockSums:
        """What the block adds to the sums. Puts the q(W) that the next update gives into `out`.

        The rates in `out` are those of q(W) now, and stay if they are not to be learned.
        """
        (aW, aH), (items, K) = self._settings.shape_prior, (len(H.geometric), len(H.column_means))
        # The prior's shape is in the first block's share, so that it is counted once.
        priors = (aW, 0.0 if number else aH)
        item_shape = np.empty((items, K), H.geometric.dtype)
        _, c = element.natural
        lows, highs = zip(*self._spans.values(), strict=True) if self._spans else [[_log_of_mean_rate(W, H)]] * 2
        spread = _SPREAD[self._visits[number]] if self._visits[number] < len(_SPREAD) else 0.0
        expected = (min(lows) - c - spread, max(highs) - c + spread)
        local = local_step(
            block, W, H, element, priors, expected, self._tables, (out.shape, item_shape), self._threads
        )
        self._spans[number] = (local.span[0] + c, local.span[1] + c)
        self._visits[number] += 1
        if self._settings.learn_rates:
            out.row_rate[:] = update_rates(W.row_means, aW, K)
        own = [local.log_evidence, local.sessions, local.shape, W.bound]
        return BlockSums(item_shape, np.concatenate([own, W.column_means, column_means(out, self._threads)]))


def _log_of_mean_rate(W: GammaMoments, H: GammaMoments) -> float:
    """Of all pairs of these users and items."""
    mean = float(W.column_means @ H.column_means) / (len(W.geometric) * len(H.geometric))
    return math.log(mean) if 0.0 < mean < math.inf else 0.0


def random_start(
    size: Size, n_components: int, rng: np.random.Generator, dtype: np.dtype[np.floating]
) -> tuple[Draw, Floats]:
    """E[W] and E[H] drawn from an exponential, scaled to as many expected sessions as there are stored entries.

    Draws from the prior, as the authors make them, end at a lower bound and underflow for small shapes. Draws close
    to one value end at a higher bound still, but rank worse.
    """
    (users, items), first = size.shape, copy.deepcopy(rng)
    level = math.sqrt(size.entries / (users * items * n_components))
    rng.exponential(size=(min(users, _DRAWN), n_components))  # what `first` will draw, so that H is another
    H = (level * rng.exponential(size=(items, n_components))).astype(dtype)
    key = tuple(rng.integers(2**32, size=4).tolist())
    return Draw(level, n_components, dtype, first, key), H
