"""Messages name options where Python has parameters."""

import pytest

from dcpf.cli.errors import as_typed


@pytest.mark.parametrize(
    ("message", "typed"),
    [
        ("n_components=9 is more than 3", "--components 9 is more than 3"),
        ("with min_per_user=3 and min_per_item=1", "with --min-per-user 3 and --min-per-item 1"),
        ("max_iter must be at least 1", "--max-iter must be at least 1"),
        ("name it with user_column=", "name it with --user-column"),
        ("with user_column=, item_column= and count_column= (n)",
         "with --user-column, --item-column and --count-column (n)"),
        ("user_column='who', but there is", "--user-column 'who', but there is"),
        ("skip such lines with skip_bad_lines=True)", "skip such lines with --skip-bad-lines)"),
        ("round_counts=True rounds it", "--round-counts rounds it"),
        ("no header found (header=True if there is one)", "no header found (--header if there is one)"),
        ("the header of a history", "the header of a history"),
    ],
)  # fmt: skip
def test_parameters_become_options(message: str, typed: str) -> None:
    assert as_typed(message) == typed
