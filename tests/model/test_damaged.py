"""What a file may say that is no model: whole models with one value changed at a time.

Each is refused when it is loaded, or it answers. The numbers of factors and the letters of ids are not read for
that (`store.verify` does): if these are damaged, an answer may be an error that says so.
"""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse

import dcpf
from dcpf import store
from dcpf.counts import Counts

pytestmark = pytest.mark.quick

RNG = np.random.default_rng(0)
MATRIX = sparse.csr_array(RNG.poisson(0.5, (9, 7)) * RNG.geometric(0.4, (9, 7)))
COUNTS = Counts.from_matrix(MATRIX, [f"u{j}" for j in range(9)], [f"Lied {j} ♪" for j in range(6, -1, -1)])

Arrays = dict[str, NDArray[Any]]
Keys = tuple[Any, ...]


def fitted(counts: Any, element: Any, **parameters: Any) -> dcpf.DCPF:
    return dcpf.DCPF(2, element, max_iter=4, tol=0.0, random_state=0, n_jobs=1, **parameters).fit(counts)


def after_batches() -> dcpf.FittedModel:
    """With everything that a file may hold."""
    model = fitted(COUNTS.with_names({"Lied 3 ♪": "Über den Wolken"}), "shifted-nb", shape_prior=(0.3, 0.4))
    return model.partial_fit(COUNTS).fitted_


def numbered_at_a_limit() -> dcpf.FittedModel:
    limit = dcpf.elements.ZeroTruncatedPoisson(p=np.inf)
    return fitted(MATRIX, limit, n_neighbors=0, dtype="float64").fitted_


def excited_without_history() -> dcpf.FittedModel:
    return fitted(COUNTS, "geometric").fitted_


# Of each, whether its history is saved
MODELS = {after_batches: True, numbered_at_a_limit: True, excited_without_history: False}

LEAVES = [None, True, -1, 10**400, -1.5, 0.0, "another", "x" * 10_000, [], {}]
LEAVES += [{"is": "float", "value": value} for value in ("nan", "inf", "1e300", None)]
LEAVES += [{"is": "array", "name": "parts.0.W.shape"}, {"is": "tuple", "values": []}]
KINDS = ["zeta", "FittedModel", "part", "list", []]
NUMBERS = {"f": [np.nan, np.inf, -1.0, 0.0, 1e30, 1e300], "i": [-1, 0, 2**31 - 1], "u": [0, 255]}


def changed_trees(tree: Any) -> Iterator[tuple[str, Any]]:
    """With another leaf, of another class, without a key, or with other lengths."""
    for path, value in branches(tree):
        others: dict[str, Any] = {}
        if isinstance(value, dict):
            others |= {f"lacks {key}": {name: value[name] for name in value if name != key} for key in value}
            others |= {f"is {kind}": value | {"is": kind} for kind in KINDS if "is" in value}
        elif isinstance(value, list):
            others |= {"is cut": value[:-1], "is longer": [*value, *value[-1:]]}
        else:
            others |= {f"= {other!r:.40}": other for other in LEAVES}
        yield from ((f"{path} {how}", with_value(tree, path, other)) for how, other in others.items())


def branches(tree: Any, path: Keys = ()) -> Iterator[tuple[Keys, Any]]:
    yield path, tree
    inner = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in inner:
        yield from branches(value, (*path, key))


def with_value(tree: Any, path: Keys, value: Any) -> Any:
    if not path:
        return value
    changed = tree.copy()
    changed[path[0]] = with_value(tree[path[0]], path[1:], value)
    return changed


def changed_arrays(arrays: Arrays) -> Iterator[tuple[str, Arrays]]:
    """Without one of them, or with one of another type, another shape, or with another number in it."""
    for name, array in arrays.items():
        yield f"{name} is lost", {key: each for key, each in arrays.items() if key != name}
        others = {f"as {kind}": array.astype(kind) for kind in ("f4", "f8", "i4", "i8", "u1", "?")}
        others |= {"cut": array[:-1], "empty": array[:0], "longer": np.concatenate([array, array[-1:]])}
        others |= {"nested": array[None], "of columns": array[..., None], "a number": array.reshape(-1)[0]}
        others |= {"reversed": array[::-1].copy(), "flat": array.reshape(-1), "transposed": array.T.copy()}
        for number, place in itertools.product(NUMBERS[array.dtype.kind], (0, array.size // 2)):
            changed = array.copy()
            changed.flat[place] = number
            others[f"[{place}] = {number}"] = changed
        yield from ((f"{name} {how}", arrays | {name: other}) for how, other in others.items())


def ask(model: dcpf.FittedModel) -> None:
    """Every kind of question."""
    user, item = model.users[0], model.items[-1]
    history = None if model.history is not None else {model.items[0]: 2, item: 3}
    model.recommend(None if history else user, n=3, history=history).to_frame()
    model.explain(None if history else user, item, history=history).to_dict()
    model.similar_items(item, n=2)
    str(model.describe())


@pytest.mark.parametrize("make", MODELS, ids=lambda make: make.__name__)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_whatever_is_changed_in_a_file_it_is_refused_in_a_line_or_answers(
    make: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make().save(tmp_path / "m", history=MODELS[make])
    arrays, meta = store.read(tmp_path / "m")
    tree, refused, asked = meta["model"], 0, 0
    ask(dcpf.load(tmp_path / "m"))
    cases = [(what, arrays, other) for what, other in changed_trees(tree)]
    cases += [(what, others, tree) for what, others in changed_arrays(arrays)]
    for what, some_arrays, some_tree in cases:
        content = (some_arrays, {"model": some_tree})
        monkeypatch.setattr(store, "read", lambda _, content=content: content)
        try:
            model = dcpf.load("m")
        except dcpf.ModelFormatError as error:
            refused += 1
            assert str(error).startswith("m: "), what
            assert "\n" not in str(error), what
            assert len(str(error)) < 400, what
            continue
        asked += 1
        try:
            ask(model)
        except ValueError as error:
            assert "damaged" in str(error), what
    assert refused > 2 * asked > 200
