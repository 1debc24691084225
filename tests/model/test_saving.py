"""A model goes to a file and comes back the same, to the last bit."""

import contextlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import dcpf
from dcpf import store
from dcpf.counts import Counts
from dcpf.elements import names

pytestmark = pytest.mark.quick

RNG = np.random.default_rng(0)
MATRIX = sparse.csr_array(RNG.poisson(0.4, (25, 15)) * RNG.geometric(0.4, (25, 15)))
USERS = [f"u{j:02}" for j in range(25)]
ITEMS = [f"Lied {j} ♪" for j in range(14, -1, -1)]  # neither ascending nor ASCII
COUNTS = Counts.from_matrix(MATRIX, USERS, ITEMS).with_names({"Lied 3 ♪": "Über den Wolken"})


def fitted(counts: object = COUNTS, **parameters: object) -> dcpf.DCPF:
    settings = {"n_components": 3, "max_iter": 6, "tol": 0.0, "random_state": 0, "n_jobs": 1} | parameters
    return dcpf.DCPF(**settings).fit(counts)  # type: ignore[arg-type]


@pytest.mark.parametrize("element", names())
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_loaded_model_answers_with_the_same_bits(element: str, dtype: str, tmp_path: Path) -> None:
    model = fitted(element=element, dtype=dtype)
    model.save(tmp_path / "model.safetensors")
    loaded = dcpf.load(tmp_path / "model.safetensors")
    assert loaded.get_params() == model.get_params()
    assert loaded.element_ == model.element_
    assert list(loaded.users_) == USERS
    assert list(loaded.items_) == ITEMS
    assert list(loaded.names_ or []) == list(model.names_ or [])
    for name in ("user_factors", "item_factors", "bounds_"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(model, name))
    assert (loaded.history_ != MATRIX).nnz == 0
    new = MATRIX[:4]
    np.testing.assert_array_equal(loaded.transform(new), model.transform(new))
    np.testing.assert_array_equal(loaded.sessions().data, model.sessions().data)
    for ask in ({}, {"users": ["u03", "u11"]}, {"history": {"Lied 3 ♪": 4}}):
        one, other = (m.recommend(n=4, **ask).to_frame() for m in (model, loaded))  # type: ignore[arg-type]
        assert one.equals(other)
    assert loaded.explain("u03", "Lied 3 ♪").to_dict() == model.explain("u03", "Lied 3 ♪").to_dict()


def test_the_same_model_is_the_same_bytes(tmp_path: Path) -> None:
    paths = [tmp_path / f"{j}.safetensors" for j in range(3)]
    model = fitted()
    model.save(paths[0])
    fitted().save(paths[1])
    dcpf.load(paths[0]).save(paths[2])
    assert len({path.read_bytes() for path in paths}) == 1


def test_training_counts_can_be_left_out(tmp_path: Path) -> None:
    path = tmp_path / "lean.safetensors"
    model = fitted()
    model.save(path, history=False)
    lean = dcpf.load(path)
    assert lean.history_ is None
    with pytest.raises(ValueError, match=r"saved without its training counts.*history="):
        lean.recommend("u03", exclude_seen=False)  # excitation comes from what users have
    assert len(
        next(iter(lean.recommend("u03", history=Counts.from_matrix(model.history_, model.users_, model.items_))))
    )
    fitted(n_neighbors=0).save(path, history=False)
    lean = dcpf.load(path)
    with pytest.raises(ValueError, match=r"saved without its training counts.*history="):
        lean.recommend("u03")
    assert len(next(iter(lean.recommend("u03", n=15, exclude_seen=False)))) == 15
    assert lean.recommend("u03", n=3, history=Counts.from_matrix([[1]], ["u03"], ["Lied 3 ♪"])) is not None
    path.unlink()
    lean.save(path)
    assert dcpf.load(path).history_ is None


def test_integer_ids_and_a_plain_matrix_come_back_as_integers(tmp_path: Path) -> None:
    fitted(MATRIX).save(tmp_path / "m")
    assert dcpf.load(tmp_path / "m").users_[3] == 3
    assert isinstance(dcpf.load(tmp_path / "m").users_[3], int)


def test_parameters_that_are_no_plain_values_are_left_out_or_spelt_out(tmp_path: Path) -> None:
    W, H = RNG.random((25, 3)), RNG.random((15, 3))
    model = fitted(
        element=dcpf.elements.Logarithmic(0.3),
        shape_prior=(0.3, 0.5),
        init=(W, H),
        callback=lambda iteration: None,
        random_state=np.random.default_rng(0),
    )
    model.save(tmp_path / "m")
    loaded = dcpf.load(tmp_path / "m").get_params()
    assert loaded["element"] == dcpf.elements.Logarithmic(0.3)
    assert loaded["shape_prior"] == (0.3, 0.5)
    assert (loaded["init"], loaded["callback"], loaded["random_state"]) == ("random", None, None)


def test_a_loaded_model_can_go_on(tmp_path: Path) -> None:
    fitted(warm_start=True).save(tmp_path / "m")
    loaded = dcpf.load(tmp_path / "m")
    before = loaded.bounds_[-1]
    assert loaded.fit(COUNTS).bounds_[-1] >= before
    loaded.partial_fit_users(MATRIX[:2], ["u01", "new"])
    assert len(loaded.users_) == 26
    assert len(dcpf.load(tmp_path / "m").users_) == 25


