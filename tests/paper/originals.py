"""Small files in the formats of the originals, and what they hold."""

import gzip
import hashlib
import io
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from dcpf.counts import Counts

TRIPLETS = "train_triplets.txt"
PLAYS = "userid-timestamp-artid-artname-traid-traname.tsv"
WORDS = "NIPS_1987-2015.csv"

Sums = dict[tuple[Any, Any], int]


def user(j: int) -> str:
    """A user of Taste Profile."""
    return hashlib.sha1(f"user {j}".encode()).hexdigest()


def song(j: int) -> str:
    """A song of Taste Profile."""
    return f"SO{hashlib.sha1(f'song {j}'.encode()).hexdigest()[:16].upper()}"


def triplets(users: int = 30, items: int = 25, seed: int = 0) -> tuple[str, Sums]:
    """Lines of train_triplets.txt, and the counts in them: most pairs are there."""
    rng = np.random.default_rng(seed)
    counts = rng.geometric(0.4, (users, items)) * (rng.random((users, items)) < 0.9)
    sums = {(user(u), song(i)): int(counts[u, i]) for u, i in zip(*np.nonzero(counts), strict=True)}
    return "".join(f"{u}\t{i}\t{y}\n" for (u, i), y in sums.items()), sums


def play(user: int, time: str, artist: str, track: str, track_id: str = "") -> str:
    """A line of Last.fm 1K."""
    return f"user_{user:06}\t{time}\tan-artist\t{artist}\t{track_id}\t{track}\n"


def words(counts: Any, header: list[str] | None = None) -> str:
    """The table of NIPS with these counts, words by papers, in the quotes of R."""
    counts = np.asarray(counts)
    papers = header or [f"{1987 + j // 2}_{j}" for j in range(counts.shape[1])]
    lines = [",".join(['""', *(f'"{paper}"' for paper in papers)])]
    lines += [",".join([f'"word{j}"', *map(str, row)]) for j, row in enumerate(counts.tolist())]
    return "\n".join(lines) + "\n"


def sums(counts: Counts) -> Sums:
    """Counts by user and item."""
    coo = counts.matrix.tocoo()
    users, items = counts.users.at(coo.row), counts.items.at(coo.col)
    return dict(zip(zip(users, items, strict=True), coo.data.tolist(), strict=True))


def write(folder: Path, name: str, content: str | bytes, packing: str = "") -> Path:
    """The file as it is, or as it may be downloaded: "gz", "zip", "tar" or "tar.gz", in a folder with others."""
    data = content.encode() if isinstance(content, str) else content
    path = folder / (f"download.{packing}" if packing else name)
    if packing == "zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("README.txt", "read me")
            archive.writestr(f"__MACOSX/._{name}", b"\0\0")
            archive.writestr(f"data/{name}", data)
    elif packing.startswith("tar"):
        with tarfile.open(path, "w:gz" if packing.endswith("gz") else "w") as tar:
            for member, bytes_ in (("data/README.txt", b"read me"), (f"data/{name}", data)):
                info = tarfile.TarInfo(member)
                info.size = len(bytes_)
                tar.addfile(info, io.BytesIO(bytes_))
    else:
        path.write_bytes(gzip.compress(data) if packing == "gz" else data)
    return path
