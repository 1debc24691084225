"""dcpf explain: why an item is recommended to a user."""

import math
from typing import TYPE_CHECKING, Annotated

import typer

from dcpf.cli.groups import grouped
from dcpf.cli.inputs import History, Json, Model, check_least, find_items, find_users, load
from dcpf.cli.output import console, heading, number, numbers, print_json, table, word
from dcpf.cli.reading import USUAL, Reading
from dcpf.text import plural

if TYPE_CHECKING:
    from rich.console import Console

    from dcpf.model import DCPF
    from dcpf.ranking.explanation import Explanation
    from dcpf.ranking.pairs import Predictions

_COMPONENTS, _ITEMS = 3, 4  # components that are shown, and their items


@grouped
def explain(
    model: Model,
    user: Annotated[str, typer.Option(show_default=False, help="For whom.")],
    item: Annotated[str, typer.Option(show_default=False, help="What, by id or name.")],
    history: History = None,
    reading: Reading = USUAL,
    n: Annotated[int, typer.Option("-n", help="How many items of the history to show.")] = 10,
    json: Json = False,
) -> None:
    """Explain why an item is recommended to a user."""
    check_least(n=(n, 1))
    fitted = load(model)
    counts = None if history is None else reading.read_and_tell(history)
    (who,), (what,) = find_users(fitted, counts, [user]), find_items(fitted, [item])
    why = fitted.explain(who, what, history=counts)
    if json:
        print_json(why.to_dict())
        return
    screen = console()
    _show_score(screen, why, fitted.predict_pairs(who, what, history=counts))
    _show_history(screen, why, n)
    _show_components(screen, why, fitted)


def _show_score(screen: "Console", why: "Explanation", expected: "Predictions") -> None:
    low, high = expected.interval()
    heading(screen, f"{why.user} and {why.catalogue.named(why.item)}")
    count = f", a count of {number(expected.counts[0])}" if math.isfinite(expected.counts[0]) else ""
    screen.print(
        f"Expected: {number(why.score)} sessions (90% between {number(low[0])} and {number(high[0])}){count}. "
        f"The probability of any is {expected.probabilities[0]:.1%}.\n"
    )


def _show_history(screen: "Console", why: "Explanation", n: int) -> None:
    """What each item of the history adds to the score; beyond the first n in one line, and the prior's part last."""
    counts, sessions, parts = why.counts[:n].tolist(), why.sessions[:n].tolist(), why.parts[:n].tolist()
    labels = [why.catalogue.named(int(place)) for place in why.items[:n]]
    others = len(why.items) - len(labels)
    if others > 0:
        labels.append(f"({plural(others, 'other item')})")
        for shown, whole in ((counts, why.counts), (sessions, why.sessions), (parts, why.parts)):
            shown.append(whole[n:].sum())
    made = table("item", "count", "read as\nsessions", "part of\nthe score", "")
    columns = [f"{count:,}" for count in counts], numbers(sessions)
    spelt = numbers([*parts, why.prior])
    shares = [f"{part / why.score:.0%}" for part in (*parts, why.prior)]
    for label, *row in zip(labels, *columns, spelt[:-1], shares[:-1], strict=True):
        made.add_row(word(label), *row)
    made.add_row("(without any history)", "", "", spelt[-1], shares[-1])
    heading(screen, "Because of the history")
    screen.print(made)


def _show_components(screen: "Console", why: "Explanation", model: "DCPF") -> None:
    made = table("component", "its top items", "part of\nthe score", "", words=2)
    order = (-why.components).argsort(kind="stable")[:_COMPONENTS]
    rest = float(why.components.sum() - why.components[order].sum())
    parts = [*why.components[order].tolist(), rest, why.excited]
    spelt = numbers(parts)
    for k, part, share in zip(order.tolist(), spelt, parts, strict=False):
        top = ", ".join(one.name for one in model.component(k, _ITEMS).items)
        made.add_row(str(k), word(top), part, f"{share / why.score:.0%}")
    others = len(why.components) - len(order)
    if others > 0:
        made.add_row("", f"({plural(others, 'other component')})", spelt[-2], f"{rest / why.score:.0%}")
    if why.excited > 0.0:
        made.add_row("", "(excited by the history)", spelt[-1], f"{why.excited / why.score:.0%}")
    heading(screen, "By component")
    screen.print(made)
