"""What the driver has a block of users do. A block is what its commands have made of it.

Every q(W) has a number. A worker that has lost a block, or never had it, makes it again by the same commands, to the
same bits: from the start, or from what was kept last.
"""

from dataclasses import dataclass

from dcpf.elements import Element
from dcpf.inference.blocks import Draw


@dataclass(frozen=True, slots=True)
class Begin:
    """Make the local step at the start, as `Visit` does."""

    start: Draw
    items: int  # the number of the item factors
    element: Element
    out: int  # the number of the q(W) that the next update gives


@dataclass(frozen=True, slots=True)
class Visit:
    """Make the local step at a point, and answer with what the block adds to the sums."""

    W: int
    items: int
    element: Element
    out: int


@dataclass(frozen=True, slots=True)
class Beyond:
    """Go on in the direction of the last steps."""

    new: int
    old: int
    push: float
    out: int


@dataclass(frozen=True, slots=True)
class Forget:
    """Nobody needs these any more."""

    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Keep:
    """Write every q(W) to a folder."""

    folder: str


@dataclass(frozen=True, slots=True)
class Recall:
    """Read what was kept: all of it, or these."""

    folder: str
    only: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Give:
    """Answer with this q(W)."""

    W: int


@dataclass(frozen=True, slots=True)
class Export:
    """Write E[W] as a table, with the ids of the users."""

    W: int
    folder: str


Command = Begin | Visit | Beyond | Forget | Keep | Recall | Give | Export
