"""dcpf explain: why an item is recommended to a user."""

import math
from typing import TYPE_CHECKING, Annotated

import typer

import dcpf
from dcpf.cli.options import DEFAULT_READING, History, Json, Model, ReadingOptions, check_least, grouped
from dcpf.cli.output import (
    console,
    format_number,
    format_numbers,
    print_heading,
    print_json,
    table,
    text_cell,
)
from dcpf.text import plural

if TYPE_CHECKING:
    from rich.console import Console

    from dcpf.model import FittedModel
    from dcpf.model.explanation import Explanation
    from dcpf.model.prediction import Predictions

_COMPONENTS, _ITEMS = 3, 4  # components that are shown, and their items


@grouped
def explain(
    model: Model,
    user: Annotated[str, typer.Option(show_default=False, help="User to whom the item is recommended.")],
    item: Annotated[str, typer.Option(show_default=False, help="Item to explain, by id or name.")],
    history: History = None,
    reading: ReadingOptions = DEFAULT_READING,
    n: Annotated[int, typer.Option("-n", help="Number of items of the history to show.")] = 10,
    json: Json = False,
) -> None:
    """Explain why an item is recommended to a user."""
    check_least(n=(n, 1))
    fitted = dcpf.load(model)
    counts = None if history is None else reading.read(history)
    why = fitted.explain(user, item, history=counts)
    if json:
        print_json(why.to_dict())
        return
    screen = console()
    _show_score(screen, why, fitted.predict_pairs(user, item, history=counts))
    _show_history(screen, why, n)
    _show_components(screen, why, fitted)


def _show_score(screen: "Console", why: "Explanation", expected: "Predictions") -> None:
    low, high = expected.interval()
    print_heading(screen, f"{why.user} and {why.catalogue.named(why.item)}")
    count = f", a count of {format_number(expected.counts[0])}" if math.isfinite(expected.counts[0]) else ""
    screen.print(
        f"Expected: {format_number(why.score)} sessions "
        f"(90% between {format_number(low[0])} and {format_number(high[0])}){count}. "
        f"The probability of any is {expected.probabilities[0]:.1%}.\n"
    )


def _show_history(screen: "Console", why: "Explanation", n: int) -> None:
    """What each item of the history adds to the score: the first n, all others in one line, and the prior last."""
    counts, sessions, parts = why.counts[:n].tolist(), why.sessions[:n].tolist(), why.parts[:n].tolist()
    labels = [why.catalogue.named(int(place)) for place in why.items[:n]]
    others = len(why.items) - len(labels)
    if others > 0:
        labels.append(f"({plural(others, 'other item')})")
        for shown, whole in ((counts, why.counts), (sessions, why.sessions), (parts, why.parts)):
            shown.append(whole[n:].sum())
    made = table("item", "count", "read as\nsessions", "part of\nthe score", "")
    columns = [f"{count:,}" for count in counts], format_numbers(sessions)
    texts = format_numbers([*parts, why.prior])
    shares = [f"{part / why.score:.0%}" for part in (*parts, why.prior)]
    for label, *row in zip(labels, *columns, texts[:-1], shares[:-1], strict=True):
        made.add_row(text_cell(label), *row)
    made.add_row("(without any history)", "", "", texts[-1], shares[-1])
    print_heading(screen, "By item of the history")
    screen.print(made)


def _show_components(screen: "Console", why: "Explanation", model: "FittedModel") -> None:
    made = table("component", "its top items", "part of\nthe score", "", texts=2)
    order = (-why.components).argsort(kind="stable")[:_COMPONENTS]
    rest = float(why.components.sum() - why.components[order].sum())
    parts = [*why.components[order].tolist(), rest, why.excited]
    texts = format_numbers(parts)
    for k, text, part in zip(order.tolist(), texts, parts, strict=False):
        top = ", ".join(item.name for item in model.component(k, _ITEMS).items)
        made.add_row(str(k), text_cell(top), text, f"{part / why.score:.0%}")
    others = len(why.components) - len(order)
    if others > 0:
        made.add_row("", f"({plural(others, 'other component')})", texts[-2], f"{rest / why.score:.0%}")
    if why.excited > 0.0:
        made.add_row("", "(excited by the history)", texts[-1], f"{why.excited / why.score:.0%}")
    print_heading(screen, "By component")
    screen.print(made)
