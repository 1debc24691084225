"""A checkpoint counts from the moment when its manifest is renamed, and not before; damage is found."""

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dcpf
from dcpf.store import CheckpointFolder, ModelFormatError, arrays
from dcpf.store.checkpoints import FILES, MANIFEST

posix = pytest.mark.skipif(sys.platform == "win32", reason="locks of POSIX")


def arrays_of(number: int) -> dict[str, np.ndarray]:
    return {"a": np.full((3, 2), float(number)), "b": np.arange(number)}


def write(folder: CheckpointFolder, number: int) -> None:
    folder.write(number, arrays_of(number), {"said": number})


def assert_holds(folder: CheckpointFolder, number: int) -> None:
    found = folder.read()
    assert found is not None
    arrays, meta = found
    assert meta == {"said": number}
    for name, array in arrays_of(number).items():
        np.testing.assert_array_equal(arrays[name], array)


def names_in(path: Path) -> list[str]:
    return sorted(one.name for one in path.iterdir())


@pytest.fixture
def folder(tmp_path: Path) -> CheckpointFolder:
    (tmp_path / "c").mkdir()
    made = CheckpointFolder(tmp_path / "c")
    write(made, 10)
    return made


def test_the_last_one_comes_back_and_is_the_only_one(folder: CheckpointFolder) -> None:
    for number in (20, 30, 31):
        write(folder, number)
        assert_holds(folder, number)
        assert len(names_in(folder.path)) == 2
        assert MANIFEST in names_in(folder.path)


def test_a_folder_without_one_or_none_at_all_has_none(tmp_path: Path) -> None:
    assert CheckpointFolder(tmp_path).read() is None
    assert CheckpointFolder(tmp_path / "new").manifest() is None


