"""Names of items come from a second file, whatever the types of the ids there."""

from pathlib import Path

import polars as pl
import pytest

from dcpf.counts import InvalidCounts
from dcpf.readers import read_counts, read_names


def write(path: Path, content: str) -> Path:
    path.write_text(content)
    return path


@pytest.mark.parametrize(
    "content",
    [
        'id,name\n1,Abba\n2,"Earth, Wind"\n',
        "artistID\tname\turl\n1\tAbba\tx\n2\tEarth, Wind\ty\n",
        'movieId,title,genres\n1,Abba,x\n2,"Earth, Wind",y\n',
        "1;Abba\n2;Earth, Wind\n",
        "nr;wie\n1;Abba\n2;Earth, Wind\n",
        'name,song_id\nAbba,1\n"Earth, Wind",2\n',
    ],
)
def test_ids_and_names_are_found(tmp_path: Path, content: str) -> None:
    if content.startswith("nr"):
        with pytest.raises(InvalidCounts, match=r"one column of item ids and one of their names.*nr, wie"):
            read_names(write(tmp_path / "names", content))
    else:
        assert read_names(write(tmp_path / "names", content)) == {1: "Abba", 2: "Earth, Wind"}


def test_names_in_parquet(tmp_path: Path) -> None:
    pl.DataFrame({"item": ["a", "b", "c"], "title": ["A", None, "C"]}).write_parquet(tmp_path / "names")
    assert read_names(tmp_path / "names") == {"a": "A", "c": "C"}


def test_the_first_of_two_names_stays(tmp_path: Path) -> None:
    assert read_names(write(tmp_path / "names", "id,name\n007,Bond\n007,James\n")) == {"007": "Bond"}


@pytest.mark.parametrize(
    ("items", "ids"),
    [(["1", "2"], ["1", "9"]), (["1", "x"], ["1", "9"]), (["1", "2"], ["1", "y"])],
    ids=["integers", "integers for strings", "strings for integers"],
)
def test_names_find_their_items(tmp_path: Path, items: list[str], ids: list[str]) -> None:
    plays = write(tmp_path / "plays.csv", "user,item,count\n" + "".join(f"u,{one},1\n" for one in items))
    names = write(tmp_path / "names.csv", "id,name\n" + "".join(f"{one},Name {one}\n" for one in ids))
    counts = read_counts(plays, names=names)
    assert [counts.name(0), counts.name(1)] == ["Name 1", items[1]]
    assert counts.notes[-1] == "names for 1 of 2 items"
    assert read_counts(plays, names={"1": "One"} if "x" in items else {1: "One"}).name(0) == "One"


@pytest.mark.parametrize(
    ("content", "words"), [("id,name\n", "no names"), ("a,b,c\n1,2,3\n", "wanted one column|3 columns")]
)
def test_files_without_names_are_errors(tmp_path: Path, content: str, words: str) -> None:
    with pytest.raises(InvalidCounts, match=words):
        read_names(write(tmp_path / "names", content))


def test_of_several_columns_of_ids_the_one_in_the_type_of_the_items_is_taken(tmp_path: Path) -> None:
    table = pl.DataFrame({"code": [0, 1, 2], "id": ["1", "2", "3"], "name": ["Abba", "Blur", "Cure"]})
    table.write_parquet(tmp_path / "names.parquet")
    table.write_csv(tmp_path / "names.csv")
    pl.DataFrame({"user": [7, 7], "item": [0, 1], "count": [1, 2]}).write_parquet(tmp_path / "plays.parquet")
    for names in ("names.parquet", "names.csv"):
        counts = read_counts(tmp_path / "plays.parquet", names=tmp_path / names)
        assert [counts.name(0), counts.name(1)] == ["Abba", "Blur"]
    pl.DataFrame({"user": ["u", "u"], "item": ["1", "3"], "count": [1, 2]}).write_parquet(tmp_path / "spelt.parquet")
    counts = read_counts(tmp_path / "spelt.parquet", names=tmp_path / "names.parquet")
    assert [counts.name(0), counts.name(1)] == ["Abba", "Cure"]


def test_names_that_belong_to_other_items_are_an_error(tmp_path: Path) -> None:
    plays = write(tmp_path / "plays.csv", "user,item,count\nu,a,1\n")
    with pytest.raises(InvalidCounts, match=r"none of its 1 ids is an item.*'a'.*'b'"):
        read_counts(plays, names=write(tmp_path / "names.csv", "id,name\nb,Bee\n"))
