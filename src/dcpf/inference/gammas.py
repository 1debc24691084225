"""Gamma posteriors of factors, as numpy arrays: what a fitted model keeps of q(W) and q(H)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma

from dcpf import memory

Floats = NDArray[np.floating]
Doubles = NDArray[np.float64]

_ROWS = 2**13  # rows whose means are computed together, so that their float64 values stay in the cache


@dataclass(frozen=True, slots=True)
class GammaPosterior:
    """q(W) or q(H): independent Gamma(shape_uk, row_rate_u + column_rate_k)."""

    shape: Floats
    row_rate: Doubles  # the prior's rate b_u: the user's activity, the item's popularity
    column_rate: Doubles  # the sum of the other side's means

    def __len__(self) -> int:
        return len(self.shape)

    def __getitem__(self, rows: "slice | NDArray[np.integer]") -> "GammaPosterior":
        """Some of the rows; of a slice, the same memory."""
        return GammaPosterior(self.shape[rows], self.row_rate[rows], self.column_rate)

    @property
    def rate(self) -> Doubles:
        """The rate of each gamma, rows x K."""
        return np.asarray(self.row_rate[:, None] + self.column_rate)

    @property
    def mean(self) -> Floats:
        """E[w]."""
        mean = memory.empty(self.shape.shape, self.shape.dtype)
        for start in range(0, len(mean), _ROWS):
            rows = slice(start, start + _ROWS)
            mean[rows] = self.shape[rows] / self[rows].rate
        return mean

    @property
    def geometric_mean(self) -> Floats:
        """exp(E[log w])."""
        mean = memory.empty(self.shape.shape, self.shape.dtype)
        for start in range(0, len(mean), _ROWS):
            rows = slice(start, start + _ROWS)
            mean[rows] = np.exp(digamma(self.shape[rows].astype(np.float64))) / self[rows].rate
        return mean

    def with_column_rate(self, column_rate: Doubles) -> "GammaPosterior":
        """GammaPosterior of the same means that can stand among others with this column rate."""
        rate = self.row_rate[:, None] + column_rate
        return GammaPosterior((self.mean * rate).astype(self.shape.dtype), self.row_rate, column_rate)
