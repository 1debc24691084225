"""A model goes to a file and comes back the same, to the last bit."""

from pathlib import Path

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
    assert dcpf.DCPF.from_fitted(loaded, n_jobs=1).get_params() == model.get_params()
    assert loaded.element == model.element_
    assert list(loaded.users) == USERS
    assert list(loaded.items) == ITEMS
    assert list(loaded.names or []) == list(model.names_ or [])
    np.testing.assert_array_equal(loaded.part("factors").user_means, model.user_factors)
    np.testing.assert_array_equal(loaded.part("factors").items.H, model.item_factors)
    np.testing.assert_array_equal(loaded.facts.bounds, model.bounds_)
    assert (loaded.history != MATRIX).nnz == 0
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
    assert lean.history is None
    with pytest.raises(ValueError, match=r"saved without its training counts.*history="):
        lean.recommend("u03", exclude_seen=False)  # excitation comes from what users have
    assert len(
        next(iter(lean.recommend("u03", history=Counts.from_matrix(model.history_, model.users_, model.items_))))
    )
    fitted(n_neighbors=0).save(path, history=False)
    lean = dcpf.load(path)
    with pytest.raises(ValueError, match=r"saved without its training counts.*as history, or exclude_seen=False"):
        lean.recommend("u03")
    assert len(next(iter(lean.recommend("u03", n=15, exclude_seen=False)))) == 15
    assert lean.recommend("u03", n=3, history=Counts.from_matrix([[1]], ["u03"], ["Lied 3 ♪"])) is not None
    brought = Counts.from_matrix([[1]], ["new"], ["Lied 3 ♪"])  # one user is known, the other brings a history
    both, _ = lean.recommend(["u03", "new"], n=5, history=brought, exclude_seen=False)
    for user, items in zip(("u03", "new"), both, strict=True):
        alone, _ = lean.recommend(user, n=5, history=brought if user == "new" else None, exclude_seen=False)
        assert items.tolist() == alone.tolist()
    item = lean.items[0]
    pairs = lean.predict_pairs(["new", "u03"], [item, item], history=brought)
    assert pairs.sessions[1] == lean.predict_pairs("u03", item).sessions[0]
    with pytest.raises(ValueError, match="exclude_seen=False"):
        lean.recommend(["u03", "new"], history=brought)
    path.unlink()
    lean.save(path)
    assert dcpf.load(path).history is None


def test_integer_ids_and_a_plain_matrix_come_back_as_integers(tmp_path: Path) -> None:
    fitted(MATRIX).save(tmp_path / "m")
    assert dcpf.load(tmp_path / "m").users[3] == 3
    assert isinstance(dcpf.load(tmp_path / "m").users[3], int)


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
    loaded = dcpf.DCPF.from_fitted(dcpf.load(tmp_path / "m")).get_params()
    assert loaded["element"] == dcpf.elements.Logarithmic(0.3)
    assert loaded["shape_prior"] == (0.3, 0.5)
    assert (loaded["init"], loaded["callback"], loaded["random_state"]) == ("random", None, None)


def test_a_loaded_model_can_go_on(tmp_path: Path) -> None:
    fitted().save(tmp_path / "m")
    loaded = dcpf.load(tmp_path / "m")
    model = dcpf.DCPF.from_fitted(loaded, warm_start=True)
    assert model.fit(COUNTS).bounds_[-1] >= loaded.facts.bounds[-1]
    model.partial_fit_users(MATRIX[:2], ["u01", "new"])
    assert len(model.users_) == len(loaded.partial_fit_users(MATRIX[:2], ["u01", "new"]).users) == 26
    assert len(loaded.users) == len(dcpf.load(tmp_path / "m").users) == 25


def test_parts_can_be_learned_anew_after_a_load(tmp_path: Path) -> None:
    model = fitted()
    model.save(tmp_path / "m")
    alone = dcpf.DCPF.from_fitted(dcpf.load(tmp_path / "m"), n_neighbors=0).refit_parts()
    assert [part.name for part in alone.fitted_.parts] == ["factors"]
    again = alone.set_params(n_neighbors=model.n_neighbors).refit_parts()
    assert again.recommend(n=4).to_frame().equals(model.recommend(n=4).to_frame())


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


@pytest.mark.parametrize("kind", ["element", "part"])
def test_an_element_or_a_part_that_is_not_imported_is_named(kind: str, tmp_path: Path) -> None:
    fitted().save(tmp_path / "m")
    arrays, meta = store.read(tmp_path / "m")
    fields = meta["model"]["fields"]
    (fields["element"] if kind == "element" else fields["parts"]["values"][1])["name"] = "zeta"
    store.write(tmp_path / "m", arrays, meta)
    with pytest.raises(dcpf.ModelFormatError, match=rf"m: the model has the {kind} 'zeta'.*import its file"):
        dcpf.load(tmp_path / "m")


def test_the_training_data_are_known_again_by_their_checksum(tmp_path: Path) -> None:
    same, other = (fitted(counts).fitted_.facts.data for counts in (COUNTS, MATRIX[:20]))
    assert same == fitted(max_iter=1).fitted_.facts.data
    assert same["checksum"] != other["checksum"]
    assert (same["users"], same["items"], same["entries"]) == (25, 15, MATRIX.nnz)


def test_an_element_at_its_infinite_limit_is_kept(tmp_path: Path) -> None:
    fitted(element=dcpf.elements.ZeroTruncatedPoisson(p=np.inf)).save(tmp_path / "m")
    assert dcpf.load(tmp_path / "m").element == dcpf.elements.ZeroTruncatedPoisson(p=np.inf)
