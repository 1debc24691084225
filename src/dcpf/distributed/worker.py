"""What runs on the workers: blocks of users, each with what was learned of them.

What a worker holds is a cache. It says so when it has lost a block, and makes it again from the commands since it was
last kept. One process runs one of these functions at a time, or some in threads of it: a lock keeps them apart.
"""

import threading
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dcpf.distributed.commands import Begin, Beyond, Command, Export, Forget, Give, Keep, Recall, Visit
from dcpf.distributed.engine import threads_here
from dcpf.distributed.manifest import column_of_ids, manifest_of, read_block
from dcpf.distributed.storage import Folder
from dcpf.elements import Element
from dcpf.inference.blocks import BlockSums, BlockSweep, PairwiseSum
from dcpf.inference.data import Block, whole_block
from dcpf.inference.gammas import GammaPosterior
from dcpf.inference.settings import FitSettings
from dcpf.inference.updates import GammaMoments, beyond, update_factors
from dcpf.kernels.aligned import aligned_copy
from dcpf.kernels.threads import Threads

Doubles = NDArray[np.float64]
Items = tuple[NDArray[np.floating], NDArray[np.float64]]  # exp(E[log h]), and the sums of E[h] over items


@dataclass(frozen=True, slots=True)
class Plan:
    """One fit: what stays the same from command to command."""

    fit: str  # tells it from all others
    prepared: str  # the address of the folder with the blocks
    source: str  # what they were prepared from
    settings: FitSettings


@dataclass(frozen=True, slots=True)
class Task:
    """Commands for some blocks of a worker."""

    blocks: list[int]
    own: list[int]  # all that this worker is to have; it forgets others
    anew: bool  # from nothing, instead of from where the blocks are
    before: int  # how many commands they must have done
    after: int  # and how many they will have
    commands: list[Command]


@dataclass(slots=True)
class Answer:
    """What the blocks of a worker have come to."""

    nodes: dict[tuple[int, int], BlockSums]  # of a sum over blocks
    done: list[int]
    lost: list[int]  # blocks that this worker does not have, or not in the state that was expected
    given: dict[int, GammaPosterior]
    seconds: float  # spent computing


@dataclass(slots=True)
class _State:
    """A block after so many commands of its fit."""

    block: Block
    users: slice
    commands: int = 0
    W: dict[int, GammaPosterior] = field(default_factory=dict)


