"""Numbers of things, in words."""

from dcpf.wording import extent, several


def test_one_is_not_several() -> None:
    assert (several(0, "row"), several(1, "row"), several(2000, "row")) == ("0 rows", "1 row", "2,000 rows")
    assert extent(1, 2, 3000) == "1 user x 2 items, 3,000 counts"
