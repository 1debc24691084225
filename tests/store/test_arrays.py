"""A file comes back as it was written, and is never trusted before it is checked."""

import json
import os
import pickle
import re
import tempfile
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tests.store.content import META, assert_same, content, names_in, run

import dcpf
from dcpf import store
from dcpf.store import ModelFormatError
from dcpf.store.arrays import plain_json, seal


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "model.safetensors"
    store.write(path, content(), META)
    return path


def header_and_body(data: bytes) -> tuple[dict[str, Any], bytes]:
    length = int.from_bytes(data[:8], "little")
    return json.loads(data[8 : 8 + length]), data[8 + length :]


def file_of(header: object, body: bytes) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + body


# Round trips


def test_arrays_and_meta_come_back(path: Path) -> None:
    arrays, meta = store.read(path)
    assert_same(arrays, content())
    assert meta == META
    store.verify(path)


@given(
    arrays=st.dictionaries(
        st.text(st.characters(categories=["L", "N", "P", "S"]), max_size=8),
        hnp.arrays(
            hnp.boolean_dtypes()
            | hnp.integer_dtypes(endianness="?")
            | hnp.floating_dtypes(endianness="?", sizes=(32, 64)),
            hnp.array_shapes(min_dims=0, min_side=0, max_side=4),
        ),
        max_size=5,
    ),
    meta=st.dictionaries(
        st.text(),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
            max_leaves=8,
        ),
        max_size=4,
    ),
)
@settings(max_examples=40, deadline=None)
def test_any_arrays_and_any_meta_come_back(arrays: dict[str, np.ndarray], meta: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m"
        store.write(path, arrays, meta)
        store.verify(path)
        found, found_meta = store.read(path)
        assert_same(found, arrays)
        assert repr(sorted(found_meta.items())) == repr(sorted(json.loads(json.dumps(meta, sort_keys=True)).items()))
        assert found_meta == meta


@pytest.mark.parametrize(
    "array",
    [
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.arange(24.0).reshape(2, 3, 4).transpose(2, 0, 1),
        np.arange(10)[::-2],
        np.arange(10, dtype=">i4"),
        np.arange(6, dtype=">f8").reshape(2, 3).T,
        np.broadcast_to(np.float32(3), (2, 2)),
        np.frombuffer(b"x" + np.arange(3.0).tobytes(), np.float64, offset=1),
    ],
)
def test_any_order_in_memory_is_written_as_what_it_means(array: np.ndarray, tmp_path: Path) -> None:
    store.write(tmp_path / "m", {"a": array}, {})
    assert_same(store.read(tmp_path / "m")[0], {"a": array})


def test_the_plain_safetensors_library_reads_the_file(path: Path) -> None:
    from safetensors.numpy import load_file

    assert_same(load_file(path), content())


def test_arrays_are_views_of_one_mapping_and_never_change_the_file(path: Path) -> None:
    def owner(array: Any) -> Any:
        while getattr(array, "base", None) is not None:
            array = array.base
        return array

    arrays, _ = store.read(path)
    owners = {
        id(owner(array).obj if isinstance(owner(array), memoryview) else owner(array)) for array in arrays.values()
    }
    assert len(owners) == 1
    for array in arrays.values():
        assert not array.flags.owndata
        assert array.flags.aligned
    before = path.read_bytes()
    arrays["W"][0, 0] += 1
    assert path.read_bytes() == before
    assert store.read(path)[0]["W"][0, 0] != arrays["W"][0, 0]


def test_unaligned_arrays_are_accepted(path: Path) -> None:
    header, body = header_and_body(path.read_bytes())
    moved, place = b"", {}
    for name in sorted(set(header) - {"__metadata__"}, key=lambda name: (header[name]["dtype"] != "BOOL", name)):
        begin, end = header[name]["data_offsets"]
        place[name] = {**header[name], "data_offsets": [len(moved), len(moved) + end - begin]}
        moved += body[begin:end]
    path.write_bytes(file_of({"__metadata__": header["__metadata__"], **place}, moved))
    store.verify(path)
    arrays, _ = store.read(path)
    assert_same(arrays, content())
    assert arrays["W"].flags.owndata or arrays["W"].base.flags.owndata
    assert all(array.flags.aligned for array in arrays.values())


# The same content, the same bytes


def test_the_same_content_gives_the_same_bytes_in_every_process(tmp_path: Path) -> None:
    code = """if True:
        import sys, numpy as np
        from dcpf import store
        names = [f"array {i}" for i in range(20)][:: int(sys.argv[2])]
        arrays = {name: np.arange(int(name[6:])) for name in names}
        store.write(sys.argv[1], arrays, {name: {"x": 0.1, "a": name} for name in names})
    """
    for seed, order in [("1", 1), ("2", 1), ("3", -1)]:
        run(code, tmp_path / seed, order, PYTHONHASHSEED=seed)
    assert (tmp_path / "1").read_bytes() == (tmp_path / "2").read_bytes() == (tmp_path / "3").read_bytes()


def test_a_file_that_is_replaced_while_it_is_opened_is_read_whole(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = store.arrays._layout, []

    def layout(name: Path) -> Any:
        if not calls:
            store.write(path, {"a": np.arange(9)}, {"new": True})
        calls.append(1)
        return real(name)

    monkeypatch.setattr(store.arrays, "_layout", layout)
    arrays, meta = store.read(path)
    assert (len(calls), meta) == (2, {"new": True})
    assert_same(arrays, {"a": np.arange(9)})


def test_the_format_is_what_the_documentation_says(path: Path) -> None:
    header, _ = header_and_body(path.read_bytes())
    assert list(header["__metadata__"]) == [store.FORMAT]
    document = json.loads(header["__metadata__"][store.FORMAT])
    assert (document["format"], document["version"], document["library"]) == ("dcpf", 1, dcpf.__version__)


# What cannot be written


@pytest.mark.parametrize(
    ("arrays", "meta", "kind", "words"),
    [
        ({"a": np.array(["x"])}, {}, TypeError, "array 'a' has type <U1"),
        ({"a": np.array([None])}, {}, TypeError, "array 'a' has type object"),
        ({"a": np.zeros(2, "f2")}, {}, TypeError, "array 'a' has type float16"),
        ({"a": np.zeros(2, [("x", "f4")])}, {}, TypeError, "array 'a' has type"),
        ({1: np.zeros(2)}, {}, TypeError, "names of arrays must be strings, found 1"),
        ({"__metadata__": np.zeros(2)}, {}, ValueError, "cannot be named '__metadata__'"),
        ({"\ud800": np.zeros(2)}, {}, ValueError, "cannot be named"),
        ({}, {"a": np.int64(1)}, TypeError, "int64 is not JSON serializable"),
        ({}, {"a": [float("nan")]}, ValueError, "not JSON compliant"),
        ({}, {"a": {1: 2}}, TypeError, "come back changed"),
        ({}, {"a": (1, 2)}, TypeError, "come back changed"),
    ],
)
def test_what_a_file_cannot_hold_is_refused_and_the_old_file_stays(
    path: Path, arrays: Any, meta: Any, kind: type[Exception], words: str
) -> None:
    before = path.read_bytes()
    with pytest.raises(kind, match=words):
        store.write(path, arrays, meta)
    assert path.read_bytes() == before
    assert names_in(path.parent) == [path.name]


def test_a_meta_above_the_limit_of_the_format_is_refused(path: Path) -> None:
    with pytest.raises(ValueError, match=r"model\.safetensors: not saved: .*header too large"):
        store.write(path, {}, {"a": "\0" * 14_500_000})
    store.verify(path)
    assert names_in(path.parent) == [path.name]


# Files of other programs, and of newer versions


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "not a dcpf model: it is empty"),
        (b"\x10", "not a dcpf model: it is not a safetensors file"),
        (bytes(100), "not a dcpf model: it is not a safetensors file"),
        (b"user,item,count\nana,song,3\n", "not a dcpf model: it is not a safetensors file"),
        (b"PAR1" + bytes(20), "not a dcpf model: it is not a safetensors file"),
        *((pickle.dumps([1.5] * 9, protocol), "looks like a pickle, which is never") for protocol in (2, 3, 4, 5)),
        (file_of({}, b""), "not a dcpf model: it is a safetensors file of another program"),
        (file_of({"__metadata__": {"format": "pt"}}, b""), "it is a safetensors file of another program"),
        (file_of({"__metadata__": {"dcpf": '{"format":"x"}'}}, b""), "it is a safetensors file of another program"),
        *(
            (file_of({"__metadata__": {"dcpf": text}}, b""), "damaged: its metadata is not a JSON object")
            for text in ("[]", "3", "x", "[" * 100_000, "9" * 10_000)
        ),
        (file_of(b"{'a':1}", b""), "damaged: cut short, or its header is wrong .*key must be a string"),
        (file_of(b'{"\xff":1}', b""), "damaged: cut short, or its header is wrong"),
        (file_of(b'{"a":' + b"[" * 200_000 + b"}", b""), "damaged: cut short, or its header is wrong"),
        (file_of(b"{}", b"")[:9], "damaged: cut short, or its header is wrong"),
        ((99_999_999).to_bytes(8, "little") + b"{}", "damaged: cut short, or its header is wrong"),
        ((2**63).to_bytes(8, "little") + b"{}", "damaged: cut short, or its header is wrong"),
    ],
)
@pytest.mark.parametrize("check", [store.read, store.verify])
def test_a_foreign_file_is_refused_by_its_name(
    tmp_path: Path, data: bytes, words: str, check: Callable[[Path], object]
) -> None:
    path = tmp_path / "m.safetensors"
    path.write_bytes(data)
    with pytest.raises(ModelFormatError, match=words) as error:
        check(path)
    assert str(error.value).startswith(f"{path}: ")
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < len(str(path)) + 250


