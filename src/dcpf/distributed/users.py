"""The user side of a fit whose users are on many machines."""

import time
import weakref
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcpf.distributed import worker
from dcpf.distributed.commands import Begin, Beyond, Command, Export, Forget, Give, Keep, Recall, Visit
from dcpf.distributed.engine import Engine, Lost
from dcpf.distributed.manifest import Manifest
from dcpf.distributed.placing import Places
from dcpf.distributed.worker import Answer, Items, Plan, Task
from dcpf.elements import Element
from dcpf.inference.blocks import Draw, PairwiseSum, Sums
from dcpf.inference.gammas import GammaPosterior
from dcpf.inference.updates import GammaMoments

_TICK = 1.0  # seconds after which to look whether all workers are still there
_STALLED = 60.0  # seconds without any answer, beyond what rounds take, after which all is asked for again
_TRIES = 25  # times in a row that may bring nothing


class Remote:
    """Stands here for a q(W) whose rows are with the blocks, which know it by its number."""

    def __init__(self, number: int) -> None:
        self.number = number


@dataclass(frozen=True, slots=True)
class Times:
    """Where the seconds of one round went."""

    compute: float  # of the worker that took longest
    transfer: float  # of factors to the workers, and of sums from them
    waiting: float  # the rest: scheduling, and for workers that were lost

    def __str__(self) -> str:
        return f"compute {self.compute:.2f} s, transfer {self.transfer:.2f} s, waiting {self.waiting:.2f} s"


@dataclass(frozen=True, slots=True)
class _Asked:
    """Of whom something was asked, and about which blocks."""

    worker: str
    blocks: list[int]
    items: list[Any]  # where the item factors are that it needs


@dataclass
class _Round:
    """What is asked of all blocks, and what came back so far."""

    commands: list[Command]
    before: int  # commands that blocks have done before
    left: set[int]  # blocks that have not answered yet
    total: PairwiseSum
    given: dict[int, GammaPosterior] = field(default_factory=dict)
    anew: set[int] = field(default_factory=set)  # blocks that must be made again
    asked: dict[Any, "_Asked"] = field(default_factory=dict)  # by future
    compute: dict[str, float] = field(default_factory=dict)
    transfer: float = 0.0


