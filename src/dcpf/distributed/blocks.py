"""The blocks of users of a fit on a cluster. The loop runs where the fit was started; all about users is on workers.

Each q(W) has a number. Everything that is needed to rebuild a lost block is in this process, or was saved by workers.
"""

import time
import weakref
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dcpf.counts import Counts
from dcpf.distributed import worker
from dcpf.distributed.cluster import AnswerLost, DaskCluster
from dcpf.distributed.prepared import Manifest, read_counts_of
from dcpf.distributed.storage import Folder
from dcpf.distributed.worker import Answer, Command, Plan, SentItems, Task
from dcpf.elements import Element
from dcpf.inference.blocks import Draw, PairwiseSum, Sums
from dcpf.inference.gammas import GammaPosterior
from dcpf.inference.updates import GammaMoments
from dcpf.model.packing import register

_TICK = 1.0  # seconds between looks at whether all workers are still there
_STALLED = 60.0  # seconds without any answer, beyond what rounds take, before everything is asked for again
_TRIES = 25  # fruitless attempts in a row


@dataclass(frozen=True)
class RemoteW:
    """Stands for a q(W) whose rows are on the workers."""

    number: int


register(RemoteW)


@dataclass(frozen=True, slots=True)
class RoundTimes:
    """Where the seconds of one round went."""

    compute: float  # by the slowest worker
    transfer: float  # of item factors to the workers and of sums from them
    waiting: float  # the rest: scheduling, and lost workers

    def __str__(self) -> str:
        return f"compute {self.compute:.2f} s, transfer {self.transfer:.2f} s, waiting {self.waiting:.2f} s"


class Assignment:
    """Which worker has which block. A block that moves must be rebuilt, so blocks stay until `balance` is called."""

    def __init__(self, sizes: Sequence[int]) -> None:
        """`sizes` are the entries of the blocks."""
        self._sizes = sizes
        self.worker_of: dict[int, str] = {}

    def of(self, worker: str) -> list[int]:
        """The blocks of a worker."""
        return sorted(number for number, owner in self.worker_of.items() if owner == worker)

    def balance(self, threads: Mapping[str, int]) -> set[int]:
        """Give each worker a run of neighbouring blocks, in proportion to its threads. Returns the blocks that move.

        The sums of neighbouring blocks are added up by their worker and sent as one.
        """
        names = sorted(threads, key=lambda name: (min(self.of(name), default=len(self._sizes)), name))
        share = sum(self._sizes) / sum(threads.values())
        before, assigned, current, limit = dict(self.worker_of), 0.0, 0, share * threads[names[0]]
        for number, size in enumerate(self._sizes):
            while assigned + size / 2 > limit and current + 1 < len(names):
                current += 1
                limit += share * threads[names[current]]
            self.worker_of[number] = names[current]
            assigned += size
        return {number for number, owner in self.worker_of.items() if before.get(number) != owner}

    def reassign_lost(self, workers: Collection[str]) -> None:
        """Give the blocks of workers that are gone to the workers with the fewest entries."""
        load = {name: sum(self._sizes[number] for number in self.of(name)) for name in sorted(workers)}
        for number, owner in sorted(self.worker_of.items()):
            if owner not in load:
                heir = min(load, key=lambda name: load[name])
                self.worker_of[number] = heir
                load[heir] += self._sizes[number]


@dataclass(frozen=True, slots=True)
class _Request:
    """Which worker was asked to advance which blocks."""

    worker: str
    blocks: list[int]
    items: list[Any]  # futures of the item factors that it needs


@dataclass
class _Round:
    """What all blocks are asked to do, and the answers so far."""

    commands: list[Command]
    before: int  # commands that the blocks have run before
    left: set[int]  # blocks that have not answered yet
    total: PairwiseSum
    rebuild: set[int]  # blocks that no worker has
    requests: dict[Any, _Request] = field(default_factory=dict)  # by future
    gammas: dict[int, GammaPosterior] = field(default_factory=dict)  # by block
    compute: dict[str, float] = field(default_factory=dict)  # by worker
    transfer: float = 0.0