class _Blocks:
    """The blocks of one fit that this process has."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.folder, self.manifest = plan, Folder(plan.prepared), manifest_of(plan.prepared, plan.source)
        self.threads = Threads(threads_here())
        self.counts = np.array(self.manifest.counts, dtype=np.int64)
        self.sweep = BlockSweep(self.counts, plan.settings, self.threads)
        self.states: dict[int, _State] = {}

    def make(self, number: int) -> _State:
        """The block as it is before any command."""
        known = self.states.get(number)
        if known is None:
            _, matrix = read_block(self.folder, self.manifest, number)
            block = whole_block(matrix, self.counts)
            first = self.manifest.first_users
            return _State(block, slice(first[number], first[number + 1]))
        return _State(known.block, known.users)

    def run(
        self, number: int, state: _State, command: Command, items: dict[int, GammaMoments]
    ) -> tuple[BlockSums | None, GammaPosterior | None]:
        """Do one command. A visit gives what the block adds to the sums, `Give` what it asks for."""
        W, prior = state.W, self.plan.settings.shape_prior[0]
        match command:
            case Begin(start, at, element, out):
                factors = GammaMoments.start(start.of(state.users))
                return self._visit(
                    number, state, factors, np.ones(len(factors.row_means)), items[at], element, out
                ), None
            case Visit(one, at, element, out):
                factors = update_factors(W[one], prior, self.threads)
                return self._visit(number, state, factors, W[one].row_rate.copy(), items[at], element, out), None
            case Beyond(new, old, push, out):
                W[out] = beyond(W[new], W[old], push, prior, self.threads)
            case Forget(numbers):
                for one in numbers:
                    W.pop(one, None)
            case Keep(folder):
                _keep(Folder(folder), number, W)
            case Recall(folder, only):
                kept = _recall(Folder(folder), number)
                state.W = {one: q for one, q in kept.items() if only is None or one in only}
            case Give(one):
                return None, W[one]
            case Export(one, folder):
                return None, self._export(Folder(folder), number, W[one])
        return None, None

    def _visit(
        self, number: int, state: _State, W: GammaMoments, rates: Doubles, H: GammaMoments, element: Element, out: int
    ) -> BlockSums:
        shape = np.empty((len(rates), len(H.column_means)), H.geometric.dtype)
        state.W[out] = GammaPosterior(shape, rates, H.column_means)
        return self.sweep.visit(number, state.block, W, H, element, state.W[out])

    def _export(self, folder: Folder, number: int, W: GammaPosterior) -> GammaPosterior:
        """Write E[W]. Gives what the users of the block have on average."""
        ids, _ = read_block(self.folder, self.manifest, number)
        mean = W.mean
        kind = pl.Array(pl.Float32 if mean.dtype == np.float32 else pl.Float64, mean.shape[1])
        table = pl.DataFrame({"user": column_of_ids(ids), "factors": pl.Series(mean, dtype=kind)})
        folder.write_table(f"users-{number:05}.parquet", table)
        rate = W.row_rate.mean(keepdims=True)
        return GammaPosterior(
            mean.mean(axis=0, dtype=np.float64, keepdims=True) * (rate + W.column_rate), rate, W.column_rate
        )


_MOST_FITS = 2
_fits: dict[str, _Blocks] = {}
_lock = threading.Lock()


def advance(plan: Plan, task: Task, items: dict[int, Items]) -> Answer:
    """Have blocks do commands, with the item factors that these speak of."""
    with _lock:
        began = time.perf_counter()
        here = _here(plan)
        for number in here.states.keys() - set(task.own):
            del here.states[number]
        factors = {at: _factors(*one) for at, one in items.items()}
        answer, total = Answer({}, [], [], {}, 0.0), PairwiseSum(len(here.manifest.blocks))
        for number in task.blocks:
            state = here.make(number) if task.anew else here.states.pop(number, None)
            if state is None or not (task.anew or state.commands == task.before):
                answer.lost.append(number)
                continue
            part = None
            for command in task.commands:
                part, given = here.run(number, state, command, factors)
                if given is not None:
                    answer.given[number] = given
            if part is not None:
                total.put(0, number, part)
            state.commands = task.after
            here.states[number] = state  # only now: what failed halfway is lost
            answer.done.append(number)
        answer.nodes, answer.seconds = total.nodes, time.perf_counter() - began
        return answer


def _here(plan: Plan) -> _Blocks:
    if plan.fit not in _fits:
        while len(_fits) >= _MOST_FITS:  # or memory would fill with what ended fits have left
            del _fits[next(iter(_fits))]
        _fits[plan.fit] = _Blocks(plan)
    return _fits[plan.fit]


def end(fit: str) -> None:
    """Let go of everything of a fit."""
    with _lock:
        _fits.pop(fit, None)


def _factors(geometric: NDArray[np.floating], column_means: NDArray[np.float64]) -> GammaMoments:
    """Item factors as they come over the wire, with rows that start lines of the cache."""
    return GammaMoments(aligned_copy(geometric), np.empty(0), np.array(column_means), 0.0)


def _keep(folder: Folder, number: int, W: dict[int, GammaPosterior]) -> None:
    arrays: dict[str, Any] = {}
    for one, gammas in W.items():
        arrays |= {f"{one}.{name}": getattr(gammas, name) for name in ("shape", "row_rate", "column_rate")}
    folder.write_arrays(_name(number), arrays)


def _recall(folder: Folder, number: int) -> dict[int, GammaPosterior]:
    arrays = folder.read_arrays(_name(number))
    numbers = {int(name.split(".")[0]) for name in arrays}
    return {
        one: GammaPosterior(*(np.array(arrays[f"{one}.{name}"]) for name in ("shape", "row_rate", "column_rate")))
        for one in numbers
    }


def _name(number: int) -> str:
    return f"block-{number:05}.safetensors"
