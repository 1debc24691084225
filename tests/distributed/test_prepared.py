"""Counts in blocks, without rows passing through the driver."""

import platform
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.distributed.conftest import plays

import dcpf
from dcpf.distributed import prepared as prepared_module
from dcpf.distributed.kept import scratch_folder
from dcpf.distributed.prepared import BlockManifest, prepare, read_block, read_counts_of
from dcpf.distributed.storage import Folder
from dcpf.inference.data import Data


class Here:
    """An engine without workers: functions run where they are asked for."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def each(self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]], shared: Any = None) -> list[Any]:
        self.calls.append(function.__name__)
        return [function(shared, *arguments) for arguments in calls]


def prepared(files: Path, engine: Here | None = None, **columns: Any) -> tuple[Folder, BlockManifest]:
    address = f"{files}.dcpf"
    return Folder(address), prepare(str(files), address, engine or Here(), columns)  # type: ignore[arg-type]


def test_the_counts_and_their_blocks_are_those_of_one_machine(files: Path, small_blocks: None) -> None:
    folder, manifest = prepared(files)
    counts = dcpf.read_counts(files)
    again = read_counts_of(folder, manifest)
    assert (again.matrix != counts.matrix).nnz == 0
    assert again.users == counts.users
    assert again.items == counts.items
    data = Data.from_matrix(counts.matrix)
    assert len(data.blocks) > 4
    assert [block.users for block in manifest.blocks] == [one.users.stop - one.users.start for one in data.blocks]
    assert manifest.entries == counts.nnz
    assert manifest.total == counts.matrix.sum()
    assert manifest.counts == tuple(data.counts.tolist())


def test_users_and_items_may_be_strings(files: Path, small_blocks: None) -> None:
    for path in files.iterdir():
        table = pl.read_parquet(path)
        named = table.with_columns(
            pl.format("ü{}", "user").alias("user"), pl.format("item-{}\n", "item").alias("item")
        )
        named.write_parquet(path)
    folder, manifest = prepared(files)
    counts, again = dcpf.read_counts(files), read_counts_of(folder, manifest)
    assert (again.matrix != counts.matrix).nnz == 0
    assert list(again.users) == list(counts.users)
    assert list(again.items) == list(counts.items)


def test_a_user_with_more_than_a_block_has_one_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "plays").mkdir()
    monkeypatch.setattr(prepared_module, "BLOCK_ENTRIES", 40)
    plays().write_parquet(tmp_path / "plays" / "all.parquet")
    folder, manifest = prepared(tmp_path / "plays")
    large = [number for number, block in enumerate(manifest.blocks) if block.entries > 40]
    assert large
    assert all(manifest.blocks[number].users == 1 for number in large)
    ids, matrix = read_block(folder, manifest, large[0])
    assert matrix.nnz == manifest.blocks[large[0]].entries
    assert len(ids) == 1


def test_counts_are_prepared_once_and_again_when_a_file_changes(files: Path, small_blocks: None) -> None:
    engine = Here()
    _, first = prepared(files, engine)
    assert engine.calls == ["_order_file", "_collect_range"]
    assert prepared(files, engine)[1] == first
    assert len(engine.calls) == 2
    plays(seed=5).write_parquet(files / "part-9.parquet")
    _, second = prepared(files, engine)
    assert len(engine.calls) == 4
    assert second.total > first.total


def test_other_columns_are_other_counts(files: Path, small_blocks: None) -> None:
    _, first = prepared(files, user_column="user")
    _, second = prepared(files, user_column="item", item_column="user")
    assert first.shape == second.shape[::-1]


def test_what_was_left_by_a_killed_one_does_not_count(files: Path, small_blocks: None) -> None:
    engine = Here()
    folder, manifest = prepared(files, engine)
    (Path(folder.address) / "manifest.json").unlink()
    assert prepared(files, engine)[1] == manifest
    assert len(engine.calls) == 4
    assert not (Path(folder.address) / "draft").exists()


def test_bad_counts_are_refused_with_their_file(files: Path) -> None:
    pl.DataFrame({"user": [1], "item": [2], "count": [-3]}).write_parquet(files / "part-2.parquet")
    with pytest.raises(dcpf.InvalidCounts, match=r"part-2\.parquet.*-3"):
        prepared(files)


def test_ids_of_two_kinds_are_refused_with_their_files(files: Path) -> None:
    pl.DataFrame({"user": ["a"], "item": [2], "count": [3]}).write_parquet(files / "part-2.parquet")
    with pytest.raises(dcpf.InvalidCounts, match=r"user ids are strings in .*part-2.* and integers in .*part-0"):
        prepared(files)


def test_sums_over_files_above_the_largest_count_are_refused(files: Path) -> None:
    for number in (1, 2):
        rows = {"user": [1], "item": [2], "count": [2**31 - 2]}
        pl.DataFrame(rows).write_parquet(files / f"part-{number}.parquet")
    with pytest.raises(dcpf.InvalidCounts, match=r"user 1 and item 2 sum to .*above 2147483647"):
        prepared(files)


def test_a_folder_without_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(dcpf.InvalidCounts, match="no Parquet file"):
        prepared(tmp_path / "empty")


def test_files_elsewhere_are_fetched(files: Path, small_blocks: None) -> None:
    """Where fsspec reaches: here its file system in memory stands for a store of objects."""
    import fsspec

    memory = fsspec.filesystem("memory")
    for path in files.iterdir():
        memory.pipe_file(f"/bucket/plays/{path.name}", path.read_bytes())
    address = "memory://bucket/plays.dcpf"
    manifest = prepare("memory://bucket/plays", address, Here(), {})  # type: ignore[arg-type]
    counts, again = dcpf.read_counts(files), read_counts_of(Folder(address), manifest)
    assert (again.matrix != counts.matrix).nnz == 0
    memory.rm("/bucket", recursive=True)


def test_arrays_come_back_as_they_were(tmp_path: Path) -> None:
    folder, rng = Folder(tmp_path / "a" / "b"), np.random.default_rng(0)
    arrays = {"x": rng.normal(size=(3, 4)).astype(np.float32), "y": rng.normal(size=5)}
    folder.write_arrays("some", arrays)
    again = folder.read_arrays("some")
    assert {name: (array.dtype, array.tobytes()) for name, array in again.items()} == {
        name: (array.dtype, array.tobytes()) for name, array in arrays.items()
    }
    assert [one.name for one in (tmp_path / "a" / "b").iterdir()] == ["some"]


def test_a_folder_with_other_files_is_never_emptied(files: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years")
    with pytest.raises(ValueError, match=r"mine holds files other .*thesis\.txt.*prepared="):
        prepare(str(files), str(tmp_path / "mine"), Here(), {})  # type: ignore[arg-type]
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "years"


@pytest.mark.skipif(sys.platform == "win32", reason="there are no locks of this kind")
def test_what_a_fit_here_uses_is_not_removed(files: Path, small_blocks: None) -> None:
    folder, first = prepared(files)
    plays(seed=5).write_parquet(files / "part-9.parquet")
    with scratch_folder(folder, "a" * 32):
        before = folder.names()
        with pytest.raises(
            ValueError, match=rf"{folder.address}/fit-a{{32}} belongs to a fit that still runs,.*wait.*prepared="
        ):
            prepared(files)
        assert folder.names() == before
        assert BlockManifest.read(folder) == first
    assert prepared(files)[1] != first


@pytest.mark.parametrize("machine", [f"not-{platform.node()}", None])
def test_what_a_fit_elsewhere_may_use_is_not_removed(machine: str | None, files: Path, small_blocks: None) -> None:
    folder, first = prepared(files)
    plays(seed=5).write_parquet(files / "part-9.parquet")
    left = folder / f"fit-{'b' * 32}"
    left.write("block", b"much")
    if machine is not None:
        left.write("driver", machine.encode())
    said = rf"{left.address} belongs to a fit that was killed or .*remove that folder.*prepared="
    with pytest.raises(ValueError, match=said):
        prepared(files)
    assert BlockManifest.read(folder) == first
    left.remove()
    assert prepared(files)[1] != first


@pytest.mark.skipif(sys.platform == "win32", reason="there are no locks of this kind")
def test_what_a_killed_fit_has_left_here_holds_nothing_up(files: Path, small_blocks: None) -> None:
    folder, first = prepared(files)
    plays(seed=5).write_parquet(files / "part-9.parquet")
    left = folder / f"fit-{'c' * 32}"
    left.write("driver", platform.node().encode())
    assert prepared(files)[1] != first
    assert left.names() == []


def test_what_was_prepared_from_older_files_is_not_taken_for_newer(files: Path, small_blocks: None) -> None:
    from dcpf.distributed.prepared import manifest_of

    folder, first = prepared(files)
    assert manifest_of(folder.address, first.source) == first
    plays(seed=5).write_parquet(files / "part-9.parquet")
    _, second = prepared(files)
    assert manifest_of(folder.address, second.source) == second
