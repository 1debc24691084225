"""A file comes back as it was written, is replaced whole or not at all, and is never trusted before it is checked."""

import errno
import io
import json
import os
import pickle
import re
import stat
import subprocess
import sys
import tempfile
import threading
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import dcpf
from dcpf import store
from dcpf.store import ModelFormatError

posix = pytest.mark.skipif(sys.platform == "win32", reason="locks, modes and signals of POSIX")

DTYPES = ["?", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]
META = {"name": "né\n\ud800", "rate": 0.1 + 0.2, "tiny": 5e-324, "deep": [{"a": [1, None, True]}], "large": 2**70}


def content(seed: int = 0) -> dict[str, np.ndarray]:
    """Every type, no axis, no entry, several axes; five bytes of bool make what follows them unaligned."""
    draw = np.random.default_rng(seed)
    arrays = {f"of {dtype}": draw.integers(0, 2, (3, 2)).astype(dtype) for dtype in DTYPES}
    return arrays | {
        "scalar": np.array(2.5),
        "none": np.zeros((0, 4)),
        "W": draw.random((5, 3)),
        "b": np.ones(5, bool),
    }


def assert_same(found: dict[str, np.ndarray], wanted: dict[str, np.ndarray]) -> None:
    assert set(found) == set(wanted)
    for name, array in wanted.items():
        assert found[name].dtype == array.dtype.newbyteorder("=")
        assert found[name].shape == array.shape
        np.testing.assert_array_equal(found[name], array)


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


def names_in(folder: Path) -> list[str]:
    return sorted(found.name for found in folder.iterdir())


def run(code: str, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", **environment},
        capture_output=True,
        text=True,
        check=True,
    )


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
        ({"a": np.zeros(2, "c8")}, {}, TypeError, "array 'a' has type complex64"),
        ({"a": np.zeros(2, "M8[s]")}, {}, TypeError, "array 'a' has type datetime64"),
        ({"a": np.zeros(2, [("x", "f4")])}, {}, TypeError, "array 'a' has type"),
        ({1: np.zeros(2)}, {}, TypeError, "names of arrays must be strings, found 1"),
        ({"__metadata__": np.zeros(2)}, {}, ValueError, "cannot be named '__metadata__'"),
        ({"\ud800": np.zeros(2)}, {}, ValueError, "cannot be named"),
        ({}, {"a": object()}, TypeError, "meta cannot be stored .*object.*; convert"),
        ({}, {"a": np.int64(1)}, TypeError, "meta cannot be stored .*int64.*; convert"),
        ({}, {"a": [float("nan")]}, ValueError, "meta cannot be stored .*; write None"),
        ({}, {"a": float("inf")}, ValueError, "meta cannot be stored .*; write None"),
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


# Whole or not at all


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt(), MemoryError()]
)
@pytest.mark.parametrize(
    "step",
    ["os.fsync", "pathlib.Path.mkdir", "pathlib.Path.replace", "pathlib.Path.chmod", "safetensors.numpy.save_file"],
)
def test_whatever_step_fails_the_old_file_stays_and_nothing_else(
    path: Path, step: str, error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    before = path.read_bytes()
    with monkeypatch.context() as patch, pytest.raises(type(error)) as caught:
        patch.setattr(step, fail)
        store.write(path, content(1), {})
    if isinstance(error, OSError):
        assert caught.value.errno == errno.ENOSPC
        assert str(path) in str(caught.value)
        assert "not saved: No space left on device; free some space" in str(caught.value)
    assert path.read_bytes() == before
    assert names_in(path.parent) == [path.name]


@posix
def test_a_full_disk_is_an_error_and_the_old_file_stays(path: Path) -> None:
    code = """if True:
        import resource, sys, numpy as np
        from dcpf import store
        resource.setrlimit(resource.RLIMIT_FSIZE, (2**18, 2**18))
        try:
            store.write(sys.argv[1], {"a": np.zeros(2**18)}, {})
        except OSError as error:
            print(error.errno, error)
    """
    before = path.read_bytes()
    told = run(code, path).stdout
    assert told.startswith(f"{errno.EFBIG} ")
    assert "free some space" in told
    assert str(path) in told
    assert path.read_bytes() == before
    assert names_in(path.parent) == [path.name]


@posix
def test_a_folder_without_the_right_to_write_is_an_error() -> None:
    code = """if True:
        import os, sys, numpy as np, safetensors.numpy
        from dcpf import store
        if os.geteuid() == 0:
            os.seteuid(65534)  # the superuser may write everywhere
        try:
            store.write(sys.argv[1], {"a": np.zeros(3)}, {})
        except PermissionError as error:
            print(error)
    """
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "m"
        store.write(path, content(), META)
        Path(name).chmod(0o555)
        try:
            told = run(code, path).stdout
            assert "write to a folder that you may change" in told
            assert str(path) in told
            assert names_in(Path(name)) == ["m"]
            store.verify(path)
        finally:
            Path(name).chmod(0o700)


def test_a_missing_folder_a_folder_and_a_file_as_folder_are_errors_that_say_so(path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"make the folder first.*no-such"):
        store.write(path.parent / "no-such" / "m", {}, {})
    with pytest.raises(IsADirectoryError, match="not saved: the path is a folder"):
        store.write(path.parent, {}, {})
    with pytest.raises(NotADirectoryError, match="make the folder first"):
        store.write(path / "m", {}, {})
    store.verify(path)


@posix
def test_a_pipe_is_neither_replaced_nor_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(OSError, match="not a regular file"):
        store.write(pipe, {}, {})
    with pytest.raises(ModelFormatError, match="not a regular file"):
        store.read(pipe)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@posix
def test_a_link_is_written_through(path: Path, tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    link, dangling = tmp_path / "here" / "link", tmp_path / "here" / "dangling"
    link.symlink_to(path)
    dangling.symlink_to(tmp_path / "new")
    for name, target in [(link, path), (dangling, tmp_path / "new")]:
        store.write(name, content(1), {})
        assert name.is_symlink()
        assert not target.is_symlink()
        assert_same(store.read(target)[0], content(1))
        assert_same(store.read(name)[0], content(1))
    assert names_in(tmp_path / "here") == ["dangling", "link"]


@posix
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444, 0o666])
def test_an_old_file_hands_down_its_permissions(path: Path, mode: int) -> None:
    path.chmod(mode)
    store.write(path, content(1), {})
    assert stat.S_IMODE(path.stat().st_mode) == mode


