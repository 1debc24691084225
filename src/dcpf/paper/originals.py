"""The three files of the paper as they are published, each read into counts."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from dcpf.counts import Counts, InvalidCounts
from dcpf.counts.checks import LARGEST_COUNT
from dcpf.counts.rows import BadRows, CountsBuilder
from dcpf.paper.original_file import MatchedLines, Original, Progress, opened


def load_taste_profile(path: Path, progress: Progress | None = None) -> Counts:
    """All plays in train_triplets.txt, or in its .zip: 48,373,586 lines of user, song and play count."""
    pattern = r"^(?<user>[0-9a-f]{40})\t(?<item>SO[0-9A-Z]{16})\t(?<count>[0-9]+)\r?$"
    lines = MatchedLines(path, TASTE_PROFILE, pattern)
    collector = CountsBuilder(str(path), ("string", "string"), BadRows(hint=TASTE_PROFILE.expected))
    for table in lines.tables(progress):
        collector.add(lines.rows(table))
    return collector.finish(tuple(lines.notes()))


def load_lastfm(path: Path, progress: Progress | None = None) -> Counts:
    """The plays of 2008 (UTC), with the names of the songs, from the .tsv, or from lastfm-dataset-1K.tar.gz.

    The paper does not define a song. Here it is a track by its MusicBrainz id, or, where a line has no id, by the
    names of artist and track as they are written there. Its name is "artist – track", in the most frequent
    spelling. Up to 100 damaged lines are skipped and counted: other programs count nine among the 19 million.
    """
    pattern = (
        r"^(?<user>user_[0-9]{6})\t(?<time>[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z)"
        r"\t[^\t\x00]*\t(?<artist>[^\t\x00]*)\t(?<track_id>[^\t\x00]*)\t(?<track>[^\t\x00]*)$"
    )
    lines = MatchedLines(path, LASTFM, pattern, skip_up_to=100)
    collector = CountsBuilder(str(path), ("string", "string"), BadRows())
    names: list[pl.DataFrame] = []
    plays = nameless = 0
    for table in lines.tables(progress):
        songs = _with_songs(table.filter(pl.col("time").str.starts_with("2008-")))
        named = songs.filter(pl.col("item") != "")
        plays += named.height
        nameless += songs.height - named.height
        names.append(named.group_by("item", "name").len())
        collector.add(lines.rows(named.select("user", "item", "line")))
    if not plays:
        raise InvalidCounts(f"{path}: no plays of 2008 in its {lines.number:,} lines; wanted {LASTFM.source}")
    notes = [*lines.notes(), f"{plays:,} plays of 2008"]
    notes += [f"{nameless:,} plays without the name of a track left out"] if nameless else []
    return collector.finish(tuple(notes)).with_names(_most_used(pl.concat(names)))


def _with_songs(plays: pl.DataFrame) -> pl.DataFrame:
    """Users, songs and their names; "" for a song with neither an id nor a name."""
    artist, track = (
        pl.col(name).str.strip_chars_end("\r").str.replace_all("\r", " ", literal=True)
        for name in ("artist", "track")
    )
    name = pl.when(track == "").then(pl.lit("")).otherwise(pl.concat_str(artist, track, separator=" – "))
    song = pl.when(pl.col("track_id") != "").then("track_id").otherwise(name)
    return plays.select("user", song.alias("item"), name.alias("name"), "line")


def _most_used(names: pl.DataFrame) -> dict[int | str, str]:
    """The most frequent name of each song; of two, the first in the alphabet."""
    used = names.group_by("item", "name").agg(pl.col("len").sum())
    first = used.sort("item", "len", "name", descending=[False, True, False]).unique("item", keep="first")
    return dict(zip(first["item"].to_list(), first["name"].to_list(), strict=True))


def load_nips(path: Path, progress: Progress | None = None) -> Counts:
    """How often each paper (as a user) has each word (as an item), from NIPS_1987-2015.csv.

    The file is a table of words by papers, zeros included. Papers without any word, and words that no paper has,
    stay: the paper counts them too.
    """
    words: list[str] = []
    blocks: list[sparse.csr_array] = []
    with opened(path, NIPS, progress) as (stream, report):
        line = stream.readline()
        papers = _papers(line, path)
        for line in stream:
            word, _, cells = line.rstrip(b"\r\n").partition(b",")
            words.append(word.strip(b'"').decode(errors="replace"))
            blocks.append(sparse.csr_array(_cells(words[-1], cells, papers, f"{path}:{len(words) + 1}")))
            if len(words) % 100 == 0:
                report()
        report()
    if not words:
        raise InvalidCounts(f"{path}:2: no words below the header{NIPS.expected}")
    NIPS.check_end(path, len(words) + 1, line)
    counts = Counts.from_matrix(sparse.vstack(blocks).T, users=papers, items=words)
    counts = counts.select(counts.users.order, counts.items.order)  # ascending, as in the other data sets
    notes = [NIPS.note(len(words) + 1)]
    empty_papers = int((np.diff(counts.matrix.indptr) == 0).sum())
    unused = counts.shape[1] - len(np.unique(counts.matrix.indices))
    if empty_papers or unused:
        notes.append(
            f"{empty_papers:,} papers without a word and {unused:,} words in no paper (lost in a file of counts)"
        )
    return replace(counts, notes=tuple(notes))


def _papers(header: bytes, path: Path) -> list[str]:
    cells = [cell.strip('"') for cell in header.rstrip(b"\r\n").decode(errors="replace").split(",")]
    for paper in cells[1:] or cells:
        year, _, number = paper.partition("_")
        if not (len(year) == 4 and year.isdecimal() and number.isdecimal()):
            wanted = "which has papers such as 1987_1"
            raise InvalidCounts(f"{path}:1: {paper[:40]!r} in the header, {wanted}{NIPS.expected}")
    return cells[1:]


def _cells(word: str, cells: bytes, papers: list[str], place: str) -> NDArray[np.int64]:
    """The counts of a word in each paper, as a row."""
    whole_numbers = not cells.translate(None, b"0123456789,") and b",," not in b"," + cells + b","
    counts = np.fromstring(cells, dtype=np.int64, sep=",") if whole_numbers else np.empty(0, dtype=np.int64)
    if word and "\ufffd" not in word and len(counts) == len(papers) and counts.max() <= LARGEST_COUNT:
        return counts[np.newaxis]
    texts = cells.split(b",")
    if not word or "\ufffd" in word:
        why = f"the word is {word!r}"
    elif len(texts) != len(papers):
        why = f"{len(texts):,} counts where the header has {len(papers):,} papers"
    else:
        at = next(j for j, text in enumerate(texts) if not text.isdigit() or int(text) > LARGEST_COUNT)
        shown = texts[at][:40].decode(errors="backslashreplace")
        why = f"the count of {word!r} in paper {papers[at]} is {shown!r}"
    raise InvalidCounts(f"{place}: {why}{NIPS.expected}")


TASTE_PROFILE = Original(
    file="train_triplets.txt",
    page="http://millionsongdataset.com/tasteprofile/",
    lines=48_373_586,
    line="a user of 40 hexadecimal digits, a song such as SOAKIMP12A8C130995 and a number of plays, "
    "separated by tabs",
    load=load_taste_profile,
)
LASTFM = Original(
    file="userid-timestamp-artid-artname-traid-traname.tsv",
    page="http://ocelma.net/MusicRecommendationDataset/lastfm-1K.html",
    lines=19_150_868,
    line="a user such as user_000001, a time such as 2009-05-04T23:08:57Z, and id and name of artist and track, "
    "separated by tabs",
    load=load_lastfm,
)
NIPS = Original(
    file="NIPS_1987-2015.csv",
    page="https://archive.ics.uci.edu/dataset/371/nips+conference+papers+1987+2015",
    lines=11_464,
    line="a word and its count in each paper, separated by commas",
    load=load_nips,
)
