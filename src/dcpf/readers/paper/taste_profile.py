"""Taste Profile, the plays of a million users that The Echo Nest gave to the Million Song Dataset."""

from pathlib import Path

from dcpf.counts import Counts
from dcpf.counts.rows import BadRows, CountsBuilder
from dcpf.readers.paper.dataset import DataSet, Figures, Progress
from dcpf.readers.paper.lines import OriginalLines

_COLUMNS = {"user": 0, "item": 1, "count": 2}
_PATTERNS = {"user": "^[0-9a-f]{40}$", "item": "^SO[0-9A-Z]{16}$", "count": "^[0-9]+$"}


def load(path: Path, progress: Progress | None = None) -> Counts:
    """All plays of train_triplets.txt, or of its .zip: 48,373,586 lines of user, song and play count."""
    lines = OriginalLines(TASTE_PROFILE, _COLUMNS, len(_COLUMNS))
    bad = BadRows(hint=TASTE_PROFILE.expected)
    builder = CountsBuilder(str(path), ("string", "string"), bad)
    for rows in lines.rows(path, _PATTERNS, bad, progress):
        builder.add(rows)
    return builder.finish((TASTE_PROFILE.told(lines.number),))


TASTE_PROFILE = DataSet(
    name="taste-profile",
    title="Taste Profile",
    what="how often users played songs",
    file="train_triplets.txt",
    page="http://millionsongdataset.com/tasteprofile/",
    lines=48_373_586,
    row="a user of 40 hexadecimal digits, a song such as SOAKIMP12A8C130995 and a number of plays, parted by tabs",
    load=load,
    paper=Figures(16_301, 12_118, 1_176_086, 2.66, 25.94),
    drawn=(20_000, 20_000),
    least=20,
)