def test_what_is_no_model_is_refused(tmp_path: Path) -> None:  # row 39
    path = tmp_path / "model.safetensors"
    path.write_bytes(b"\x80\x04\x95rest of a pickle")
    with pytest.raises(dcpf.ModelFormatError, match="pickle, which is never loaded"):
        dcpf.load(path)
    fitted().save(path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-7])
    with pytest.raises(dcpf.ModelFormatError, match="cut short"):
        dcpf.load(path)
    store.write(path, {"W": np.ones(3)}, {"some": "other file of dcpf"})
    with pytest.raises(dcpf.ModelFormatError, match="not a whole model"):
        dcpf.load(path)
    with pytest.raises(FileNotFoundError):
        dcpf.load(tmp_path / "nowhere.safetensors")


def test_an_element_that_is_not_imported_is_named(tmp_path: Path) -> None:
    path = tmp_path / "m"
    fitted().save(path)
    arrays, meta = store.read(path)
    store.write(path, arrays, meta | {"element": {"name": "zeta", "parameters": {"p": 0.5}}})
    with pytest.raises(dcpf.ModelFormatError, match=r"element 'zeta'.*import its file"):
        dcpf.load(path)


@pytest.mark.parametrize("name", ["W.shape", "H.row_rate", "users.offsets", "history.indptr"])
def test_arrays_that_do_not_fit_together_are_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / "m"
    fitted().save(path)
    arrays, meta = store.read(path)
    store.write(path, arrays | {name: arrays[name][:-1]}, meta)
    with pytest.raises(dcpf.ModelFormatError, match="m: "):
        dcpf.load(path)


def test_the_training_data_are_known_again_by_their_checksum(tmp_path: Path) -> None:
    same, other = fitted(), fitted(MATRIX[:20])
    assert same._data_ == fitted(max_iter=1)._data_
    assert same._data_["checksum"] != other._data_["checksum"]
    assert (same._data_["users"], same._data_["items"], same._data_["entries"]) == (25, 15, MATRIX.nnz)


def test_an_element_at_its_infinite_limit_is_kept(tmp_path: Path) -> None:
    fitted(element=dcpf.elements.ZeroTruncatedPoisson(p=np.inf)).save(tmp_path / "m")
    assert dcpf.load(tmp_path / "m").element_ == dcpf.elements.ZeroTruncatedPoisson(p=np.inf)


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("W.shape", lambda array: array.astype(np.int64)),
        ("W.row_rate", lambda array: array.astype(np.float32)),
        ("H.column_rate", lambda array: array[None]),
        ("bounds", lambda array: array[:, None]),
        ("users.utf8", lambda array: array.astype(np.int8)),
        ("items.order", lambda array: array.astype(np.float64)),
        ("history.data", lambda array: -array),
        ("history.indptr", lambda array: array[::-1].copy()),
        ("history.indptr", lambda array: array + 2**32 * (np.arange(len(array)) == 3)),
    ],
)
def test_arrays_of_another_type_or_meaning_are_refused(name: str, changed: Any, tmp_path: Path) -> None:
    path = tmp_path / "m"
    fitted().save(path)
    arrays, meta = store.read(path)
    store.write(path, arrays | {name: changed(arrays[name])}, meta)
    with pytest.raises(dcpf.ModelFormatError, match="m: a dcpf file, but not a whole model"):
        dcpf.load(path)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("typical_rates", [1.0]),
        ("typical_rates", [1.0, -1.0]),
        ("typical_rates", 10**400),
        ("settings", {"shape_prior": [0.3, 0.3], "learn_element": True, "learn_rates": []}),
        ("settings", {"shape_prior": [0.3, 0.0], "learn_element": True, "learn_rates": True}),
        ("element", {"name": "raw", "parameters": "none"}),
        ("element", {"name": "x" * 10_000, "parameters": {}}),
        ("element", {"name": "geometric", "parameters": {"p": 7.0}}),
        ("parameters", []),
    ],
)
def test_a_description_that_cannot_be_is_refused_in_a_short_line(key: str, value: object, tmp_path: Path) -> None:
    path = tmp_path / "m"
    fitted().save(path)
    arrays, meta = store.read(path)
    store.write(path, arrays, meta | {key: value})
    with pytest.raises(dcpf.ModelFormatError, match="m: ") as error:
        dcpf.load(path)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 1000


@pytest.mark.parametrize("value", [np.nan, np.inf, -1.0, -2e9])
def test_a_model_whose_numbers_are_damaged_answers_without_end_to_no_question(value: float, tmp_path: Path) -> None:
    """The body is not read when a model is loaded: `store.verify` tells of such damage."""
    path = tmp_path / "m"
    fitted().save(path)
    arrays, meta = store.read(path)
    arrays["H.shape"][2, 1] = value
    store.write(path, arrays, meta)
    model = dcpf.load(path)
    with np.errstate(all="ignore"), contextlib.suppress(ValueError, ArithmeticError):
        model.recommend(history={"Lied 3 ♪": 4}, n=3)
        model.sessions()
