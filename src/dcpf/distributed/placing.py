"""Which worker has which block. Who has one keeps it: to move a block costs making it again."""

from collections.abc import Collection, Mapping, Sequence


class Places:
    """A sticky map of blocks to workers. Only orphans move, until blocks are dealt anew."""

    def __init__(self, sizes: Sequence[int]) -> None:
        """`sizes` are the entries of the blocks."""
        self._sizes = sizes
        self.worker_of: dict[int, str] = {}

    def of(self, worker: str) -> list[int]:
        """The blocks of a worker."""
        return sorted(number for number, one in self.worker_of.items() if one == worker)

    def deal(self, workers: Mapping[str, int]) -> set[int]:
        """Give each worker neighbouring blocks, by the number of its threads. Returns the blocks that have moved.

        Sums over neighbours travel as one, so neighbours are best together.
        """
        names = sorted(workers, key=lambda one: (min(self.of(one), default=len(self._sizes)), one))
        share = sum(self._sizes) / sum(workers.values())
        before, dealt, worker, limit = dict(self.worker_of), 0.0, 0, share * workers[names[0]]
        for number, size in enumerate(self._sizes):
            while dealt + size / 2 > limit and worker + 1 < len(names):
                worker += 1
                limit += share * workers[names[worker]]
            self.worker_of[number] = names[worker]
            dealt += size
        return {number for number, one in self.worker_of.items() if before.get(number) != one}

    def adopt(self, workers: Collection[str]) -> None:
        """Give the blocks of workers that have gone to those that have least."""
        load = {worker: sum(self._sizes[number] for number in self.of(worker)) for worker in sorted(workers)}
        for number, owner in sorted(self.worker_of.items()):
            if owner not in load:
                heir = min(load, key=lambda one: load[one])
                self.worker_of[number] = heir
                load[heir] += self._sizes[number]
