"""Numbers of things, in words."""


def some(n: int, thing: str) -> str:
    """So many of a thing: 1 user, 1,200 users."""
    return f"{n:,} {thing}{'' if n == 1 else 's'}"
