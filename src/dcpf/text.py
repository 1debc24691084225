"""Numbers as text for people."""


def plural(number: int, what: str) -> str:
    """A number with its noun: 1 item, 2 items, 3,000 items."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def shape_words(users: int, items: int, entries: int) -> str:
    """The shape of a matrix of counts: 2 users x 3 items, 4 counts."""
    return f"{plural(users, 'user')} x {plural(items, 'item')}, {plural(entries, 'count')}"


def clock(seconds: float) -> str:
    """Seconds as minutes and seconds, with hours if there are any: 0:07, 12:00, 1:02:03."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
