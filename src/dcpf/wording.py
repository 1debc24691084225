"""Numbers of things, in words."""


def several(number: int, what: str) -> str:
    """So many of these: 1 item, 2 items, 3,000 items."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def extent(users: int, items: int, entries: int) -> str:
    """How large a matrix of counts is: 2 users x 3 items, 4 counts."""
    return f"{several(users, 'user')} x {several(items, 'item')}, {several(entries, 'count')}"
