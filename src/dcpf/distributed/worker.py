"""What runs on the workers: blocks of users, with all that is learned about these users.

The blocks of a worker are a cache. A worker reports a block that it has lost, and then any worker rebuilds the block
with the commands that the driver has logged: to the same bits, from the start of the fit or from where the block was
last saved. A lock lets a process run one of these functions at a time.
"""

import threading
import time
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dcpf.distributed.cluster import threads_here
from dcpf.distributed.prepared import column_of_ids, manifest_of, read_block
from dcpf.distributed.storage import Folder
from dcpf.elements import Element
from dcpf.inference.blocks import BlockSums, BlockSweep, Draw, PairwiseSum
from dcpf.inference.data import Block, whole_block
from dcpf.inference.gammas import GammaPosterior
from dcpf.inference.settings import FitSettings
from dcpf.inference.updates import GammaMoments, beyond, update_factors
from dcpf.kernels.threads import Threads

SentItems = tuple[NDArray[np.floating], NDArray[np.float64]]  # exp(E[log h]), and E[h] summed over items
_ARRAYS = ("shape", "row_rate", "column_rate")  # of a GammaPosterior
_MOST_FITS = 2


@dataclass(frozen=True, slots=True)
class Plan:
    """What stays the same during one fit."""

    fit: str  # a unique name
    prepared: str  # the address of the prepared counts
    source: str  # the version of the files that they were prepared from
    settings: FitSettings


class Command(NamedTuple):
    """A method of `UserBlock` by its name, and the arguments."""

    method: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Task:
    """Commands for some blocks of a worker."""

    blocks: list[int]
    own: list[int]  # all blocks of this worker; it drops all others
    anew: bool  # rebuild the blocks, or continue from where they are
    before: int  # the number of commands that the blocks must have run
    after: int  # and the number when these are done
    commands: list[Command]


@dataclass(slots=True)
class Answer:
    """What became of the blocks of a task."""

    nodes: dict[tuple[int, int], BlockSums]  # of a PairwiseSum
    done: list[int]
    lost: list[int]  # not on this worker, or not where `Task.before` expects them
    gammas: dict[int, GammaPosterior]  # by block, for commands that return some
    seconds: float  # of computing


class UserBlock:
    """The counts of a block of users, and each q(W) of theirs that is still needed, by its number.

    The public methods are the commands. `items` is the number of item factors, `out` the number of the q(W) to make.
    """

    def __init__(self, fit: "FitBlocks", number: int, entries: Block) -> None:
        self.entries, self.commands_run = entries, 0
        self._fit, self._number = fit, number
        self._W: dict[int, GammaPosterior] = {}

    def begin(self, start: Draw, items: int, element: Element, out: int) -> BlockSums:
        """Visit the random start E[W]."""
        first = self._fit.manifest.first_users[self._number : self._number + 2]
        W = GammaMoments.start(start.of(slice(*first)))
        return self._visit(W, np.ones(len(W.row_means)), items, element, out)

    def visit(self, W: int, items: int, element: Element, out: int) -> BlockSums:
        """What the block adds to the sums at a point. Makes the q(W) of the next update."""
        gammas = self._W[W]
        moments = update_factors(gammas, self._fit.shape_prior, self._fit.threads)
        return self._visit(moments, gammas.row_rate.copy(), items, element, out)

    def beyond(self, new: int, old: int, push: float, out: int) -> None:
        """Extrapolate from `old` through `new`."""
        self._W[out] = beyond(self._W[new], self._W[old], push, self._fit.shape_prior, self._fit.threads)

    def forget(self, numbers: list[int]) -> None:
        """Drop each q(W) that is no longer needed."""
        for number in numbers:
            self._W.pop(number, None)

    def save(self, folder: str) -> None:
        """Write each q(W) to a folder."""
        arrays = {f"{W}.{name}": getattr(gammas, name) for W, gammas in self._W.items() for name in _ARRAYS}
        Folder(folder).write_arrays(self._file, arrays)

    def load(self, folder: str, numbers: list[int] | None = None) -> None:
        """Read what `save` wrote: these numbers, or all."""
        arrays = Folder(folder).read_arrays(self._file)
        saved = {int(name.split(".")[0]) for name in arrays}
        self._W = {
            W: GammaPosterior(*(np.array(arrays[f"{W}.{name}"]) for name in _ARRAYS))
            for W in (saved if numbers is None else saved & set(numbers))
        }

    def fetch(self, W: int) -> GammaPosterior:
        """Return a q(W)."""
        return self._W[W]

    def export(self, W: int, folder: str) -> GammaPosterior:
        """Write E[W] as a table, with the ids of the users. Returns the average user of the block."""
        gammas = self._W[W]
        ids, _ = read_block(self._fit.folder, self._fit.manifest, self._number)
        mean = gammas.mean
        kind = pl.Array(pl.Float32 if mean.dtype == np.float32 else pl.Float64, mean.shape[1])
        table = pl.DataFrame({"user": column_of_ids(ids), "factors": pl.Series(mean, dtype=kind)})
        Folder(folder).write_table(f"users-{self._number:05}.parquet", table)
        rate = gammas.row_rate.mean(keepdims=True)
        shape = mean.mean(axis=0, dtype=np.float64, keepdims=True) * (rate + gammas.column_rate)
        return GammaPosterior(shape, rate, gammas.column_rate)

    def _visit(
        self, W: GammaMoments, row_rate: NDArray[np.float64], items: int, element: Element, out: int
    ) -> BlockSums:
        H = self._fit.items[items]
        shape = np.empty((len(row_rate), len(H.column_means)), H.geometric.dtype)
        self._W[out] = GammaPosterior(shape, row_rate, H.column_means)
        return self._fit.sweep.visit(self._number, self.entries, W, H, element, self._W[out])

    @property
    def _file(self) -> str:
        return f"block-{self._number:05}.safetensors"


