"""A model file of format version 1, as dcpf 0.1.0 wrote it, loads for ever."""

import json
from pathlib import Path

import numpy as np

import dcpf
from dcpf import store

DATA = Path(__file__).parent.parent / "data"
FILE = DATA / "format_1.safetensors"
EXPECTED = json.loads((DATA / "format_1.json").read_text())


def test_a_file_of_format_1_is_whole() -> None:
    store.verify(FILE)


def test_a_model_of_format_1_still_says_what_it_said() -> None:
    model = dcpf.load(FILE)
    assert list(model.users_) == [f"user {j}" for j in range(8)]
    assert list(model.items_) == ["a", "ä", "é", "日本", "z", "007"]
    assert list(model.names_ or []) == ["Alpha", "", "", "Nippon", "", ""]
    assert model.history_ is not None
    np.testing.assert_array_equal(model.history_.toarray(), EXPECTED["counts"])
    assert model.element_.parameters == EXPECTED["element"]
    assert (model.n_components, model.element, model.max_iter) == (2, "shifted-nb", 20)
    np.testing.assert_array_equal(model.bounds_[[0, -1]], EXPECTED["bounds"])
    recommended = model.recommend(n=3)
    assert [items.tolist() for items in next(iter(recommended))] == EXPECTED["items"]
    np.testing.assert_allclose(recommended.ranked.scores, EXPECTED["scores"], rtol=1e-12)
    assert model.transform(EXPECTED["counts"]).shape == (8, 2)
