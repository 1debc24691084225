"""dcpf recommend: items for some users, or for all."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import dcpf
from dcpf.cli.files import TABLES, check_output, write_frames
from dcpf.cli.options import (
    DEFAULT_READING,
    History,
    Json,
    Model,
    ReadingOptions,
    Threads,
    check_least,
    grouped,
)
from dcpf.cli.output import (
    console,
    format_number,
    format_numbers,
    print_heading,
    print_json,
    print_note,
    progress_bar,
    ranked_table,
    rows_of,
)
from dcpf.text import plural

if TYPE_CHECKING:
    from dcpf.counts import Counts, Id
    from dcpf.model import FittedModel
    from dcpf.model.recommendation import Recommendations

_BLOCK = 32_768  # users at once
_TOP = 3  # items of the history that are shown


@grouped
def recommend(
    model: Model,
    user: Annotated[list[str] | None, typer.Option(metavar="USER", help="User to recommend to; repeatable.")] = None,
    everyone: Annotated[
        bool, typer.Option("--all", help="Recommend to all users: of --history if given, else of the model.")
    ] = False,
    n: Annotated[int, typer.Option("-n", help="Number of items for each user.")] = 10,
    history: History = None,
    reading: ReadingOptions = DEFAULT_READING,
    include_seen: Annotated[
        bool, typer.Option("--include-seen", help="Also recommend items that the user already has.")
    ] = False,
    allow: Annotated[
        list[str] | None, typer.Option(metavar="ITEM", help="Recommend only this item, by id or name; repeatable.")
    ] = None,
    deny: Annotated[
        list[str] | None, typer.Option(metavar="ITEM", help="Never recommend this item, by id or name; repeatable.")
    ] = None,
    unknown: Annotated[
        str, typer.Option(metavar="raise|popular", help="For an unknown user: fail, or recommend popular items.")
    ] = "raise",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write a table: .parquet, .csv or .json.")
    ] = None,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Recommend items to users, best first."""
    check_least(n=(n, 1), threads=(threads, 1))
    if bool(user) == everyone:
        hint = ", not both" if everyone else " (for all users)"
        raise ValueError(f"give --user (once or several times) or --all{hint}")
    if everyone and output is None and not json:
        raise ValueError("--all makes a long table: write it with -o (.parquet, .csv or .json), or use --json")
    if output is not None:
        if json:
            raise ValueError("-o and --json exclude each other: choose one of them")
        check_output(output, inputs=(model, history), endings=TABLES)
    if unknown not in ("raise", "popular"):
        raise ValueError(f"--unknown must be raise or popular, found {unknown!r}")
    fitted = dcpf.load(model)
    question = _Question(
        fitted,
        None if history is None else _known_items(fitted, reading.read(history)),
        {
            "n": n,
            "exclude_seen": not include_seen,
            "allow": None if allow is None else [fitted.catalogue.find(item) for item in allow],
            "deny": None if deny is None else [fitted.catalogue.find(item) for item in deny],
            "unknown": unknown,
            "n_jobs": threads,
        },
    )
    users: list[Id] | None = list(dict.fromkeys(user)) if user else None
    if output is not None:
        rows = write_frames(output, (lists.to_frame() for lists in question.blocks(users)))
        print_note(f"{plural(rows, 'row')} written to {output}")
    elif json:
        print_json([row for lists in question.blocks(users) for row in rows_of(lists.columns())])
    else:
        question.show(users or [])


def _known_items(model: "FittedModel", history: "Counts") -> "Counts":
    """The counts of items that the model knows; the others are left out once, with one warning."""
    from dcpf.model.users import counts_of

    return counts_of(model, history)


class _Question:
    """A model, fresh counts if there are any, and what to recommend."""

    def __init__(self, model: "FittedModel", history: "Counts | None", options: dict[str, Any]) -> None:
        self._model = model
        self._history = history
        self._options = options

    def blocks(self, users: "list[Id] | None") -> Iterator["Recommendations"]:
        """The lists of these users, or of all, for some users at a time."""
        if users is None:
            users = list(self._model.users if self._history is None else self._history.users)
        with progress_bar("recommending") as progress:
            for start in range(0, len(users), _BLOCK):
                progress(start, len(users))
                yield self._lists(users[start : start + _BLOCK])

    def show(self, users: "list[Id]") -> None:
        """Print a table for each of these users."""
        screen, lists = console(), self._lists(users)
        columns, ends = lists.columns(), lists.ranked.indptr.tolist()
        for j, user in enumerate(lists.asked):
            print_heading(screen, self._about(user))
            rows = slice(ends[j], ends[j + 1])
            if rows.start == rows.stop:
                screen.print("Nothing is left to recommend.")
                continue
            shown = {name: values[rows] for name, values in columns.items() if name != "user"}
            numbers = {
                "expected\nsessions": format_numbers(shown["sessions"]),
                "expected\ncount": format_numbers(shown["count"]),
                "probability\nof any": format_numbers(shown["probability"], percent=True),
            }
            screen.print(ranked_table(shown, numbers))

    def _lists(self, users: "list[Id]") -> "Recommendations":
        return self._model.recommend(users, history=self._history, **self._options)

    def _about(self, user: "Id | None") -> str:
        """The user's history in a line."""
        from dcpf.model.explanation import history_of

        model = self._model
        is_fresh = self._history is not None and user in self._history.users
        if not is_fresh and user not in model.users:
            return f"User {user} is unknown; popular items instead"
        if not is_fresh and model.history is None:
            return f"User {user}"
        counts, sessions = history_of(model, user, self._history if is_fresh else None)
        has = f"User {user} has {plural(counts.nnz, 'item')}"
        if not counts.nnz:
            return f"{has}; popular items instead"
        order = sorted(range(counts.nnz), key=lambda j: (-sessions[j], -counts.data[j]))[:_TOP]
        top = ", ".join(
            f"{model.catalogue.named(int(counts.indices[j]))} {format_number(sessions[j])} ({counts.data[j]:,})"
            for j in order
        )
        return f"{has}; most sessions (and count): {top}"
