"""Options that several commands have, each with its help."""

from pathlib import Path
from typing import Annotated

import typer

Model = Annotated[Path, typer.Argument(metavar="MODEL", show_default=False, help="A model written by dcpf fit.")]
History = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Counts of users, known or new: all that they have by now, in place of what the model knew.",
    ),
]
UserColumn = Annotated[
    str | None, typer.Option(metavar="NAME", help="Column of the users, by name or number from 0.")
]
ItemColumn = Annotated[str | None, typer.Option(metavar="NAME", help="Column of the items.")]
CountColumn = Annotated[str | None, typer.Option(metavar="NAME", help="Column of the counts.")]
MinPerUser = Annotated[int, typer.Option(help="Drop users with fewer items.")]
MinPerItem = Annotated[int, typer.Option(help="Drop items with fewer users.")]
Threads = Annotated[int | None, typer.Option(help="Threads to use.  [default: all cores]")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
