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


def test_a_fit_whose_arrays_lie_in_files_has_the_same_bits(tmp_path, monkeypatch):
    import dcpf
    from dcpf.simulation import listening_data

    counts = dcpf.Counts.from_matrix(listening_data(np.random.default_rng(0), n_users=300, n_songs=100).counts)
    counts.to_frame().write_parquet(tmp_path / "counts.parquet")

    def fitted(memory):
        monkeypatch.setenv("DCPF_MEMORY", memory)
        model = dcpf.DCPF(6, random_state=0, max_iter=30, tol=0.0).fit(dcpf.read_counts(tmp_path / "counts.parquet"))
        model.save(tmp_path / memory)
        return (tmp_path / memory).read_bytes(), model

    in_memory, _ = fitted("8GB")
    in_files, model = fitted("50KB")
    assert model.user_posterior_.shape.base is not None  # 300 x 6 floats are more than a sixteenth of that
    assert in_memory == in_files
