"""Searches against a plain loop over all ids and names."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dcpf.counts import Ids, Strings, UnknownId
from dcpf.serve.directory import Directory

texts = st.text(st.sampled_from("abAB12 ßİé\n\x00/\u202e𝄞"), max_size=6)


def plain(ids: list[str], names: list[str], importance: list[int], text: str, limit: int) -> tuple[list[int], bool]:
    """What a search must find: the exact id, then beginnings, then parts; the most important of each first."""
    order = sorted(range(len(ids)), key=lambda j: -importance[j])
    wanted = text.casefold()
    spelt = [(ids[j].casefold(), names[j].casefold() if names else None) for j in range(len(ids))]
    exact = [j for j in order if ids[j] == text]
    begins = [j for j in order if any(one is not None and one.startswith(wanted) for one in spelt[j])]
    inside = [j for j in order if any(one is not None and wanted in one for one in spelt[j])]
    found = list(dict.fromkeys([*exact, *begins, *inside]))
    return found[:limit], len(found) > limit


@given(
    st.lists(texts.filter(bool), min_size=1, max_size=30, unique=True),
    st.booleans(),
    texts,
    st.integers(1, 8),
    st.data(),
)
@settings(max_examples=150, deadline=None)
def test_a_search_finds_what_a_loop_finds(
    ids: list[str], named: bool, text: str, limit: int, data: st.DataObject
) -> None:
    names = data.draw(st.lists(texts, min_size=len(ids), max_size=len(ids))) if named else []
    importance = data.draw(st.lists(st.integers(0, 3), min_size=len(ids), max_size=len(ids)))
    made = Directory(Ids.of(ids), Strings.of(names) if named else None, np.array(importance), "item")
    assert made.search(text, limit) == plain(ids, names, importance, text, limit)


@given(st.lists(texts, min_size=1, max_size=12), texts)
@settings(max_examples=150, deadline=None)
def test_a_name_finds_its_owner_as_it_is_spelt_and_then_in_any_case(names: list[str], typed: str) -> None:
    ids = [f"#{j}" for j in range(len(names))]
    made = Directory(Ids.of(ids), Strings.of(names), np.zeros(len(names)), "item")
    owners = [j for j, name in enumerate(names) if name == typed]
    owners = owners or [j for j, name in enumerate(names) if name.casefold() == typed.casefold()]
    if not typed or not owners:
        assert made.find(typed) is None
        with pytest.raises(UnknownId, match="unknown item"):
            made.place(typed)
    elif len(owners) == 1:
        assert made.find(typed) == made.place(typed) == owners[0]
    else:
        with pytest.raises(ValueError, match=f"{len(owners)} items are called"):
            made.find(typed)


def test_integer_ids_are_searched_by_their_digits() -> None:
    made = Directory(Ids.of([7, 70, 17, -7, 700]), None, np.array([1, 2, 3, 4, 5]), "user")
    assert made.search("7", 10) == ([0, 4, 1, 3, 2], False)
    assert made.search("70", 1) == ([1], True)
    assert made.search("", 2) == ([4, 3], True)
    assert made.find("17") == 2
    assert made.find("017") is None
    assert made.find(10**40) is None


def test_many_entries_are_searched_in_blocks() -> None:
    ids = [f"user{j:05d}" for j in range(40_000)]
    made = Directory(Ids.of(ids), None, np.arange(40_000), "user")
    assert made.search("user39", 3) == ([39_999, 39_998, 39_997], True)
    assert made.search("user00001", 3) == ([1], False)
    assert made.search("r0000", 20) == (list(range(9, -1, -1)), False)
    assert made.search("5user", 3) == ([], False)  # never over the edge between two
