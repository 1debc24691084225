"""Numbers of things, in words."""

from dcpf.text import plural, shape_words


def test_one_is_not_several() -> None:
    assert (plural(0, "row"), plural(1, "row"), plural(2000, "row")) == ("0 rows", "1 row", "2,000 rows")
    assert shape_words(1, 2, 3000) == "1 user x 2 items, 3,000 counts"
