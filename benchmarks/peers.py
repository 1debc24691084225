"""Peers that are given our factors, so that only what they do with them is compared."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray


def implicit_with(W: NDArray[np.floating], H: NDArray[np.floating], threads: int) -> Any:
    """implicit's ALS as if it had learned these factors of users and items."""
    from implicit.cpu.als import AlternatingLeastSquares

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that BLAS has threads of its own: they are limited where it is called
        peer = AlternatingLeastSquares(factors=W.shape[1], num_threads=threads)
    peer.user_factors, peer.item_factors = W, H
    return peer
