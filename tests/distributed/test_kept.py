"""What a killed driver leaves goes with the next fit; what may be in use stays."""

import platform
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from dcpf.distributed.kept import remove_leftovers, scratch_folder
from dcpf.distributed.storage import Folder

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no locks of this kind")

DRIVER = """
import sys, time
from dcpf.distributed.kept import scratch_folder
from dcpf.distributed.storage import Folder
with scratch_folder(Folder(sys.argv[1]), "a" * 32) as folder:
    (folder / "000010").write("block", b"much")
    print("there", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def prepared(tmp_path: Path) -> Folder:
    folder = Folder(tmp_path)
    folder.write("manifest.json", b"{}")
    return folder


def test_a_folder_goes_with_its_fit(prepared: Folder) -> None:
    with pytest.raises(ZeroDivisionError), scratch_folder(prepared, uuid.uuid4().hex) as folder:
        (folder / "000010").write("block", b"much")
        assert remove_leftovers(prepared) == []
        assert folder.names() == ["000010", "driver"]
        raise ZeroDivisionError
    assert prepared.names() == ["manifest.json"]


def test_that_of_a_driver_goes_only_when_the_driver_is_gone(prepared: Folder) -> None:
    with subprocess.Popen([sys.executable, "-c", DRIVER, prepared.address], stdout=subprocess.PIPE) as driver:
        try:
            assert driver.stdout is not None
            assert driver.stdout.readline() == b"there\n"
            assert remove_leftovers(prepared) == []
            assert len(prepared.names()) == 2
        finally:
            driver.kill()
    assert len(prepared.names()) == 2
    assert remove_leftovers(prepared) == []
    assert prepared.names() == ["manifest.json"]


@pytest.mark.parametrize("said", [f"not-{platform.node()}", "", None])
def test_what_nobody_here_can_tell_of_stays_and_is_named(said: str | None, prepared: Folder) -> None:
    """Of another machine; of a driver that has not locked it yet; without a word."""
    folder = prepared / f"fit-{'b' * 32}"
    folder.write("block", b"much")
    if said is not None:
        folder.write("driver", said.encode())
    (note,) = remove_leftovers(prepared)
    assert note.startswith(f"{folder.address} belongs to a fit that was killed or still runs")
    assert "block" in folder.names()


def test_a_link_to_a_folder_is_not_followed(prepared: Folder, tmp_path: Path) -> None:
    elsewhere = Folder(tmp_path / "elsewhere")
    elsewhere.write("driver", platform.node().encode())
    Path(prepared.path, f"fit-{'c' * 32}").symlink_to(elsewhere.path)
    assert len(remove_leftovers(prepared)) == 1
    assert elsewhere.names() == ["driver"]


def test_folders_of_other_names_stay(prepared: Folder) -> None:
    for name in ("fit-1", "fit-" + "g" * 32, "outfit-" + "a" * 32):
        (prepared / name).write("driver", platform.node().encode())
    before = prepared.names()
    assert remove_leftovers(prepared) == []
    assert prepared.names() == before


def test_without_locks_nothing_is_removed() -> None:
    prepared = Folder(f"memory://{uuid.uuid4().hex}")
    with scratch_folder(prepared, uuid.uuid4().hex) as folder:
        (folder / "000010").write("block", b"much")
        assert len(remove_leftovers(prepared)) == 1
        assert (folder / "000010").names() == ["block"]
    assert prepared.names() == []
