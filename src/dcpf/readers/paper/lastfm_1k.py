"""Last.fm 1K, all that a thousand users had listened to until 2009, collected by Oscar Celma."""

from pathlib import Path

import polars as pl

from dcpf.counts import Counts, InvalidCounts
from dcpf.counts.rows import CountsBuilder, Rows
from dcpf.readers.paper.dataset import DataSet, Figures, Progress
from dcpf.readers.paper.lines import FewBadRows, OriginalLines, kept

YEAR = 2008

_COLUMNS = {"user": 0, "time": 1, "artist": 3, "track_id": 4, "track": 5}  # 2 is the artist's id
_WIDTH = 6
_PATTERNS = {"user": "^user_[0-9]{6}$", "time": "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$"}
_MOST_DAMAGED = 100  # lines; other programs count nine among 19 million
_BETWEEN = " – "

# Quotes and returns are letters of a name here. Readers of tables see more in them, so they go by in disguise.
_QUOTE, _RETURN = "\x01", "\x02"
_DISGUISE = bytes.maketrans(b'"\r', f"{_QUOTE}{_RETURN}".encode())


def load(path: Path, progress: Progress | None = None) -> Counts:
    """The plays of 2008 (UTC), with the names of the songs, from the .tsv, or from lastfm-dataset-1K.tar.gz.

    The paper does not say what a song is. Here it is a track by its MusicBrainz id, or where a line has no such id,
    by the names of artist and track as they are written there. A song is called "artist – track", by the names that
    it goes by most often. A few damaged lines are passed over and counted.
    """
    lines = OriginalLines(LASTFM, _COLUMNS, _WIDTH, _DISGUISE)
    bad = FewBadRows(_MOST_DAMAGED, LASTFM.expected)
    builder = CountsBuilder(str(path), ("string", "string"), bad)
    names: list[pl.DataFrame] = []
    plays = nameless = 0
    for rows in lines.rows(path, _PATTERNS, bad, progress):
        in_year = kept(rows, rows.frame["time"].str.starts_with(f"{YEAR}-"))
        songs = Rows(_with_songs(in_year.frame), in_year.ref)
        known = kept(songs, songs.frame["item"] != "")
        plays += known.frame.height
        nameless += songs.frame.height - known.frame.height
        names.append(known.frame.group_by("item", "name").len())
        builder.add(Rows(known.frame.select("user", "item"), known.ref))
    if not plays:
        raise InvalidCounts(f"{path}: no plays of {YEAR} in its {lines.number:,} lines; wanted {LASTFM.source}")
    notes = [LASTFM.told(lines.number), f"{plays:,} plays of {YEAR}"]
    notes += [f"{nameless:,} plays without the name of a track left out"] if nameless else []
    return builder.finish(tuple(notes)).with_names(_most_used(pl.concat(names)))


def _with_songs(frame: pl.DataFrame) -> pl.DataFrame:
    """Users, songs and their names; "" for a song that has neither an id nor a name."""
    artist, track = (
        pl.col(name).str.strip_chars_end(_RETURN).str.replace_many([_QUOTE, _RETURN], ['"', " "])
        for name in ("artist", "track")
    )
    name = pl.when(track == "").then(pl.lit("")).otherwise(pl.concat_str(artist, track, separator=_BETWEEN))
    has_id = pl.col("track_id") != ""
    return frame.select("user", pl.when(has_id).then("track_id").otherwise(name).alias("item"), name.alias("name"))


def _most_used(names: pl.DataFrame) -> dict[int | str, str]:
    """The name that goes most often with each song; of two, the first in the alphabet."""
    used = names.group_by("item", "name").agg(pl.col("len").sum())
    first = used.sort("item", "len", "name", descending=[False, True, False]).unique("item", keep="first")
    return dict(zip(first["item"].to_list(), first["name"].to_list(), strict=True))


LASTFM = DataSet(
    name="lastfm",
    title="Last.fm 1K",
    what=f"how often users played tracks in {YEAR}",
    file="userid-timestamp-artid-artname-traid-traname.tsv",
    page="http://ocelma.net/MusicRecommendationDataset/lastfm-1K.html",
    lines=19_150_868,
    row="a user such as user_000001, a time such as 2009-05-04T23:08:57Z, and id and name of artist and track, "
    "parted by tabs",
    load=load,
    paper=Figures(781, 11_172, 402_058, 3.86, 65.72),
    least=20,
)