class RemoteUsers:
    """All users, in blocks on workers. Everything that a lost block needs to be made again is here, or was kept."""

    def __init__(
        self,
        engine: Engine,
        plan: Plan,
        manifest: Manifest,
        watch: Callable[[Times], object] = lambda times: None,
    ) -> None:
        """`watch` hears where the time of each round has gone."""
        self._watch = watch
        self.items = manifest.items
        self._engine, self._plan, self._manifest = engine, plan, manifest
        self._places = Places([block.entries for block in manifest.blocks])
        self._places.deal(engine.workers())
        self._log: list[Command] = []  # since blocks were last kept
        self._done = 0  # commands in all
        self._nowhere = set(range(len(manifest.blocks)))  # blocks that no worker has
        self._longest = 0.0  # seconds that a round has taken
        self._queue: list[Command] = []  # to go with the next visit
        self._forgotten: list[int] = []
        self._numbers = 0
        self._items: dict[int, Items] = {}  # the item factors that the log speaks of
        self._dtype: Any = None  # of factors
        self._put: dict[int, Any] = {}  # where they are on the cluster

    def begin(self, start: NDArray[np.floating] | Draw, H: GammaMoments, element: Element) -> tuple[Remote, Sums]:
        """A visit to the start E[W]."""
        if not isinstance(start, Draw):
            raise ValueError("a distributed fit starts at random: init and warm_start are for one machine")
        W = self._new()
        return W, self._visit(Begin(start, self._keep_items(H), element, W.number))

    def visit(self, W: Remote, H: GammaMoments, element: Element) -> tuple[Remote, Sums]:
        """The sums at a point, and the q(W) that the next update gives."""
        out = self._new()
        return out, self._visit(Visit(W.number, self._keep_items(H), element, out.number))

    def beyond(self, new: Remote, old: Remote, push: float) -> Remote:
        """The q(W) that lies beyond `new`, seen from `old`, by `push` of the way between them."""
        out = self._new()
        self._queue.append(Beyond(new.number, old.number, push, out.number))
        return out

    def fetch(self, W: Remote) -> GammaPosterior:
        """Bring a q(W) here."""
        given = self._run([Give(W.number)]).given
        blocks = [given[number] for number in sorted(given)]
        return GammaPosterior(
            np.concatenate([one.shape for one in blocks]),
            np.concatenate([one.row_rate for one in blocks]),
            blocks[0].column_rate,
        )

    def export(self, W: Remote, folder: str) -> GammaPosterior:
        """Have the workers write E[W] as tables. Gives the q(w) of a user who is what users are on average."""
        given = self._run([Export(W.number, folder)]).given
        weights = np.array([block.users for block in self._manifest.blocks]) / self._manifest.users
        blocks = [given[number] for number in sorted(given)]
        mean, rate = (
            sum(weight * value for weight, value in zip(weights, values, strict=True))
            for values in ([one.mean for one in blocks], [one.row_rate for one in blocks])
        )
        column_rate = blocks[0].column_rate
        return GammaPosterior((mean * (rate + column_rate)).astype(self._dtype), np.asarray(rate), column_rate)

    def keep(self, folder: str) -> None:
        """Have the workers write all that they know. From then on lost blocks are made again from there."""
        self._run([Keep(folder)])
        self._start_from(folder)
        # A block that moves is made again from what was just written: a good time to share them out evenly.
        self._nowhere = self._places.deal(self._engine.workers())

    def recall(self, folder: str, numbers: tuple[int, ...]) -> list[Remote]:
        """Go on from what was kept, with the q(W) of these numbers."""
        self._start_from(folder, numbers)
        self._nowhere = set(range(len(self._manifest.blocks)))
        self._numbers = max((self._numbers, *numbers))
        found = {number: self._handle(number) for number in sorted(set(numbers))}
        return [found[number] for number in numbers]

    def end(self) -> None:
        """Have the workers let go of everything of this fit."""
        self._put.clear()
        self._engine.everywhere(worker.end, self._plan.fit)

    def _start_from(self, folder: str, only: tuple[int, ...] | None = None) -> None:
        self._log = [Recall(folder, only)]
        self._items.clear()
        self._put.clear()

    def _new(self) -> Remote:
        self._numbers += 1
        return self._handle(self._numbers)

    def _handle(self, number: int) -> Remote:
        """When nobody here has it any more, the workers need not have it either."""
        handle = Remote(number)
        weakref.finalize(handle, self._forgotten.append, number)
        return handle

    def _keep_items(self, H: GammaMoments) -> int:
        self._dtype = H.geometric.dtype
        number = max(self._items, default=0) + 1
        self._items[number] = (np.ascontiguousarray(H.geometric[:, : len(H.column_means)]), H.column_means)
        return number

    def _visit(self, command: Begin | Visit) -> Sums:
        return Sums.of(self._run([command]).total.total, float(self._manifest.total))

    def _run(self, commands: list[Command]) -> _Round:
        """Have all blocks do these commands, whatever happens to the workers meanwhile."""
        began = time.perf_counter()
        commands = [*self._queue, *([Forget(tuple(self._forgotten))] if self._forgotten else []), *commands]
        # What is forgotten may be needed by what is queued, so it goes after that.
        self._queue.clear()
        self._forgotten.clear()
        size = len(self._manifest.blocks)
        now = _Round(commands, self._done, set(range(size)), PairwiseSum(size))
        now.anew |= self._nowhere
        self._nowhere.clear()
        self._log += commands
        self._done += len(commands)
        tries, last = 0, time.monotonic()
        while now.left:
            try:
                self._ask(now)
                done = self._engine.first(now.asked, _TICK)
                heard = sum([self._hear(now, future) for future in done])
            except Lost:
                done, heard = [None], 0
            if heard:
                tries, last = 0, time.monotonic()
            elif done:
                tries += 1
                self._put.clear()
                time.sleep(min(5.0, 0.05 * 2**tries))  # workers come and go just now
            elif time.monotonic() - last > _STALLED * 2**tries + 5.0 * self._longest:
                tries, last = tries + 1, time.monotonic()
                self._ask_again(now, now.asked)
            else:
                self._ask_again(now, self._hopeless(now))
            if tries > _TRIES:
                raise RuntimeError(
                    f"blocks {sorted(now.left)[:5]}... were asked for {tries} times, and no worker answered; "
                    "see the logs of the workers"
                )
        self._put.clear()  # if a block is lost later, its item factors are put there again
        compute = max(now.compute.values(), default=0.0)
        wall = time.perf_counter() - began
        self._longest = max(self._longest, wall)
        self._watch(Times(compute, now.transfer, max(0.0, wall - compute - now.transfer)))
        return now

    def _ask(self, now: _Round) -> None:
        """Ask for all that is left and not asked for."""
        free = now.left - {number for asked in now.asked.values() for number in asked.blocks}
        if not free:
            return
        self._places.adopt(self._engine.workers())
        for address in sorted(set(self._places.worker_of.values())):
            own = self._places.of(address)
            mine = [number for number in own if number in free]
            for anew in (False, True):
                wanted = [number for number in mine if (number in now.anew) == anew]
                commands = self._log if anew else now.commands
                if wanted:
                    task = Task(wanted, own, anew, now.before, self._done, list(commands))
                    items = self._items_for(now, commands)
                    future = self._engine.submit(address, worker.advance, self._plan, task, items)
                    now.asked[future] = _Asked(address, wanted, list(items.values()))

    def _items_for(self, now: _Round, commands: list[Command]) -> dict[int, Any]:
        began = time.perf_counter()
        needed = {command.items for command in commands if isinstance(command, Begin | Visit)}
        for number in sorted(needed - self._put.keys()):
            self._put[number] = self._engine.put(self._items[number])
        now.transfer += time.perf_counter() - began
        return {number: self._put[number] for number in sorted(needed)}

    def _hear(self, now: _Round, future: Any) -> int:
        """Take an answer in. Returns how many blocks it was about; 0 if it will never come."""
        asked, began = now.asked.pop(future), time.perf_counter()
        try:
            answer: Answer = self._engine.result(future)
        except Lost:
            return 0
        now.transfer += time.perf_counter() - began
        for (level, place), part in answer.nodes.items():
            now.total.put(level, place, part)
        now.given |= answer.given
        now.left -= set(answer.done)
        now.anew |= set(answer.lost)
        now.anew -= set(answer.done)
        now.compute[asked.worker] = now.compute.get(asked.worker, 0.0) + answer.seconds
        return len(asked.blocks)

    def _hopeless(self, now: _Round) -> list[Any]:
        """What will not be answered: a worker has gone, or has taken the item factors with it that others need."""
        there = self._engine.workers()
        gone = self._engine.gone([one for asked in now.asked.values() for one in asked.items])
        return [
            future
            for future, asked in now.asked.items()
            if asked.worker not in there or any(one in gone for one in asked.items)
        ]

    def _ask_again(self, now: _Round, futures: Iterable[Any]) -> None:
        """Give these up. What they were about is asked for anew, with item factors that are put there anew."""
        given_up = list(futures)
        if not given_up:
            return
        self._engine.cancel(given_up)
        self._put.clear()
        for future in given_up:
            del now.asked[future]