class RemoteBlocks:
    """`inference.blocks.Blocks` on the workers of a cluster."""

    def __init__(
        self,
        cluster: DaskCluster,
        plan: Plan,
        manifest: Manifest,
        user_factors: str | None = None,
        watch: Callable[[RoundTimes], object] = lambda times: None,
    ) -> None:
        """`user_factors` is a folder for E[W], if the model is to hold no users; `watch` hears of each round."""
        self.items = manifest.items
        self._cluster, self._plan, self._manifest = cluster, plan, manifest
        self._user_factors, self._watch = user_factors, watch
        self._assignment = Assignment([block.entries for block in manifest.blocks])
        self._assignment.balance(cluster.workers())
        self._log: list[Command] = []  # since blocks were last saved
        self._commands_run = 0  # in all
        self._homeless = set(range(len(manifest.blocks)))  # blocks that no worker has
        self._longest = 0.0  # seconds of the longest round
        self._queue: list[Command] = []  # for the next round
        self._forgotten: list[int] = []
        self._last_number = 0
        self._sent_items: dict[int, SentItems] = {}  # item factors that the log refers to
        self._items_there: dict[int, Any] = {}  # those that are on the cluster now
        self._dtype: Any = None  # of factors

    def begin(self, start: NDArray[np.floating] | Draw, H: GammaMoments, element: Element) -> tuple[RemoteW, Sums]:
        """A visit to the start E[W]."""
        if not isinstance(start, Draw):
            raise ValueError("a fit on a cluster starts at random: init and warm_start are for one machine")
        return self._visit("begin", H, start=start, element=element)

    def visit(self, W: RemoteW, H: GammaMoments, element: Element) -> tuple[RemoteW, Sums]:
        """The sums at a point, and the q(W) that the next update gives."""
        return self._visit("visit", H, W=W.number, element=element)

    def beyond(self, new: RemoteW, old: RemoteW, push: float) -> RemoteW:
        """The q(W) that lies beyond `new`, seen from `old`, by `push` of the way between them."""
        out = self._new()
        self._queue.append(_command("beyond", new=new.number, old=old.number, push=push, out=out.number))
        return out

    def gather(self, W: RemoteW) -> GammaPosterior:
        """All of q(W); or the average user, where the workers write E[W] to a folder."""
        if self._user_factors is None:
            blocks = self._gammas(_command("fetch", W=W.number))
            shape = np.concatenate([q.shape for q in blocks])
            return GammaPosterior(shape, np.concatenate([q.row_rate for q in blocks]), blocks[0].column_rate)
        blocks = self._gammas(_command("export", W=W.number, folder=self._user_factors))
        weights = np.array([block.users for block in self._manifest.blocks]) / self._manifest.users
        mean, rate = (
            sum(weight * value for weight, value in zip(weights, values, strict=True))
            for values in ([q.mean for q in blocks], [q.row_rate for q in blocks])
        )
        column_rate = blocks[0].column_rate
        return GammaPosterior((mean * (rate + column_rate)).astype(self._dtype), np.asarray(rate), column_rate)

    def occupied(self) -> tuple[slice, slice]:
        """All: prepared counts have no user and no item without entries."""
        return slice(None), slice(None)

    def whole(self) -> sparse.csr_array:
        """All counts, here."""
        return self.counts.matrix

    @cached_property
    def counts(self) -> Counts:
        """All counts with their ids, here."""
        return read_counts_of(Folder(self._plan.prepared), self._manifest)

    def save(self, folder: str) -> None:
        """Have the workers write all they know to a folder, from which lost blocks are rebuilt from then on."""
        self._run([_command("save", folder=folder)])
        self._start_from(folder)
        # A block that moves is rebuilt from what was just written: a good time to balance the load.
        self._homeless = self._assignment.balance(self._cluster.workers())

    def load(self, folder: str, numbers: Collection[int]) -> dict[int, RemoteW]:
        """Continue from a folder that `save` has written, with the q(W) of these numbers."""
        self._start_from(folder, numbers=sorted(numbers))
        self._homeless = set(range(len(self._manifest.blocks)))
        self._last_number = max(self._last_number, *numbers)
        return {number: self._handle(number) for number in numbers}

    def end(self) -> None:
        """Have the workers free everything of this fit."""
        self._items_there.clear()
        self._cluster.everywhere(worker.end, self._plan.fit)

    def _start_from(self, folder: str, **arguments: Any) -> None:
        self._log = [_command("load", folder=folder, **arguments)]
        self._sent_items.clear()
        self._items_there.clear()

    def _new(self) -> RemoteW:
        self._last_number += 1
        return self._handle(self._last_number)

    def _handle(self, number: int) -> RemoteW:
        """When this process drops the handle, the workers may drop the q(W)."""
        handle = RemoteW(number)
        weakref.finalize(handle, self._forgotten.append, number)
        return handle

    def _visit(self, method: str, H: GammaMoments, **arguments: Any) -> tuple[RemoteW, Sums]:
        self._dtype = H.geometric.dtype
        out, items = self._new(), max(self._sent_items, default=0) + 1
        self._sent_items[items] = (np.ascontiguousarray(H.geometric[:, : len(H.column_means)]), H.column_means)
        done = self._run([_command(method, items=items, out=out.number, **arguments)])
        return out, Sums.of(done.total.total, float(self._manifest.total))

    def _gammas(self, command: Command) -> list[GammaPosterior]:
        """What a command returns, block by block."""
        gammas = self._run([command]).gammas
        return [gammas[number] for number in sorted(gammas)]

    def _run(self, commands: list[Command]) -> _Round:
        """Have all blocks run these commands, whatever happens to workers meanwhile."""
        began = time.perf_counter()
        # A q(W) that is forgotten may still be needed by the queue
        forget = [_command("forget", numbers=list(self._forgotten))] if self._forgotten else []
        commands = [*self._queue, *forget, *commands]
        self._queue.clear()
        self._forgotten.clear()
        size = len(self._manifest.blocks)
        now = _Round(commands, self._commands_run, set(range(size)), PairwiseSum(size), self._homeless)
        self._homeless = set()
        self._log += commands
        self._commands_run += len(commands)
        tries, last = 0, time.monotonic()
        while now.left:
            try:
                self._ask(now)
                done = self._cluster.first(now.requests, _TICK)
                answered = sum([self._receive(now, future) for future in done])
            except AnswerLost:
                done, answered = [None], 0
            if answered:
                tries, last = 0, time.monotonic()
            elif done:
                tries += 1
                self._items_there.clear()
                time.sleep(min(5.0, 0.05 * 2**tries))  # workers are coming and going
            elif time.monotonic() - last > _STALLED * 2**tries + 5.0 * self._longest:
                tries, last = tries + 1, time.monotonic()
                self._give_up(now, now.requests)
            else:
                self._give_up(now, self._hopeless(now))
            if tries > _TRIES:
                raise RuntimeError(
                    f"no worker has answered {tries} requests for blocks {sorted(now.left)[:5]}...; see the logs of "
                    "the workers"
                )
        self._items_there.clear()  # they are sent again if a block is lost later
        compute = max(now.compute.values(), default=0.0)
        wall = time.perf_counter() - began
        self._longest = max(self._longest, wall)
        self._watch(RoundTimes(compute, now.transfer, max(0.0, wall - compute - now.transfer)))
        return now

    def _ask(self, now: _Round) -> None:
        """Request all blocks that are left and not yet requested."""
        free = now.left - {number for request in now.requests.values() for number in request.blocks}
        if not free:
            return
        self._assignment.reassign_lost(self._cluster.workers())
        for address in sorted(set(self._assignment.worker_of.values())):
            own = self._assignment.of(address)
            for anew in (False, True):
                wanted = [number for number in own if number in free and (number in now.rebuild) == anew]
                commands = self._log if anew else now.commands
                if wanted:
                    task = Task(wanted, own, anew, now.before, self._commands_run, list(commands))
                    items = self._items_for(now, commands)
                    future = self._cluster.submit(address, worker.advance, self._plan, task, items)
                    now.requests[future] = _Request(address, wanted, list(items.values()))

    def _items_for(self, now: _Round, commands: list[Command]) -> dict[int, Any]:
        began = time.perf_counter()
        needed = {command.arguments["items"] for command in commands if "items" in command.arguments}
        for number in sorted(needed - self._items_there.keys()):
            self._items_there[number] = self._cluster.put(self._sent_items[number])
        now.transfer += time.perf_counter() - began
        return {number: self._items_there[number] for number in sorted(needed)}

    def _receive(self, now: _Round, future: Any) -> int:
        """Take an answer in. Returns the number of blocks of the request, 0 if the answer is lost."""
        request, began = now.requests.pop(future), time.perf_counter()
        try:
            answer: Answer = self._cluster.result(future)
        except AnswerLost:
            return 0
        now.transfer += time.perf_counter() - began
        for (level, place), part in answer.nodes.items():
            now.total.put(level, place, part)
        now.gammas |= answer.gammas
        now.left -= set(answer.done)
        now.rebuild |= set(answer.lost)
        now.rebuild -= set(answer.done)
        now.compute[request.worker] = now.compute.get(request.worker, 0.0) + answer.seconds
        return len(request.blocks)

    def _hopeless(self, now: _Round) -> list[Any]:
        """Requests that will not be answered: their worker is gone, or was the only one with the item factors."""
        workers = self._cluster.workers()
        gone = self._cluster.gone([items for request in now.requests.values() for items in request.items])
        return [
            future
            for future, request in now.requests.items()
            if request.worker not in workers or any(items in gone for items in request.items)
        ]

    def _give_up(self, now: _Round, futures: Iterable[Any]) -> None:
        """Cancel requests. Their blocks are requested again, with item factors that are sent again."""
        cancelled = list(futures)
        if not cancelled:
            return
        self._cluster.cancel(cancelled)
        self._items_there.clear()
        for future in cancelled:
            del now.requests[future]


def _command(method: str, **arguments: Any) -> Command:
    return Command(method, arguments)