def test_the_arrays_are_on_the_disk_before_the_manifest_names_them(
    folder: CheckpointFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    renamed, replace = [], Path.replace

    def rename(draft: Path, target: Path) -> None:
        replace(draft, target)
        renamed.append(target.name)
        assert_holds(folder, 20 if MANIFEST in renamed else 10)

    monkeypatch.setattr(Path, "replace", rename)
    write(folder, 20)
    assert renamed == [FILES[1], MANIFEST]


@pytest.mark.parametrize(
    "step", ["os.fsync", "pathlib.Path.replace", "pathlib.Path.mkdir", "pathlib.Path.write_text"]
)
@pytest.mark.parametrize("calls", [0, 1, 2, 3])
def test_whatever_step_fails_the_old_checkpoint_stays_or_the_new_one_is_whole(
    folder: CheckpointFolder, step: str, calls: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Failing steps are a full disk; `calls` of them succeed before."""
    module, name = step.rsplit(".", 1)
    owner = os if module == "os" else Path
    real, done = getattr(owner, name), []

    def fail(*given: Any, **more: Any) -> Any:
        done.append(1)
        if len(done) > calls:
            raise OSError(28, "No space left on device")
        return real(*given, **more)

    failed = False
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, fail)
        try:
            write(folder, 20)
        except OSError as error:
            failed = True
            assert str(folder.path) in str(error)
    assert failed == (len(done) > calls)
    found = folder.manifest()
    assert found is not None
    assert found.number == (10 if failed and len(done) < 4 else 20)  # the fourth flushes the manifest's new name
    assert_holds(folder, found.number)
    with folder.opened():
        pass
    assert len(names_in(folder.path)) == 2
    assert_holds(folder, found.number)


def test_what_killed_writers_left_goes_when_the_folder_is_opened(folder: CheckpointFolder) -> None:
    kept = names_in(folder.path)
    arrays.write(folder.path / FILES[1], arrays_of(20), {"number": 20})  # before its manifest was written
    for name in (MANIFEST, *FILES):
        stray = folder.path / f".{name}.1-0123456789abcdef.lock"
        stray.touch()
        stray.with_suffix(".tmp").mkdir()
    folder.check()
    with folder.opened():
        if sys.platform != "win32":
            assert names_in(folder.path) == kept
        assert_holds(folder, 10)


def test_a_folder_that_is_left_empty_goes(tmp_path: Path) -> None:
    folder = CheckpointFolder(tmp_path / "new")
    with folder.opened():
        assert folder.path.is_dir()
    assert names_in(tmp_path) == []
    with folder.opened():
        write(folder, 10)
        folder.clear()
    assert names_in(tmp_path) == []


def test_a_removal_that_is_killed_midway_leaves_no_checkpoint(
    folder: CheckpointFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    unlink = Path.unlink

    def killed(path: Path, missing_ok: bool = False) -> None:
        unlink(path, missing_ok)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Path, "unlink", killed)
        folder.clear()
    assert folder.read() is None
    with folder.opened():
        assert names_in(folder.path) == []


@posix
def test_only_one_at_a_time_has_a_folder_open(folder: CheckpointFolder) -> None:
    with folder.opened():
        with pytest.raises(ValueError, match="another fit writes"), CheckpointFolder(folder.path).opened():
            pass
        assert_holds(folder, 10)
    with folder.opened():
        pass


def test_folders_for_something_else_are_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    with pytest.raises(ValueError, match=r"holds other files than checkpoints, such as 'notes\.txt'"):
        CheckpointFolder(tmp_path).check()
    with pytest.raises(ValueError, match="is no folder"):
        CheckpointFolder(tmp_path / "notes.txt").check()
    with pytest.raises(ValueError, match=r"there is no folder .*nowhere; make it first"):
        CheckpointFolder(tmp_path / "nowhere" / "c").check()


# Damage


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not valid JSON"),
        ("[1]", "not the manifest of a dcpf checkpoint"),
        ('{"format": "other"}', "not the manifest of a dcpf checkpoint"),
        ("[" * 100_000, "not valid JSON"),
        ({"version": 2, "library": "9.1"}, "written by dcpf 9.1, checkpoint version 2; this is dcpf"),
        ({"file": "../../model.safetensors"}, "it names no checkpoint"),
        ({"file": FILES[1]}, "which is not there"),
        ({"number": 11}, "is not the file that the manifest means"),
        ({"number": "10"}, "it names no checkpoint"),
        ({"number": True}, "it names no checkpoint"),
    ],
    ids=lambda one: str(one)[:40],
)
def test_a_manifest_that_is_damaged_or_of_another_version_is_refused(
    folder: CheckpointFolder, text: Any, words: str
) -> None:
    manifest = folder.path / MANIFEST
    if isinstance(text, dict):
        text = json.dumps(json.loads(manifest.read_text()) | text)
    manifest.write_text(text)
    before = names_in(folder.path)
    with pytest.raises(ModelFormatError, match=re.escape(words)) as error:
        folder.read()
    assert str(error.value).endswith(f"remove {folder.path} to start afresh")
    assert "\n" not in str(error.value)
    assert names_in(folder.path) == before


@given(place=st.integers(0, 10_000), bit=st.integers(0, 7), cut=st.booleans())
@settings(max_examples=60, deadline=None)
def test_a_flipped_bit_and_a_cut_are_found(
    place: int, bit: int, cut: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = CheckpointFolder(tmp_path_factory.mktemp("c"))
    write(folder, 10)
    file = folder.path / FILES[0]
    data = bytearray(file.read_bytes())
    place %= len(data)
    data[place] ^= 1 << bit
    file.write_bytes(data[:place] if cut else data)
    try:
        assert_holds(folder, 10)  # some bits of a header mean the same, such as blanks
        assert not cut
    except ModelFormatError as error:
        assert str(file) in str(error)
        assert str(error).endswith("to start afresh")


def test_a_pickle_in_disguise_is_refused(folder: CheckpointFolder) -> None:
    (folder.path / FILES[0]).write_bytes(b"\x80\x04\x95rest of a pickle")
    with pytest.raises(ModelFormatError, match="pickle, which is never loaded"):
        folder.read()


def test_the_manifest_says_who_wrote_it(folder: CheckpointFolder) -> None:
    said = json.loads((folder.path / MANIFEST).read_text())
    assert said == {
        "format": "dcpf-checkpoint",
        "version": 1,
        "library": dcpf.__version__,
        "number": 10,
        "file": FILES[0],
    }
