"""The same list for all: what most users have."""

import numpy as np
from scipy import sparse

from dcpf.baselines.base import Baseline, Floats, Rows


class Popularity(Baseline):
    """Items by the number of users who have them, however often. The score is that number."""

    def _learn(self, counts: sparse.csr_array) -> None:
        """What is needed, `fit` counts for every method."""

    def _scores(self, counts: sparse.csr_array, rows: Rows) -> Floats:
        return np.tile(self.popularity_.astype(np.float64), (counts.shape[0], 1))
