"""dcpf inspect: what a model is and what it has learned."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from dcpf.cli.inputs import Json, Model, check_least, load
from dcpf.cli.output import console, heading, number, numbers, plain, print_json, size, table, word
from dcpf.text import plural

if TYPE_CHECKING:
    from rich.console import Console

    from dcpf.model.describing import Description

_BLOCKS = "▁▂▃▄▅▆▇█"
_POINTS = 40  # of the line that shows how the bound rose


def inspect(
    model: Model,
    components: Annotated[int, typer.Option(help="How many components to show, the largest first.")] = 10,
    n: Annotated[int, typer.Option("-n", help="How many users, items, and items of a component to show.")] = 5,
    json: Json = False,
) -> None:
    """Show what a model is and what it has learned."""
    check_least(components=(components, 1), n=(n, 1))
    about = load(model).describe(components, n)
    from dcpf import store

    file = store.facts(model)
    if json:
        print_json({"file": file, **about.to_dict()})
        return
    screen = console()
    _show_model(screen, about, file)
    _show_bound(screen, about.bounds)
    _show_most(screen, about)
    _show_components(screen, about)


def _show_model(screen: "Console", about: "Description", file: dict[str, Any]) -> None:
    data = about.data
    parameters = ", ".join(f"{name} {value:.4g}" for name, value in about.parameters.items())
    kept = "with its counts" if about.has_history else "without its counts"
    screen.print(plain(file["path"]), style="bold", soft_wrap=True)
    lines = {
        "file": f"{size(file['bytes'])}, format {file['format']}, written by dcpf {file['dcpf']}, {kept}",
        "size": f"{plural(about.users, 'user')} x {plural(about.items, 'item')}, "
        f"{plural(about.components, 'component')}"
        + (f", up to {plural(about.neighbors, 'neighbour')} of an item" if about.neighbors else ""),
        "fitted to": f"{plural(data['entries'], 'count')} up to {data['largest']:,}, in all {data['total']:,}",
        "element": about.element + (f", {parameters}" if parameters else ""),
        "": about.meaning,
    }
    if about.neighbors:
        lines["excitation"] = f"{about.excited:.0%} of all expected sessions are brought by what users have"
    if about.sessions_per_count is not None:
        lines[""] += (
            f" The mean count, {number(data['total'] / data['entries'])}, is read as about "
            f"{number(about.sessions_per_count)} sessions."
        )
    from rich.table import Table

    made = Table.grid(padding=(0, 2))
    for name, line in lines.items():
        made.add_row(name, plain(line))
    screen.print(made)
    screen.print()


def _show_bound(screen: "Console", bounds: tuple[float, ...]) -> None:
    heading(screen, f"The bound after {plural(len(bounds), 'iteration')}")
    screen.print(f"{number(bounds[0])} {sparkline(bounds)} {number(bounds[-1])}\n")


def sparkline(values: tuple[float, ...]) -> str:
    """A line of blocks whose heights are the values, at most 40 of them."""
    n = min(len(values), _POINTS)
    points = [values[j * (len(values) - 1) // max(1, n - 1)] for j in range(n)]
    low, high = min(points), max(points)
    return "".join(_BLOCKS[round((point - low) / (high - low) * 7) if high > low else 7] for point in points)


def _show_most(screen: "Console", about: "Description") -> None:
    for title, what, shares in (
        ("Most active users", "user", about.most_active),
        ("Most popular items", "item", about.most_popular),
    ):
        named = what == "item" and about.has_names
        made = table(*([what, "name"] if named else [what]), "expected\nsessions", "of all", words=1 + named)
        values = numbers(one.sessions for one in shares), numbers((one.share for one in shares), percent=True)
        for one, *row in zip(shares, *values, strict=True):
            made.add_row(*map(word, [one.id, one.name] if named else [one.id]), *row)
        heading(screen, title)
        screen.print(made)


def _show_components(screen: "Console", about: "Description") -> None:
    shown = about.largest_components
    heading(screen, "Components, the largest first" if len(shown) == about.components else "The largest components")
    made = table("component", "its top items", "of their\nsessions", words=2)
    for one, share in zip(shown, numbers((one.share for one in shown), percent=True), strict=True):
        made.add_row(str(one.number), word(", ".join(item.name for item in one.items)), share)
    screen.print(made)
