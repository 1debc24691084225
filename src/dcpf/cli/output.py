"""What commands print and write: remarks, tables, JSON, and files that are whole or not there."""

import json
import math
import os
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import typer

from dcpf.cli.errors import as_typed

if TYPE_CHECKING:
    import polars as pl
    from rich.console import Console

    from dcpf.counts import Counts

TABLES = (".parquet", ".csv", ".json")  # the kinds of files that tables are written to, by their endings

_FILES = (*TABLES, ".md", ".txt", ".html", ".tex", ".pdf", ".png", ".svg", ".safetensors")  # no ending of a folder
_WIDTH = 80  # where there is no terminal
_NO_LETTERS = ("Cc", "Cs", "Zl", "Zp")  # control characters and line ends, which would act on the terminal


def remark(text: str) -> None:
    """One line on standard error."""
    typer.echo(f"dcpf: {plain(' '.join(text.split()))}", err=True)


def plain(text: object) -> str:
    """A text as it may be shown: an id or a name must not be able to act on the terminal."""
    return "".join("\ufffd" if unicodedata.category(one) in _NO_LETTERS else one for one in str(text))


def console(*, stderr: bool = False, width: int | None = None) -> "Console":
    """Where results go (or remarks): as wide as the terminal, or 80 columns where there is none."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(errors="replace")  # better a question mark than no answer
    made = Console(highlight=False, markup=False, emoji=False, stderr=stderr)
    if not made.is_terminal and "COLUMNS" not in os.environ:
        made.width = _WIDTH
    if width is not None:
        made.width = min(made.width, width)
    return made


def table(*columns: str, words: int = 1) -> Any:
    """A table whose first columns hold words, and the others numbers."""
    from rich import box
    from rich.table import Table

    made = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for j, column in enumerate(columns):
        made.add_column(column, justify="left" if j < words else "right", no_wrap=j >= words)
    return made


def word(value: object) -> Any:
    """A cell of a table, cropped where there is no room for it."""
    from rich.text import Text

    return Text("" if value is None else plain(value), no_wrap=True, overflow="ellipsis")


def ranking(frame: "pl.DataFrame", columns: dict[str, list[str]]) -> Any:
    """A table of ranked items or users: rank, id, name if there are names, and these columns of numbers."""
    words = [name for name in ("user", "item", "name") if name in frame.columns]
    made = table("", *words, *columns, words=1 + len(words))
    made.columns[0].justify = "right"
    made.columns[0].no_wrap = True
    rows = zip(map(str, frame["rank"]), *(map(word, frame[name]) for name in words), *columns.values(), strict=True)
    for row in rows:
        made.add_row(*row)
    return made


def heading(screen: "Console", text: str) -> None:
    """A line in bold."""
    screen.print(plain(text), style="bold")


def numbers(values: Iterable[float], *, percent: bool = False) -> list[str]:
    """A column of numbers with as many decimals as the largest needs for three digits, and one below a thousand."""
    scaled = [100.0 * value if percent else float(value) for value in values]
    largest = max((abs(value) for value in scaled if math.isfinite(value)), default=0.0)
    least = 1 if largest < 1000.0 else 0
    decimals = min(max(least, 2 - math.floor(math.log10(largest))), 9) if largest > 0.0 else least
    end = "%" if percent else ""
    return [f"{value:,.{decimals}f}{end}" if math.isfinite(value) else "-" for value in scaled]


def number(value: float) -> str:
    """One number with three digits or more."""
    return numbers([value])[0]


def tell_notes(counts: "Counts") -> None:
    """What was done to the data on the way here, on standard error."""
    screen = console(stderr=True)
    for note in counts.notes:
        screen.print(f"  {plain(as_typed(note))}", soft_wrap=True)


def print_json(value: Any) -> None:
    """A value for machines, on standard output. What is no number (NaN) is null."""
    ascii_only = (sys.stdout.encoding or "ascii").lower().replace("-", "") != "utf8"
    typer.echo(json.dumps(without_nan(value), ensure_ascii=ascii_only, allow_nan=False, indent=2))


def without_nan(value: Any) -> Any:
    """The same with None for NaN and infinity, which JSON does not know."""
    if isinstance(value, dict):
        return {key: without_nan(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [without_nan(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def size(n_bytes: int) -> str:
    """A number of bytes as people say it."""
    return f"{n_bytes / 1e6:,.1f} MB" if n_bytes >= 1e5 else f"{n_bytes / 1e3:,.1f} kB"


def check_output(path: Path, *, inputs: Sequence[Path | None] = (), endings: Sequence[str] = ()) -> None:
    """Refuse what cannot be written to, or should not be, before any work is done for it."""
    for one in inputs:
        if one is not None and (path.samefile(one) if path.exists() and one.exists() else _same_name(path, one)):
            raise ValueError(f"{path} is read by this command, and would be overwritten; choose another name")
    if endings and path.suffix.lower() not in endings:
        wanted = ", ".join(filter(None, endings))
        raise ValueError(f"{path}: the ending must be one of {wanted}, found {path.suffix or 'none'!r}")
    if path.is_dir():
        raise ValueError(f"{path} is a folder; name a file in it")
    if path.exists() and not path.is_file():
        raise ValueError(f"{path} is not a regular file; name another one")
    folder = path.parent
    if not folder.is_dir():
        raise ValueError(f"{path}: there is no folder {folder}; make it first")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise ValueError(f"{path}: nothing may be written to the folder {folder}; choose another one")


def _same_name(path: Path, other: Path) -> bool:
    return path.absolute().parent.resolve() / path.name == other.absolute().parent.resolve() / other.name


def check_folder(path: Path) -> None:
    """Refuse a folder that is none, or cannot be made, or not be written to, or that is called like a file."""
    if path.suffix.lower() in _FILES and not path.is_dir():
        raise ValueError(f"{path} is to be a folder, and has the name of a {path.suffix} file; choose another one")
    there = next(one for one in (path, *path.absolute().parents) if one.exists())
    if not there.is_dir():
        raise ValueError(f"{path}: {there} is no folder; choose another one")
    if not os.access(there, os.W_OK | os.X_OK):
        raise ValueError(f"{path}: nothing may be written to the folder {there}; choose another one")


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """A file to write to, which takes the place of an old one when it is complete, and is gone when it fails."""
    from dcpf.store import replacing

    with replacing(path) as draft, draft.open("wb") as file:
        yield file


def write_frames(path: Path, frames: Iterable["pl.DataFrame"]) -> int:
    """Tables of the same columns, one after another, as one Parquet, CSV or JSON file. Returns how many rows."""
    rows = 0
    with whole_file(path) as file:
        if path.suffix.lower() == ".parquet":
            rows = _write_parquet(file, frames)
        elif path.suffix.lower() == ".csv":
            for j, frame in enumerate(frames):
                file.write(frame.write_csv(include_header=j == 0).encode())
                rows += frame.height
        else:
            for frame in frames:
                lines = [json.dumps(one, ensure_ascii=False, allow_nan=False) for one in records(frame)]
                file.write((("[\n" if rows == 0 else ",\n") + ",\n".join(lines)).encode() if lines else b"")
                rows += len(lines)
            file.write(b"\n]\n" if rows else b"[]\n")
    return rows


def _write_parquet(file: IO[bytes], frames: Iterable["pl.DataFrame"]) -> int:
    import io

    import polars as pl

    whole = pl.concat(frames)
    packed = io.BytesIO()
    whole.write_parquet(packed)
    file.write(packed.getbuffer())  # by Python, whose errors name the cause
    return whole.height


def records(frame: "pl.DataFrame") -> list[dict[str, Any]]:
    """The rows of a table, None where there is no number."""
    return [without_nan(row) for row in frame.to_dicts()]