class FitBlocks:
    """The blocks of one fit that this process holds."""

    def __init__(self, plan: Plan) -> None:
        self.folder, self.manifest = Folder(plan.prepared), manifest_of(plan.prepared, plan.source)
        self.threads, self.shape_prior = Threads(threads_here()), plan.settings.shape_prior[0]
        self.counts = np.array(self.manifest.counts, dtype=np.int64)
        self.sweep = BlockSweep(self.counts, plan.settings, self.threads)
        self.items: dict[int, GammaMoments] = {}  # item factors by number, for the commands being run
        self.blocks: dict[int, UserBlock] = {}

    def take(self, number: int, task: Task) -> UserBlock | None:
        """Remove a block to run commands on it: None if it is not here, or not where the task expects it."""
        block = self.blocks.pop(number, None)
        if not task.anew:
            return block if block is not None and block.commands_run == task.before else None
        if block is None:
            _, matrix = read_block(self.folder, self.manifest, number)
            return UserBlock(self, number, whole_block(matrix, self.counts))
        return UserBlock(self, number, block.entries)


_fits: dict[str, FitBlocks] = {}
_lock = threading.Lock()


def advance(plan: Plan, task: Task, items: dict[int, SentItems]) -> Answer:
    """Run commands on blocks, with the item factors that the commands refer to."""
    with _lock:
        began, here = time.perf_counter(), _blocks_of(plan)
        for number in here.blocks.keys() - set(task.own):
            del here.blocks[number]
        here.items = {number: _item_moments(*sent) for number, sent in items.items()}
        answer, total = Answer({}, [], [], {}, 0.0), PairwiseSum(len(here.manifest.blocks))
        for number in task.blocks:
            block = here.take(number, task)
            if block is None:
                answer.lost.append(number)
                continue
            result = None
            for command in task.commands:
                result = getattr(block, command.method)(**command.arguments)
            if isinstance(result, BlockSums):
                total.put(0, number, result)
            elif isinstance(result, GammaPosterior):
                answer.gammas[number] = result
            block.commands_run = task.after
            here.blocks[number] = block  # only now, so that a block whose commands failed halfway counts as lost
            answer.done.append(number)
        here.items.clear()
        answer.nodes, answer.seconds = total.nodes, time.perf_counter() - began
        return answer


def end(fit: str) -> None:
    """Free everything of a fit."""
    with _lock:
        _fits.pop(fit, None)


def _blocks_of(plan: Plan) -> FitBlocks:
    if plan.fit not in _fits:
        while len(_fits) >= _MOST_FITS:  # or fits that broke off would fill the memory
            del _fits[next(iter(_fits))]
        _fits[plan.fit] = FitBlocks(plan)
    return _fits[plan.fit]


def _item_moments(geometric: NDArray[np.floating], column_means: NDArray[np.float64]) -> GammaMoments:
    """Item factors as they were sent."""
    return GammaMoments(np.array(geometric), np.empty(0), np.array(column_means), 0.0)