@posix
@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002])
def test_a_new_file_has_the_permissions_of_any_new_file(tmp_path: Path, umask: int) -> None:
    code = "import os, sys; from dcpf import store; os.umask(int(sys.argv[2])); store.write(sys.argv[1], {}, {})"
    run(code, tmp_path / "m", umask)
    assert stat.S_IMODE((tmp_path / "m").stat().st_mode) == 0o666 & ~umask


@pytest.mark.parametrize("name", ["x" * 255, "ü" * 127, "a b'\"$*[?]", ".hidden", "m.lock"])
def test_any_file_name_will_do(tmp_path: Path, name: str) -> None:
    for seed in (0, 1):
        store.write(tmp_path / name, content(seed), {})
    store.verify(tmp_path / name)
    assert names_in(tmp_path) == [name]


@posix
def test_who_has_the_old_file_mapped_keeps_the_old_content(path: Path) -> None:
    old, _ = store.read(path)
    store.write(path, content(1), {})
    assert_same(old, content())
    assert_same(store.read(path)[0], content(1))


@posix
def test_the_file_is_on_the_disk_before_it_has_its_name_and_the_name_before_the_end(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps, sync, replace = [], os.fsync, Path.replace

    def fsync(handle: int) -> None:
        steps.append("folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "file")
        sync(handle)

    def rename(draft: Path, target: Path) -> None:
        steps.append("name")
        replace(draft, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(Path, "replace", rename)
    store.write(path, content(1), {})
    assert steps == ["file", "name", "folder"]


@posix
def test_a_sweep_between_the_making_of_a_lock_and_its_locking_does_no_harm(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fcntl

    lock, sync, swept, locks = fcntl.flock, os.fsync, [], []

    def flock(file: Any, kind: int) -> None:
        if kind == fcntl.LOCK_EX and not swept:
            swept.extend(store.sweep_strays(path))
        lock(file, kind)

    def fsync(handle: int) -> None:
        locks.append([name for name in names_in(path.parent) if name.endswith(".lock")])
        sync(handle)

    monkeypatch.setattr(fcntl, "flock", flock)
    monkeypatch.setattr(os, "fsync", fsync)
    store.write(path, content(1), {})
    assert len(swept) == 1
    assert len(locks[0]) == 1  # a second one, which the sweep did not see
    assert_same(store.read(path)[0], content(1))
    assert names_in(path.parent) == [path.name]


def test_writers_at_the_same_time_leave_the_content_of_one_and_no_stray(path: Path) -> None:
    def write(seed: int) -> None:
        for _ in range(10):
            store.write(path, content(seed), {"seed": seed})

    threads = [threading.Thread(target=write, args=[seed]) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    store.verify(path)
    arrays, meta = store.read(path)
    assert_same(arrays, content(meta["seed"]))
    assert names_in(path.parent) == [path.name]


# Kills

STUCK_WRITER = """if True:
    import os, sys, time, numpy as np
    from dcpf import store
    def stuck(_):
        print("stuck", flush=True)
        time.sleep(600)
    os.fsync = stuck
    store.write(sys.argv[1], {"a": np.zeros(1000)}, {})
"""


@posix
def test_a_living_writer_is_let_be_and_a_killed_one_is_swept(path: Path) -> None:
    writer = subprocess.Popen([sys.executable, "-c", STUCK_WRITER, str(path)], stdout=subprocess.PIPE)
    try:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"stuck\n"
        store.write(path, content(1), {})
        strays = set(names_in(path.parent)) - {path.name}
        assert {Path(name).suffix for name in strays} == {".lock", ".tmp"}
        assert all(name.startswith(f".{path.name}.{writer.pid}-") for name in strays)
        assert store.sweep_strays(path) == []
    finally:
        writer.kill()
        writer.communicate()
    assert set(names_in(path.parent)) - {path.name} == strays
    store.write(path.parent / "another", {}, {})
    assert set(names_in(path.parent)) - {path.name, "another"} == strays  # not theirs
    assert_same(store.read(path)[0], content(1))
    store.write(path, content(2), {})
    assert names_in(path.parent) == ["another", path.name]


@posix
def test_strays_can_be_swept_without_a_write_and_nothing_else_goes(path: Path) -> None:
    stray = path.with_name(f".{path.name}.1-0123456789abcdef.lock")
    stray.touch()
    stray.with_suffix(".tmp").mkdir()
    (stray.with_suffix(".tmp") / "draft").write_bytes(b"x")
    others = [f".{path.name}.1-0123456789abcdeg.lock", f"{path.name}.bak", f".{path.name}", ".tmpAbCdEf"]
    for name in others:
        (path.parent / name).touch()
    assert store.sweep_strays(path) == [stray]
    assert names_in(path.parent) == sorted([*others, path.name])


KILLS = """if True:
    import os, random, signal, sys, time, numpy as np
    from pathlib import Path
    from dcpf import store
    path, draw, strays, last = Path(sys.argv[1]), random.Random(0), 0, 0
    store.write(path, {"a": np.zeros(200_000)}, {"number": 0})
    for _ in range(12):
        child = os.fork()
        if child == 0:
            for number in range(last + 1, 10**9):
                store.write(path, {"a": np.full(200_000, float(number))}, {"number": number})
        time.sleep(draw.uniform(0.02, 0.12))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        store.verify(path)
        arrays, meta = store.read(path)
        assert (arrays["a"] == meta["number"]).all() and meta["number"] >= last
        strays += len(os.listdir(path.parent)) > 1
        last = meta["number"] + 1
        store.write(path, {"a": np.full(200_000, float(last))}, {"number": last})
        assert os.listdir(path.parent) == [path.name], os.listdir(path.parent)
    print(strays, "kills left strays,", last, "writes")
"""


@posix
def test_a_kill_at_any_moment_loses_nothing(tmp_path: Path) -> None:
    assert "writes" in run(KILLS, tmp_path / "m").stdout


# What is not ours


def npz() -> bytes:
    file = io.BytesIO()
    np.savez(file, a=np.zeros(3))
    return file.getvalue()


def npy() -> bytes:
    file = io.BytesIO()
    np.save(file, np.zeros(3))
    return file.getvalue()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "not a dcpf model: it is empty"),
        (b"\x10", "not a dcpf model: it has no safetensors header"),
        (bytes(100), "not a dcpf model: it has no safetensors header"),
        (b"\xff" * 8 + b"{}", "not a dcpf model: it has no safetensors header"),
        (b"user,item,count\nana,song,3\n", "not a dcpf model: it looks like text"),
        ("Größe,ééééé".encode(), "not a dcpf model: it looks like text"),
        *(
            (pickle.dumps({"a": [1.5] * 9}, protocol), "looks like a pickle, which is never")
            for protocol in (2, 3, 4, 5)
        ),
        (npz(), "not a dcpf model: it looks like a zip or .npz archive"),
        (npy(), "not a dcpf model: it looks like a .npy array"),
        (b"PAR1" + bytes(20), "not a dcpf model: it looks like a Parquet file"),
        (b"\x1f\x8b\x08" + bytes(20), "not a dcpf model: it looks like a compressed file"),
        (file_of({}, b""), "not a dcpf model: a safetensors file of another program"),
        (file_of({"__metadata__": {"format": "pt"}}, b""), "not a dcpf model: a safetensors file of another program"),
        (file_of({"__metadata__": {"dcpf": '{"format":"x"}'}}, b""), "not a dcpf model: its format is named 'x'"),
        (file_of({"__metadata__": {"dcpf": "[]"}}, b""), "the metadata is not a JSON object"),
        (file_of({"__metadata__": {"dcpf": "x"}}, b""), "the metadata is not valid JSON"),
        (file_of(b'{"a":1,"a":2}', b""), "'a' comes twice"),
        (file_of(b"{'a':1}", b""), "the header is not valid JSON"),
        (file_of(b'{"a":NaN}', b""), "NaN is not a number of JSON"),
        (file_of(b'{"\xff":1}', b""), "the header is not valid JSON .*utf-8"),
        (file_of(b'{"a":' + b"[" * 200_000 + b"}", b""), "the header is not valid JSON .*recursion"),
        (file_of(b'{"a":' + b"9" * 10_000 + b"}", b""), "the header is not valid JSON"),
        (file_of(b"{}", b"")[:9], "cut short: the header has 2 bytes, but the file has 9"),
        ((99_999_999).to_bytes(8, "little") + b"{}", "cut short: the header has 99,999,999 bytes"),
    ],
)
@pytest.mark.parametrize("check", [store.read, store.verify])
def test_what_is_not_ours_is_named_with_the_file(
    tmp_path: Path, data: bytes, words: str, check: Callable[[Path], object]
) -> None:
    path = tmp_path / "m.safetensors"
    path.write_bytes(data)
    with pytest.raises(ModelFormatError, match=words) as error:
        check(path)
    assert str(error.value).startswith(f"{path}: ")
    assert "\n" not in str(error.value)


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


def test_a_newer_format_says_who_wrote_it_and_what_to_do(path: Path) -> None:
    header, body = header_and_body(path.read_bytes())
    document = json.loads(header["__metadata__"]["dcpf"])
    header["__metadata__"]["dcpf"] = json.dumps({**document, "version": 2, "library": "9.1"})
    header["new"] = {"dtype": "F8_E5M2", "anything": 1}
    path.write_bytes(file_of(header, body))
    words = (
        f"written by dcpf 9.1, format version 2; this is dcpf {dcpf.__version__}, which reads up to 1: upgrade dcpf"
    )
    with pytest.raises(ModelFormatError, match=re.escape(words)):
        store.read(path)


# Lies and damage


def lie(**changes: object) -> Callable[[dict[str, Any]], None]:
    return lambda header: header["W"].update(changes)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lie(dtype="F16"), "array 'W' has the unknown type 'F16'"),
        (lie(dtype=["F64"]), "array 'W' has the unknown type"),
        (lie(dtype="F32"), "array 'W' of shape .* does not fill bytes"),
        (lie(dtype="I64"), "the header does not have its own checksum"),
        (lie(shape=[3, 5]), "the header does not have its own checksum"),
        (lie(shape=[-5, -3]), "impossible shape"),
        (lie(shape=[5.0, 3]), "impossible shape"),
        (lie(shape=[True, 15]), "impossible shape"),
        (lie(shape=15), "impossible shape"),
        (lie(shape=[1] * 65 + [15]), "impossible shape"),
        (lie(shape=[2**61 + 15]), "impossible shape"),
        (lie(shape=[2**40, 2**40, 0]), "impossible shape"),
        (lie(shape=[2**64]), "impossible shape"),
        (lie(shape=[2**40], data_offsets=[0, 2**43]), "begins at byte|cut short"),
        (lie(data_offsets=[0]), "impossible place"),
        (lie(data_offsets=[-8, 112]), "impossible place"),
        (lie(data_offsets=["0", 120]), "impossible place"),
        (lie(data_offsets=[120, 0]), "does not fill"),
        (lie(data_offsets=[8, 128]), "begins at byte"),
        (lie(extra=1), "not described by dtype, shape and data_offsets"),
        (lambda header: header.update(W=None), "not described by"),
        (lambda header: header.pop("W"), "begins at byte"),
        (lambda header: header.update(V=header.pop("W")), "the header does not have its own checksum"),
        (lambda header: header.update(W=header["b"], b=header["W"]), "the header does not have its own checksum"),
        (lambda header: header.update(new={"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}), "own checksum"),
    ],
)
def test_a_header_that_lies_is_refused_without_much_memory(
    path: Path, change: Callable[[dict[str, Any]], None], words: str
) -> None:
    header, body = header_and_body(path.read_bytes())
    change(header)
    path.write_bytes(file_of(header, body))
    assert_refused_in_little_memory(path, words)


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
    with pytest.raises(ModelFormatError, match="cut short: the arrays take"):
        store.read(path)
    path.write_bytes(data + b"\0")
    with pytest.raises(ModelFormatError, match="too long: the arrays take"):
        store.read(path)
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    store.read(path)
    with pytest.raises(ModelFormatError, match=f"{re.escape(str(path))}: the arrays do not have the checksum"):
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


def test_facts_tell_size_and_versions(path: Path) -> None:
    told = store.facts(path)
    assert told == {"path": str(path), "bytes": path.stat().st_size, "format": 1, "dcpf": dcpf.__version__}
