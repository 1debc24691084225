import errno
import os

import numpy as np
import pytest

from dcpf import memory


@pytest.fixture(autouse=True)
def sixteen_kilobytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DCPF_MEMORY", "16KB")


@pytest.mark.parametrize("make", [memory.empty, memory.zeros])
def test_small_arrays_are_in_memory_and_large_ones_in_files(make):
    small, large = make(125, np.float64), make((63, 2), np.float64)
    assert small.base is None
    assert large.base is not None
    for array in (small, large):
        assert array.flags.writeable
        assert array.flags.c_contiguous
        array[...] = 7.0
        assert (array == 7.0).all()


def test_a_file_starts_with_zeros():
    assert not memory.zeros((100, 100), np.int32).any()


def test_no_name_is_left(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    array = memory.zeros(10_000, np.float64)
    assert list(tmp_path.iterdir()) == []
    assert array.sum() == 0.0


def test_a_full_disk_is_an_error_that_tells_the_way_out(monkeypatch):
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(OSError, match=r"do not fit into memory, nor into .*: set TMPDIR") as caught:
        memory.empty(10_000, np.float64)
    assert caught.value.errno == errno.ENOSPC


@pytest.mark.parametrize(
    ("given", "size"), [("1000", 1000), ("8GB", 8 * 10**9), ("1.5 mb", 1_500_000), (" 2TB ", 2 * 10**12)]
)
def test_the_variable(monkeypatch, given, size):
    monkeypatch.setenv("DCPF_MEMORY", given)
    assert memory.memory() == size


@pytest.mark.parametrize("given", ["much", "8GiB", "-1", "1e9"])
def test_what_is_no_size_is_refused(monkeypatch, given):
    monkeypatch.setenv("DCPF_MEMORY", given)
    with pytest.raises(ValueError, match=r"DCPF_MEMORY must be a size such as 8GB or 500MB, found '"):
        memory.empty(1, np.float64)


def test_without_the_variable_it_is_that_of_the_machine(monkeypatch):
    monkeypatch.delenv("DCPF_MEMORY")
    assert 10**8 < memory.memory() <= 2**63
