"""The same data, parameters and seed give the same bits, whoever computes them and wherever they lie.

Threads are tested in model/test_estimator.py, memory and files in test_memory.py, a loaded model's answers in
model/test_saving.py. Here: all of these at once in another process, going on after a save, and other blocks.
"""

import copy
import hashlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import dcpf
from dcpf.counts import Counts
from dcpf.inference import data
from dcpf.simulation import listening_data

ELEMENTS = dcpf.elements.names()
LISTENING = listening_data(np.random.default_rng(0), n_users=200, n_songs=80)
COUNTS = Counts.from_matrix(LISTENING.counts, LISTENING.users, LISTENING.songs)
SMALL = 211  # entries of a block: there are 1,675 in all


def bits(model: dcpf.DCPF) -> str:
    """A checksum of all that a fit learns."""
    W, H = model.user_posterior_, model.item_posterior_
    arrays = (model.bounds_, W.shape, W.row_rate, W.column_rate, H.shape, H.row_rate, H.column_rate)
    digest = hashlib.sha256(repr(model.element_).encode())
    for array in arrays:
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def fitted(element: str, block: int = 2**22, **parameters: object) -> dcpf.DCPF:
    settings = {"n_components": 5, "max_iter": 30, "tol": 0.0, "random_state": 0, "n_jobs": 1} | parameters
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(data, "BLOCK_ENTRIES", block)
        return dcpf.DCPF(element=element, **settings).fit(COUNTS)  # type: ignore[arg-type]


ELSEWHERE = f"""if True:
    import dcpf
    from tests.test_determinism import ELEMENTS, bits, fitted
    for dtype in ("float32", "float64"):
        for element in ELEMENTS:
            print(element, dtype, bits(fitted(element, {SMALL}, dtype=dtype, n_jobs=3)))
"""


def test_the_same_blocks_give_the_same_bits_in_another_process_with_other_threads_and_memory() -> None:
    here = [f"{e} {d} {bits(fitted(e, SMALL, dtype=d))}" for d in ("float32", "float64") for e in ELEMENTS]
    environment = os.environ | {"DCPF_MEMORY": "50KB", "PYTHONHASHSEED": "7", "OMP_NUM_THREADS": "2"}
    told = subprocess.run(
        [sys.executable, "-c", ELSEWHERE],
        cwd=Path(__file__).parents[1],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    assert told.stdout.splitlines() == here


def learn_a_batch(model: dcpf.DCPF) -> dcpf.DCPF:
    return model.partial_fit(COUNTS.select(users=np.arange(30)), total_users=200)


def take_in_users(model: dcpf.DCPF) -> dcpf.DCPF:
    nothing = sparse.csr_array((1, COUNTS.shape[1]), dtype=np.int64)
    rows = sparse.vstack([COUNTS.matrix[:2], nothing], format="csr")
    model.partial_fit_users(rows, ["new", LISTENING.users[7], "has nothing yet"])
    return model


def take_in_items(model: dcpf.DCPF) -> dcpf.DCPF:
    model.partial_fit_items(COUNTS.matrix[:, [0, 5]], items=["new", LISTENING.songs[9]])
    return model


def fit_on(model: dcpf.DCPF) -> dcpf.DCPF:
    return model.set_params(warm_start=True, max_iter=4).fit(COUNTS)


WAYS_ON: list[Callable[[dcpf.DCPF], dcpf.DCPF]] = [learn_a_batch, take_in_users, take_in_items, fit_on]


@pytest.mark.quick
@pytest.mark.parametrize("element", ELEMENTS)
def test_a_model_goes_on_after_a_load_as_it_would_have_without(element: str, tmp_path: Path) -> None:
    model = fitted(element, max_iter=6)
    model.save(tmp_path / "model")
    for go_on in WAYS_ON:
        loaded = dcpf.DCPF.from_fitted(dcpf.load(tmp_path / "model"), n_jobs=1)
        one, other = go_on(copy.deepcopy(model)), go_on(loaded)
        assert bits(one) != bits(model)
        assert bits(one) == bits(other), go_on.__name__
        for ask in ({"users": list(LISTENING.users[:9])}, {"history": {LISTENING.songs[3]: 4}}):
            lists = [each.recommend(n=5, **ask).to_frame() for each in (one, other)]  # type: ignore[arg-type]
            assert lists[0].equals(lists[1])


# What other blocks may change, relative to the bound and to each expected rate: 15 to 90 times what was measured
# over 30 iterations with blocks of 37, 211 and 1009 entries.
ROUNDING = {"float64": (5e-14, 1e-10), "float32": (2e-5, 2e-2)}


@pytest.mark.quick
@pytest.mark.parametrize("dtype", ROUNDING)
@pytest.mark.parametrize("element", ELEMENTS)
def test_other_blocks_change_a_fit_by_rounding_only(element: str, dtype: str) -> None:
    of_bounds, of_rates = ROUNDING[dtype]
    whole = fitted(element, dtype=dtype)
    for block in (37, SMALL):
        cut = fitted(element, block, dtype=dtype)
        np.testing.assert_allclose(cut.bounds_, whole.bounds_, rtol=of_bounds)
        np.testing.assert_allclose(rates(cut), rates(whole), rtol=of_rates)


def rates(model: dcpf.DCPF) -> np.ndarray:
    return model.user_factors.astype(np.float64) @ model.item_factors.T.astype(np.float64)