class Trap:
    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return os._exit, (3,)


def test_a_pickle_is_never_run(tmp_path: Path) -> None:
    trap = pickle.dumps(Trap())
    for data in (trap, file_of({"__metadata__": {"dcpf": trap.decode("latin1")}}, b""), file_of({}, trap)):
        (tmp_path / "m").write_bytes(data)
        with pytest.raises(ModelFormatError):
            store.read(tmp_path / "m")


def test_the_content_decides_and_not_the_extension(path: Path) -> None:
    path.rename(path.with_suffix(".pkl"))
    assert_same(store.read(path.with_suffix(".pkl"))[0], content())


def test_no_file_and_a_folder_are_errors_of_the_system(tmp_path: Path) -> None:
    for check in (store.read, store.verify):
        with pytest.raises(FileNotFoundError, match="nothing"):
            check(tmp_path / "nothing")
        with pytest.raises(IsADirectoryError, match=re.escape(str(tmp_path))):
            check(tmp_path)


def test_a_newer_format_names_its_version_and_the_way_out(path: Path) -> None:
    """Even if it has types of arrays that this version does not know."""
    header, body = header_and_body(path.read_bytes())
    document = json.loads(header["__metadata__"]["dcpf"])
    header["__metadata__"]["dcpf"] = json.dumps({**document, "version": 2, "library": "9.1"})
    header["new"] = {"dtype": "BF16", "shape": [0], "data_offsets": [0, 0]}
    path.write_bytes(file_of(header, body))
    words = (
        f"written by dcpf 9.1, format version 2; this is dcpf {dcpf.__version__}, which reads up to 1: upgrade dcpf"
    )
    with pytest.raises(ModelFormatError, match=re.escape(words)):
        store.read(path)


