"""A file is replaced whole or not at all, whatever fails and whoever is killed."""

import errno
import os
import stat
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.store.content import META, assert_same, content, names_in, posix, run

from dcpf import store
from dcpf.store import ModelFormatError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "model.safetensors"
    store.write(path, content(), META)
    return path


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
