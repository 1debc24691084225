"""What is known of a data set of the paper: where it comes from, what was done with it, and what came out."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dcpf.counts import Counts, InvalidCounts

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Figures:
    """A data set in numbers: its size, and mean and variance of the counts that are not zero."""

    users: int
    items: int
    entries: int
    mean: float
    variance: float

    @classmethod
    def of(cls, counts: Counts) -> "Figures":
        """The figures of these counts."""
        data = counts.matrix.data
        return cls(*counts.shape, counts.nnz, float(data.mean()), float(data.var()))

    @property
    def share(self) -> float:
        """How much of the matrix is not zero."""
        return self.entries / (self.users * self.items)

    @property
    def ratio(self) -> float:
        """Variance over mean: 1 if the counts were Poisson."""
        return self.variance / self.mean


@dataclass(frozen=True)
class DataSet:
    """One data set of the paper."""

    name: str
    title: str
    what: str  # it holds
    file: str  # its original name
    page: str  # where it is to be had
    lines: int  # of the original file
    row: str  # what a line of it is, for errors
    load: Callable[[Path, Progress | None], Counts]  # all that is in the file
    paper: Figures  # its tables "Datasets structure" and "Mean, variance and ratio"
    drawn: tuple[int | None, int | None] = (None, None)  # users and items of the authors' subset
    least: int = 0  # interactions of a user, and of an item

    @property
    def source(self) -> str:
        """Where to get the file."""
        return f"{self.file} from {self.page}"

    @property
    def expected(self) -> str:
        """What a line of the file has to be, as the end of an error."""
        return f"; wanted {self.row}, as in {self.source}"

    def told(self, lines: int) -> str:
        """A note on how much of the original was there."""
        return f"all {lines:,} lines" if lines == self.lines else f"{lines:,} lines; the original has {self.lines:,}"

    def check_end(self, shown: str, lines: int, *, ended: bool) -> None:
        """Refuse a file that stops within a line."""
        if not ended and lines != self.lines:
            raise InvalidCounts(
                f"{shown}:{lines}: the file ends within a line, and {self.lines:,} lines are expected; "
                f"copy it again, or download {self.source}"
            )
