"""dcpf similar: items that the same users have, or users of the same taste."""

from typing import Annotated

import typer

from dcpf.cli.inputs import Json, Model, catalogue, check_least, find_items, find_users, load
from dcpf.cli.output import console, heading, print_json, ranking, records


def similar(
    model: Model,
    item: Annotated[str | None, typer.Option(help="To which item, by id or name.")] = None,
    user: Annotated[str | None, typer.Option(help="Or to which user.")] = None,
    n: Annotated[int, typer.Option("-n", help="How many.")] = 10,
    json: Json = False,
) -> None:
    """Find similar items, or similar users."""
    check_least(n=(n, 1))
    if (item is None) == (user is None):
        raise ValueError("similar to what? Give --item or --user, one of them")
    fitted = load(model)
    items, scale = catalogue(fitted), "1 is the same, 0 has nothing in common"
    if item is not None:
        one = find_items(fitted, [item])[0]
        found = fitted.similar_items(one, n).to_frame()
        title = f"Similar to {items.named(int(items.ids.positions([one], 'item')[0]))}"
        if fitted.excitation_ is not None:
            scale = "sessions that one brings of the other, there and back"
    else:
        one = find_users(fitted, None, [str(user)])[0]
        found = fitted.similar_users(one, n).to_frame()
        title = f"Of a taste similar to {one}"
    if json:
        print_json(records(found))
        return
    screen = console()
    heading(screen, f"{title} ({scale})")
    if found.height == 0:
        screen.print("Nothing goes with it, as far as these counts tell.")
        return
    screen.print(ranking(found, {"similarity": [f"{one:.3f}" for one in found["similarity"]]}))
