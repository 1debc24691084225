"""Sums over blocks that have the same bits wherever the blocks are, and in whatever order they come."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Part:
    """What some users add to what all share."""

    item_shape: NDArray[np.floating]  # to the shapes of q(H)
    numbers: NDArray[np.float64]  # to everything else

    def add(self, other: "Part") -> None:
        """Add the other to this one."""
        np.add(self.item_shape, other.item_shape, out=self.item_shape)
        np.add(self.numbers, other.numbers, out=self.numbers)


@dataclass(slots=True)
class Sum:
    """The sum over blocks 0, 1, ..., size - 1, in the order of a binary tree.

    Neighbours are added in pairs, then pairs of these, and so on; who has no neighbour waits for the next round. This
    order is that of the blocks' numbers alone, so that sums over some blocks can be made where these are and put
    together elsewhere. Parts that are put in are taken over and changed.
    """

    size: int
    nodes: dict[tuple[int, int], Part] = field(default_factory=dict)  # by level and place

    def put(self, level: int, place: int, part: Part) -> None:
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
    def total(self) -> Part:
        """The sum over all blocks, once all were put in."""
        (part,) = self.nodes.values()
        return part
