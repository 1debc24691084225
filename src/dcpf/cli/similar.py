"""dcpf similar: items that go together, or users of the same taste."""

from typing import Annotated

import typer

import dcpf
from dcpf.cli.options import Json, Model, check_least
from dcpf.cli.output import console, print_heading, print_json, ranked_table, rows_of


def similar(
    model: Model,
    item: Annotated[str | None, typer.Option(help="Find items similar to this one, by id or name.")] = None,
    user: Annotated[str | None, typer.Option(help="Find users similar to this one.")] = None,
    n: Annotated[int, typer.Option("-n", help="Number of items or users.")] = 10,
    json: Json = False,
) -> None:
    """Find similar items, or similar users."""
    check_least(n=(n, 1))
    if (item is None) == (user is None):
        raise ValueError("similar to what? Give --item or --user, one of them")
    fitted = dcpf.load(model)
    found = fitted.similar_users(user, n) if item is None else fitted.similar_items(item, n)
    columns = found.columns()
    if json:
        print_json(rows_of(columns))
        return
    place = found.catalogue.places([found.asked[0]], found.what)[0]
    by_excitation = item is not None and fitted.part("excitation") is not None
    scale = "mutual excitation" if by_excitation else "cosine similarity, at most 1"
    screen = console()
    print_heading(screen, f"Similar to {found.catalogue.named(int(place))} ({scale})")
    if not columns["rank"].size:
        screen.print("Nothing is similar, as far as these counts tell.")
        return
    screen.print(ranked_table(columns, {"similarity": [f"{value:.3f}" for value in columns["similarity"]]}))
