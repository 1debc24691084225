"""An original is read as it was downloaded; what is something else is named, with the way to the right file."""

from pathlib import Path

import pytest
from tests.paper import originals
from tests.paper.originals import PLAYS, TRIPLETS, WORDS

from dcpf.counts import InvalidCounts
from dcpf.paper.data_sets import DATA_SETS
from dcpf.paper.original_file import Original

CONTENTS = {
    "taste-profile": (TRIPLETS, originals.triplets(3, 4)[0]),
    "lastfm": (PLAYS, "".join(originals.play(u, "2008-01-01T00:00:00Z", "A", f"t{u}") for u in range(5))),
    "nips": (WORDS, originals.words([[1, 0, 2], [0, 3, 0]])),
}
PACKINGS = ["", "gz", "zip", "tar", "tar.gz"]

by_name = pytest.mark.parametrize("name", CONTENTS)


def test_each_data_set_is_tried_here() -> None:
    assert set(CONTENTS) == set(DATA_SETS)
    assert all(CONTENTS[name][0] == data.original.file for name, data in DATA_SETS.items())


@by_name
@pytest.mark.parametrize("packing", PACKINGS[1:])
def test_packing_makes_no_difference(tmp_path: Path, name: str, packing: str) -> None:
    data = DATA_SETS[name].original
    plain = data.load(originals.write(tmp_path, *CONTENTS[name]), None)
    packed = data.load(originals.write(tmp_path, *CONTENTS[name], packing), None)
    assert originals.sums(packed) == originals.sums(plain)
    assert (packed.names, packed.notes) == (plain.names, plain.notes)


@by_name
def test_a_missing_file_is_told_with_where_to_get_it(tmp_path: Path, name: str) -> None:
    data = DATA_SETS[name].original
    with pytest.raises(FileNotFoundError) as error:
        data.load(tmp_path / "nothing", None)
    assert str(error.value) == f"{tmp_path / 'nothing'}: there is no such file; download {data.file} from {data.page}"


def refused(data: Original, path: Path) -> str:
    with pytest.raises(InvalidCounts) as error:
        data.load(path, None)
    text = str(error.value)
    assert text.startswith(str(path))
    assert "\n" not in text
    assert data.file in text
    return text


PAGES = {
    "html": b"<!DOCTYPE html>\n<html><body>404</body></html>",
    "blank first": b"\n\n  <html>\n",
    "comment first": b"<!-- x -->\n<HTML>",
    "xml": b'<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>',
}


@by_name
@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
@pytest.mark.parametrize("packing", PACKINGS)
def test_a_web_page_instead_of_the_file_is_told(tmp_path: Path, name: str, page: bytes, packing: str) -> None:
    data = DATA_SETS[name].original
    assert "is a web page, not the data; download" in refused(
        data, originals.write(tmp_path, data.file, page, packing)
    )


@by_name
@pytest.mark.parametrize("packing", ["zip", "tar", "tar.gz"])
def test_another_archive_is_told_with_what_is_in_it(tmp_path: Path, name: str, packing: str) -> None:
    told = refused(DATA_SETS[name].original, originals.write(tmp_path, "kaggle_songs.txt", "1 2\n", packing))
    assert f"no {DATA_SETS[name].original.file} in this archive, only " in told
    assert "kaggle_songs.txt" in told


@by_name
@pytest.mark.parametrize("packing", PACKINGS[1:])
def test_an_archive_that_is_cut_off_is_told(tmp_path: Path, name: str, packing: str) -> None:
    path = originals.write(tmp_path, DATA_SETS[name].original.file, CONTENTS[name][1] * 300, packing)
    whole = path.read_bytes()
    for size in (20, len(whole) // 4, len(whole) // 2, len(whole) * 3 // 4):
        path.write_bytes(whole[:size])
        with pytest.raises(InvalidCounts, match="download") as error:
            DATA_SETS[name].original.load(path, None)
        assert str(error.value).startswith(str(path))


@by_name
def test_a_binary_file_in_an_archive_is_told(tmp_path: Path, name: str) -> None:
    data = DATA_SETS[name].original
    assert "is a binary file" in refused(data, originals.write(tmp_path, data.file, b"PAR1\0\0\1\2", "zip"))
    assert "is empty" in refused(data, originals.write(tmp_path, data.file, b"", "zip"))


@by_name
def test_a_matrix_or_a_folder_is_not_the_file(tmp_path: Path, name: str) -> None:
    data = DATA_SETS[name].original
    assert f"give the path of {data.file} in it" in refused(data, tmp_path)
    matrix = tmp_path / "m.mtx"
    matrix.write_text("%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 1\n")
    assert "%%MatrixMarket" in refused(data, matrix)
    matrix.write_bytes(b"SQLite format 3\0")
    assert "is a binary file" in refused(data, matrix)


@by_name
def test_progress_ends_with_the_whole_file(tmp_path: Path, name: str) -> None:
    path = originals.write(tmp_path, *CONTENTS[name])
    told: list[tuple[int, int]] = []
    DATA_SETS[name].original.load(path, lambda done, total: told.append((done, total)))
    assert told[-1] == (path.stat().st_size, path.stat().st_size)
