"""What a method that knows no counts is given in their place: ones, logarithms, the counts, or something else."""

from collections.abc import Callable
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import DTypeLike
from scipy import sparse

_Named = Literal["binary", "log", "raw"]
Weighting = _Named | Callable[[sparse.csr_array], sparse.csr_array]


def weighted(counts: sparse.csr_array, weighting: Weighting, dtype: DTypeLike = np.float64) -> sparse.csr_array:
    """1, log(1 + y) or y in the place of each count y, or what a function makes of the counts of some users."""
    if callable(weighting):
        made = weighting(counts)
        return sparse.csr_array((made.data.astype(dtype), made.indices, made.indptr), shape=made.shape)
    if weighting not in get_args(_Named):
        names = ", ".join(map(repr, get_args(_Named)))
        raise ValueError(f"weighting must be one of {names}, or a function of counts, found {weighting!r}")
    data: Any = np.ones(counts.nnz) if weighting == "binary" else counts.data
    data = np.log1p(data) if weighting == "log" else data
    return sparse.csr_array((data.astype(dtype), counts.indices, counts.indptr), shape=counts.shape)


def check_number(*, above: float | None = None, **given: Any) -> None:
    """Refuse what is not a finite number >= 0, or greater than `above` if that is given, by its name."""
    for name, value in given.items():
        number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
        if not number or not np.isfinite(value) or value < 0 or (above is not None and value <= above):
            wanted = ">= 0" if above is None else f"> {above:g}"
            raise ValueError(f"{name} must be a finite number {wanted}, found {value!r}")