# Damage


def changed(**changes: object) -> Callable[[dict[str, Any]], None]:
    return lambda header: header["W"].update(changes)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (changed(dtype="F32"), "its header is wrong"),
        (changed(dtype="I64"), "the header does not match its checksum"),
        (changed(shape=[3, 5]), "the header does not match its checksum"),
        (changed(shape=[5.0, 3]), "its header is wrong"),
        (changed(shape=[2**61 + 15]), "its header is wrong"),
        (changed(data_offsets=[8, 128]), "its header is wrong"),
        (changed(shape=[2**40], data_offsets=[0, 2**43]), "its header is wrong"),
        (lambda header: header.pop("W"), "its header is wrong"),
        (lambda header: header.update(V=header.pop("W")), "the header does not match its checksum"),
        (lambda header: header.update(W=header["b"], b=header["W"]), "the header does not match its checksum"),
        (lambda header: header.update(new={"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}), "checksum"),
    ],
)
def test_a_changed_header_is_refused_in_little_memory(
    path: Path, change: Callable[[dict[str, Any]], None], words: str
) -> None:
    header, body = header_and_body(path.read_bytes())
    change(header)
    path.write_bytes(file_of(header, body))
    assert_refused_in_little_memory(path, words)


@pytest.mark.parametrize(
    ("dtype", "shape"), [("F16", [0]), ("F64", [0] + [1] * 65), ("F64", [2**62, 2, 0]), ("F64", [2**63, 0])]
)
def test_an_array_that_numpy_cannot_hold_is_refused_even_if_the_checksums_agree(
    tmp_path: Path, dtype: str, shape: list[int]
) -> None:
    document = {"format": "dcpf", "version": 1, "library": "1", "checksum": "", "meta": {}}
    text = plain_json({**document, "seal": seal({"a": (dtype, tuple(shape))}, document)})
    array = {"dtype": dtype, "shape": shape, "data_offsets": [0, 0]}
    (tmp_path / "m").write_bytes(file_of({"__metadata__": {"dcpf": text}, "a": array}, b""))
    assert_refused_in_little_memory(tmp_path / "m", "array 'a' has an impossible type or shape")


def assert_refused_in_little_memory(path: Path, words: str) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(ModelFormatError, match=words):
            store.read(path)
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("key", ["format", "version", "library", "checksum", "meta", "seal"])
@pytest.mark.parametrize("value", [None, True, 0, "x", {}, "absent"])
def test_no_part_of_the_metadata_can_be_changed(path: Path, key: str, value: object) -> None:
    header, body = header_and_body(path.read_bytes())
    document = json.loads(header["__metadata__"]["dcpf"])
    document[key] = value
    if value == "absent":
        del document[key]
    header["__metadata__"]["dcpf"] = json.dumps(document)
    path.write_bytes(file_of(header, body))
    with pytest.raises(ModelFormatError):
        store.read(path)


def test_a_body_that_is_cut_or_longer_is_refused_and_a_changed_one_fails_to_verify(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[:-1])
    with pytest.raises(ModelFormatError, match="damaged: cut short"):
        store.read(path)
    path.write_bytes(data + b"\0")
    with pytest.raises(ModelFormatError, match="damaged: cut short, or its header is wrong"):
        store.read(path)
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    store.read(path)
    with pytest.raises(
        ModelFormatError, match=f"{re.escape(str(path))}: the file is damaged: the arrays do not match the checksum"
    ):
        store.verify(path)


def same_or_refused(data: bytes) -> None:
    """What is made of these bytes is the original content, or a ModelFormatError: no third, and no large memory."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m"
        path.write_bytes(data)
        tracemalloc.start()
        try:
            store.verify(path)
            arrays, meta = store.read(path)
        except ModelFormatError as error:
            assert "\n" not in str(error)
        else:
            assert_same(arrays, content())
            assert meta == META
        finally:
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        assert peak < 2_000_000


with tempfile.TemporaryDirectory() as _folder:
    store.write(Path(_folder) / "m", content(), META)
    GOOD = (Path(_folder) / "m").read_bytes()
TOKENS = list(re.finditer(rb'-?\d+|\\*"|[\[\]{},:]|\w+', GOOD[8 : -len(header_and_body(GOOD)[1])]))
WORDS = (
    b'0 -1 1 1.0 1e999 NaN null true [] {} "" "F32" "I8" \\" \\\\ 18446744073709551616 9223372036854775807 , : { ['
)
places = st.integers(0, len(GOOD))


@given(st.lists(st.tuples(places, places, st.binary(max_size=4)), min_size=1, max_size=3))
@settings(max_examples=150, deadline=None)
def test_random_damage_is_found(changes: list[tuple[int, int, bytes]]) -> None:
    data = GOOD
    for place, length, put in changes:
        data = data[:place] + put + data[place + length % 6 :]
    same_or_refused(data)


@given(places, st.integers(0, 7))
@settings(max_examples=150, deadline=None)
def test_a_flipped_bit_is_found(place: int, bit: int) -> None:
    place = min(place, len(GOOD) - 1)
    same_or_refused(GOOD[:place] + bytes([GOOD[place] ^ 1 << bit]) + GOOD[place + 1 :])


@given(places)
@settings(max_examples=100, deadline=None)
def test_a_cut_file_is_found(place: int) -> None:
    same_or_refused(GOOD[:place])


@given(st.lists(st.tuples(st.sampled_from(TOKENS), st.sampled_from(WORDS.split())), min_size=1, max_size=2))
@settings(max_examples=150, deadline=None)
def test_a_forged_header_of_the_right_length_is_found(changes: list[tuple[re.Match[bytes], bytes]]) -> None:
    text, body = GOOD[8 : -len(header_and_body(GOOD)[1])], header_and_body(GOOD)[1]
    for token, put in sorted(changes, key=lambda change: -change[0].start()):
        text = text[: token.start()] + put + text[token.end() :]
    same_or_refused(file_of(text, body))


def test_facts_have_size_and_versions(path: Path) -> None:
    assert store.facts(path) == {
        "path": str(path),
        "bytes": path.stat().st_size,
        "format": 1,
        "dcpf": dcpf.__version__,
    }
