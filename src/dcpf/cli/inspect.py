"""dcpf inspect: a model at a glance."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

import dcpf
from dcpf.cli.options import Json, Model, check_least
from dcpf.cli.output import (
    console,
    format_number,
    format_numbers,
    format_size,
    print_heading,
    print_json,
    printable,
    table,
    text_cell,
)
from dcpf.text import plural

if TYPE_CHECKING:
    from rich.console import Console

    from dcpf.model.description import Description

_BLOCKS = "▁▂▃▄▅▆▇█"
_POINTS = 40  # of the line that shows how the bound rose


def inspect(
    model: Model,
    components: Annotated[int, typer.Option(help="Number of components to show, largest first.")] = 10,
    n: Annotated[int, typer.Option("-n", help="Number of users, items, and items of each component to show.")] = 5,
    json: Json = False,
) -> None:
    """Show a model at a glance: its data, its element, and its largest components."""
    check_least(components=(components, 1), n=(n, 1))
    about = dcpf.load(model).describe(components, n)
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
    screen.print(printable(file["path"]), style="bold", soft_wrap=True)
    lines = {
        "file": f"{format_size(file['bytes'])}, format {file['format']}, written by dcpf {file['dcpf']}, {kept}",
        "size": f"{plural(about.users, 'user')} x {plural(about.items, 'item')}, "
        f"{plural(about.components, 'component')}"
        + (f", up to {plural(about.neighbors, 'neighbor')} per item" if about.neighbors else ""),
        "fitted to": f"{plural(data['entries'], 'count')} up to {data['largest']:,}, total {data['total']:,}",
        "element": about.element + (f", {parameters}" if parameters else ""),
        "": about.meaning,
    }
    if about.neighbors:
        lines["excitation"] = f"{about.excited:.0%} of expected sessions come from other items in the user's history"
    if about.sessions_per_count is not None:
        lines[""] += (
            f" The mean count, {format_number(data['total'] / data['entries'])}, corresponds to about "
            f"{format_number(about.sessions_per_count)} sessions."
        )
    from rich.table import Table

    made = Table.grid(padding=(0, 2))
    for name, line in lines.items():
        made.add_row(name, printable(line))
    screen.print(made)
    screen.print()


def _show_bound(screen: "Console", bounds: tuple[float, ...]) -> None:
    print_heading(screen, f"The bound after {plural(len(bounds), 'iteration')}")
    screen.print(f"{format_number(bounds[0])} {sparkline(bounds)} {format_number(bounds[-1])}\n")


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
        made = table(*([what, "name"] if named else [what]), "expected\nsessions", "of all", texts=1 + named)
        values = (
            format_numbers(one.sessions for one in shares),
            format_numbers((one.share for one in shares), percent=True),
        )
        for one, *row in zip(shares, *values, strict=True):
            made.add_row(*map(text_cell, [one.id, one.name] if named else [one.id]), *row)
        print_heading(screen, title)
        screen.print(made)


def _show_components(screen: "Console", about: "Description") -> None:
    shown = about.largest_components
    print_heading(screen, "Components, largest first" if len(shown) == about.components else "The largest components")
    made = table("component", "its top items", "of their\nsessions", texts=2)
    for one, share in zip(shown, format_numbers((one.share for one in shown), percent=True), strict=True):
        made.add_row(str(one.number), text_cell(", ".join(item.name for item in one.items)), share)
    screen.print(made)
