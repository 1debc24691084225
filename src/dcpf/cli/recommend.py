"""dcpf recommend: what to recommend to some users, or to all."""

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dcpf.cli.groups import grouped
from dcpf.cli.inputs import (
    History,
    Json,
    Model,
    Threads,
    bar,
    check_least,
    find_items,
    find_users,
    load,
)
from dcpf.cli.output import (
    TABLES,
    check_output,
    console,
    heading,
    number,
    numbers,
    print_json,
    ranking,
    records,
    remark,
    write_frames,
)
from dcpf.cli.reading import USUAL, Reading
from dcpf.text import plural

if TYPE_CHECKING:
    import polars as pl
    from rich.console import Console

    from dcpf.counts import Counts, Id
    from dcpf.model import DCPF

_BLOCK = 32_768  # users at once
_PLAYED = 3  # items of the history that are shown


@grouped
def recommend(
    model: Model,
    user: Annotated[
        list[str] | None, typer.Option(metavar="USER", help="For whom; may be given several times.")
    ] = None,
    everyone: Annotated[
        bool, typer.Option("--all", help="For all users of --history, or else of the model.")
    ] = False,
    n: Annotated[int, typer.Option("-n", help="How many items for each.")] = 10,
    history: History = None,
    reading: Reading = USUAL,
    include_seen: Annotated[
        bool, typer.Option("--include-seen", help="Recommend also what the user already has.")
    ] = False,
    allow: Annotated[
        list[str] | None, typer.Option(metavar="ITEM", help="Recommend only such items, by id or name; repeatable.")
    ] = None,
    deny: Annotated[
        list[str] | None, typer.Option(metavar="ITEM", help="Never recommend this item; repeatable.")
    ] = None,
    unknown: Annotated[
        str,
        typer.Option(metavar="raise|popular", help="What an unknown user is: an error, or shown what is popular."),
    ] = "raise",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write a table: .parquet, .csv or .json.")
    ] = None,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Recommend items to users, best first."""
    check_least(n=(n, 1))
    if bool(user) == everyone:
        wrong = "--user and --all say different things;" if everyone else "for whom?"
        raise ValueError(f"{wrong} give --user (once or several times), or --all")
    if everyone and output is None and not json:
        raise ValueError("--all makes a long table: name a file with -o (.parquet, .csv or .json), or give --json")
    if output is not None:
        if json:
            raise ValueError("-o and --json are two ways to say where the table goes; give one of them")
        check_output(output, inputs=(model, history), endings=TABLES)
    if unknown not in ("raise", "popular"):
        raise ValueError(f"--unknown must be raise or popular, found {unknown!r}")
    fitted = load(model, threads)
    asking = _Asking(
        fitted,
        None if history is None else reading.read_and_tell(history),
        {
            "n": n,
            "exclude_seen": not include_seen,
            "allow": find_items(fitted, allow) if allow else None,
            "deny": find_items(fitted, deny) if deny else None,
            "unknown": unknown,
        },
    )
    users = find_users(fitted, asking.history, list(dict.fromkeys(user))) if user else None
    if output is not None:
        rows = write_frames(output, asking.blocks(users))
        remark(f"{plural(rows, 'row')} written to {output}")
    elif json:
        print_json([row for frame in asking.blocks(users) for row in records(frame)])
    else:
        asking.show(console(), users or [])


class _Asking:
    """A model, fresh counts if there are any, and what is asked of it."""

    def __init__(self, model: "DCPF", history: "Counts | None", wishes: dict[str, Any]) -> None:
        self._model = model
        self.history = history
        self._wishes = wishes

    def blocks(self, users: "list[Id] | None") -> Iterator["pl.DataFrame"]:
        """Tables for some users at a time, or for all of them."""
        if users is None:
            users = list(self._model.users_ if self.history is None else self.history.users)
        with bar("recommending") as progress:
            for start in range(0, len(users), _BLOCK):
                progress(start, len(users))
                yield self._frame(users[start : start + _BLOCK])

    def show(self, screen: "Console", users: "list[Id]") -> None:
        """A table for each of these users."""
        frame = self._frame(users)
        for user in users:
            _show(screen, self._about(user), frame.filter(frame["user"] == user))

    def _frame(self, users: "list[Id]") -> "pl.DataFrame":
        return self._model.recommend(users, history=self.history, **self._wishes).to_frame()

    def _about(self, user: "Id") -> str:
        """The user's history in a line."""
        model, fresh = self._model, self.history is not None and user in self.history.users
        if not fresh and user not in model.users_:
            return f"User {user} is unknown: this is what is popular"
        if not fresh and model.history_ is None:
            return f"User {user}"
        with warnings.catch_warnings(action="ignore"):  # said already when the list was made
            why = model.explain(user, model.items_[0], history=self.history if fresh else None)
        order = sorted(range(len(why.items)), key=lambda j: (-why.sessions[j], -why.counts[j]))[:_PLAYED]
        most = [(why.catalogue.named(int(why.items[j])), why.counts[j], why.sessions[j]) for j in order]
        told = ", ".join(f"{name} {number(sessions)} ({count:,})" for name, count, sessions in most)
        has = f"User {user} has {plural(len(why.items), 'item')}"
        return f"{has}; most sessions (and count): {told}" if most else f"{has}: this is what is popular"


def _show(screen: "Console", about: str, frame: "pl.DataFrame") -> None:
    heading(screen, about)
    if frame.height == 0:
        screen.print("Nothing is left to recommend.")
        return
    columns = {
        "expected\nsessions": numbers(frame["sessions"]),
        "expected\ncount": numbers(frame["count"]),
        "probability\nof any": numbers(frame["probability"], percent=True),
    }
    screen.print(ranking(frame.drop("user"), columns))
