"""Ids become codes without loss, as they are written."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dcpf.counts.codes import Encoder


def decoded(encoder: Encoder, chunks: list[list[object]], dtype: pl.DataType) -> tuple[list[object], list[object]]:
    codes = [encoder.encode(pl.Series(chunk, dtype=dtype)) for chunk in chunks]
    ids, rank = encoder.finish()
    return list(ids), [ids[int(place)] for part in codes for place in rank[part]]


texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(texts, max_size=8), min_size=1, max_size=5))
def test_strings_keep_their_values(chunks: list[list[object]]) -> None:
    ids, rows = decoded(Encoder("string"), chunks, pl.String())
    assert rows == [one for chunk in chunks for one in chunk]
    assert ids == sorted(set(rows))  # type: ignore[type-var]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-9, 9), max_size=8), min_size=1, max_size=5))
def test_integers_near_and_far_keep_their_values(chunks: list[list[object]]) -> None:
    ids, rows = decoded(Encoder("integer"), chunks, pl.Int64())
    assert rows == [one for chunk in chunks for one in chunk]
    assert ids == sorted(set(rows))  # type: ignore[type-var]


@pytest.mark.parametrize(
    "odd", ["007", "+1", "-0", "00", "1.0", "1e3", " 1", "1 ", "9223372036854775808", "x", "1_0", "-", "٣", "-01"]
)
def test_one_text_that_is_no_plain_integer_makes_all_strings(odd: str) -> None:
    chunks: list[list[object]] = [["5", "-3", "0"], [odd, "5"], ["12"]]
    _, rows = decoded(Encoder("spelt"), chunks, pl.String())
    assert rows == ["5", "-3", "0", odd, "5", "12"]


def test_plain_integers_become_integers() -> None:
    chunks: list[list[object]] = [["5", "-3"], ["0", "9223372036854775807", "-9223372036854775808", "5"]]
    ids, rows = decoded(Encoder("spelt"), chunks, pl.String())
    assert rows == [5, -3, 0, 2**63 - 1, -(2**63), 5]
    assert ids == [-(2**63), -3, 0, 5, 2**63 - 1]


def test_strings_are_sorted_by_code_point() -> None:
    given_ = ["b", "B", "é", "z", "\U0001f3b5", "\uffff", "a"]
    ids, _ = decoded(Encoder("string"), [given_], pl.String())  # type: ignore[list-item]
    assert ids == sorted(given_)


def test_nothing_to_encode_is_fine() -> None:
    assert len(Encoder("integer").encode(pl.Series([], dtype=pl.Int64))) == 0
    ids, rank = Encoder("string").finish()
    assert len(ids) == 0
    assert rank.dtype == np.int32
