"""Ids come back as they went in, are found wherever they stand, and an unknown one is told with those spelt alike."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.counts.drawn import some_ids

from dcpf.counts import Id, Ids, InvalidCounts, Strings, UnknownId

TEXTS = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), max_size=30)
BIG = 2**63 - 1


@settings(max_examples=60, deadline=None)
@given(TEXTS, st.data())
def test_strings_are_a_list_of_strings(texts: list[str], data: st.DataObject) -> None:
    strings = Strings.of(texts)
    assert list(strings) == texts
    assert [strings[j] for j in range(-len(texts), len(texts))] == texts + texts
    assert list(strings[1:-1:2]) == texts[1:-1:2]
    assert list(strings + Strings.of(["x", "", "ü"])) == [*texts, "x", "", "ü"]
    if texts:
        positions = data.draw(st.lists(st.integers(0, len(texts) - 1)))
        assert list(strings.take(np.array(positions, dtype=int))) == [texts[j] for j in positions]
    assert strings == Strings.of(texts)
    assert strings != Strings.of([*texts, ""])
    with pytest.raises(IndexError):
        strings[len(texts)]


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 12).flatmap(some_ids), st.lists(st.one_of(st.integers(-60, 60), st.text("ab07é", max_size=4))))
def test_lookups_agree_with_a_dictionary(ids: Ids, wanted: list[object]) -> None:
    places = {one: j for j, one in enumerate(ids)}
    if not ids.are_strings:
        places |= {str(one): j for one, j in places.items()}
    wanted += list(ids)
    assert [ids.find(one) for one in wanted] == [places.get(one) for one in wanted]  # type: ignore[call-overload]
    expected = [places.get(one, -1) for one in wanted]  # type: ignore[call-overload]
    np.testing.assert_array_equal(ids.find_all(wanted), expected)
    np.testing.assert_array_equal(ids.find_all(one for one in wanted), expected)
    assert [one in ids for one in wanted] == [one in places for one in wanted]


@pytest.mark.parametrize("ascending", [True, False])
@pytest.mark.parametrize("strings", [True, False])
def test_few_of_many_are_found_as_many_of_many_are(strings: bool, ascending: bool) -> None:
    rng = np.random.default_rng(0)
    numbers = rng.permutation(5_000) * 3
    listed = [f"u{one}" for one in numbers] if strings else numbers.tolist()
    listed = sorted(listed) if ascending else listed
    ids = Ids.of(listed)
    assert ids.are_ascending == ascending
    asked = [*listed[::900], "nobody"]
    np.testing.assert_array_equal(ids.find_all(asked), [*range(0, 5_000, 900), -1])
    np.testing.assert_array_equal(ids.find_all([*listed, "nobody"]), [*range(5_000), -1])
    np.testing.assert_array_equal(ids.positions(np.array(listed), "user"), np.arange(5_000))


def test_leading_zeros_are_not_lost() -> None:
    strings, integers = Ids.of(["007", "7", "07"]), Ids.of([7, 12])
    assert list(strings) == ["007", "7", "07"]
    assert [strings.find(one) for one in ("007", "7", "07", 7)] == [0, 1, 2, None]
    assert [integers.find(one) for one in (7, "7", "007", "+7", " 7", "7.0", 7.0, True, None)] == [0, 0] + [None] * 7


@pytest.mark.parametrize("unknown", ["9" * 5_000, "9" * 19, 10**30, -(10**30), "-", "", "٧", np.float64(7), b"7"])
def test_what_no_64_bit_integer_is_like_is_unknown_to_integers(unknown: object) -> None:
    ids = Ids.of([7, -3, BIG, -BIG - 1])
    assert ids.find(unknown) is None
    with pytest.raises(UnknownId):
        ids.positions([unknown], "user")


def test_the_ends_of_64_bits_are_ids() -> None:
    ids = Ids.of(np.array([BIG, 0], dtype=np.uint64))
    assert list(ids) == [BIG, 0]
    assert ids.find(str(BIG)) == 0
    assert Ids.of([-BIG - 1]).find(-BIG - 1) == 0
    for large in (np.array([BIG + 1], dtype=np.uint64), [BIG + 1], [-BIG - 2]):
        with pytest.raises(TypeError, match="more than 64 bits; give such ids as strings"):
            Ids.of(large, "user")


@pytest.mark.parametrize("kind", [np.int8, np.uint16, np.int64, np.uint64, object])
def test_any_integers_are_kept(kind: type) -> None:
    ids = Ids.of(np.array([3, 1, 2], dtype=kind))
    assert list(ids) == [3, 1, 2]
    assert [ids.find(kind(one) if kind is not object else one) for one in (3, 1, 2, 4)] == [0, 1, 2, None]


def test_numpy_strings_are_kept() -> None:
    ids = Ids.of(np.array(["b", "a"]))
    assert ids[:] == ["b", "a"]
    assert type(ids[0]) is str
    assert ids.find(np.str_("a")) == 1


@pytest.mark.parametrize(
    ("given_", "words"),
    [
        (["a", 1], "found 1 (int) at 1 among 'a'"),
        ([1, None], "found 1 (int) at 0"),
        (["a", None], "found None (NoneType) at 1"),
        ([True, False], "found True (bool)"),
        ([1.0], "found 1.0 (float)"),
        (np.array([1.5, 2.0]), "found 1.5 (float)"),
        (np.array([[1, 2]]), "found an array of shape (1, 2)"),
        ("alice", "found the single 'alice'; give ['alice']"),
    ],
)
def test_what_is_no_id_is_shown(given_: object, words: str) -> None:
    with pytest.raises(TypeError) as error:
        Ids.of(given_, "user")  # type: ignore[arg-type]
    assert words in str(error.value)


@pytest.mark.parametrize(("given_", "one"), [([5, 3, 5], 5), (["x", "a", "x"], "x"), (["x", "x"], "x")])
def test_an_id_that_is_there_twice_is_named_with_both_places(given_: list[object], one: object) -> None:
    with pytest.raises(InvalidCounts, match=f"item {one!r} is there twice, at 0 and at {len(given_) - 1};"):
        Ids.of(given_, "item")


def test_half_of_a_surrogate_pair_is_refused_with_its_place() -> None:
    with pytest.raises(InvalidCounts, match=r"'ab\\ud800' \(at 1\) is not valid text: character 2 .* encoding"):
        Ids.of(["a", "ab\ud800"])
    ids = Ids.of(["a", "b"])
    assert ids.find("\ud800") is None
    with pytest.raises(UnknownId) as error:
        ids.positions(["\ud800"], "user")
    str(error.value).encode()


def test_unknown_ids_are_told_with_those_spelt_alike() -> None:
    ids = Ids.of(["alice", "bob", "carol"])
    with pytest.raises(UnknownId) as error:
        ids.positions(["bob", "alise", "zzz"], "user")
    assert str(error.value) == "unknown user 'alise' (and 1 more); did you mean 'alice'?"
    assert isinstance(error.value, KeyError)
    with pytest.raises(UnknownId, match="the 3 users are strings such as 'alice'"):
        ids.positions(["zzz"], "user")
    with pytest.raises(UnknownId, match="there are no users"):
        Ids.of([]).positions([1], "user")
    with pytest.raises(TypeError, match="found the single 'alice'"):
        ids.positions("alice", "user")


@pytest.mark.parametrize("ascending", [True, False])
def test_those_spelt_alike_are_found_among_very_many(ascending: bool) -> None:
    names = [f"user-{j:06}" for j in range(30_000)]
    ids = Ids.of(names if ascending else names[::-1])
    with pytest.raises(UnknownId, match=r"did you mean .*'user-012345'"):
        ids.positions(["user-012345x"], "user")


def test_another_spelling_of_a_number_is_proposed() -> None:
    padded = Ids.of([f"C{number:05}" for number in range(30_000)], "user")  # more than are all looked at
    for typed in ("C0003", "c00003", "C3"):
        with pytest.raises(UnknownId, match=rf"unknown user '{typed}'; did you mean 'C00003'"):
            padded.positions([typed], "user")
    with pytest.raises(UnknownId, match=r"unknown user '007'; did you mean 7\?"):
        Ids.of([7, 12]).positions(["007"], "user")
    with pytest.raises(UnknownId, match=r"unknown user 7; did you mean '7'"):
        Ids.of(["7", "12"]).positions([7], "user")
    with pytest.raises(UnknownId, match="unknown user 8; the 2 users are integers such as 7"):
        Ids.of([7, 12]).positions(np.array([8]), "user")


def test_a_very_long_unknown_id_makes_a_short_message() -> None:
    with pytest.raises(UnknownId) as error:
        Ids.of(["a"]).positions(["a" * 10**6], "user")
    assert len(str(error.value)) < 200


@settings(max_examples=80, deadline=None)
@given(st.integers(1, 10).flatmap(some_ids), st.data())
def test_taken_ids_are_those_at_the_positions(ids: Ids, data: st.DataObject) -> None:
    positions = np.array(data.draw(st.lists(st.integers(0, len(ids) - 1), unique=True)), dtype=int)
    taken = ids.take(positions)
    assert list(taken) == ids.at(positions) == [ids[int(j)] for j in positions]
    assert taken.are_strings == ids.are_strings
    assert taken.are_ascending == (list(taken) == sorted(taken))  # type: ignore[type-var]
    assert [taken.find(one) for one in taken] == list(range(len(taken)))
    with pytest.raises(InvalidCounts, match="there twice, at 0 and at 1"):
        ids.take(np.array([0, 0]))
    with pytest.raises(IndexError):
        ids.take(np.array([len(ids)]))


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 8).flatmap(some_ids), st.integers(0, 8).flatmap(some_ids))
def test_a_union_has_each_id_once_and_knows_where_it_stands(one: Ids, other: Ids) -> None:
    if one.are_strings != other.are_strings and len(one) and len(other):
        with pytest.raises(TypeError, match="cannot be merged"):
            one.union(other)
        return
    united, of_one, of_other = one.union(other)
    assert set(united) == {*one, *other}
    assert len(set(united)) == len(united)
    assert united.at(of_one) == list(one)
    assert united.at(of_other) == list(other)
    if one.are_ascending and other.are_ascending:
        assert list(united) == sorted({*one, *other})  # type: ignore[type-var]
    else:
        assert list(united) == list(dict.fromkeys([*one, *other]))
    assert [united.find(one) for one in united] == list(range(len(united)))


def test_equal_ids_are_equal() -> None:
    assert Ids.of([0, 1, 2]) == Ids.numbered(3)
    assert Ids.of(["a", "b"]) == Ids.of(["a", "b"])
    assert Ids.of(["a", "b"]) != Ids.of(["b", "a"])
    assert Ids.of(["1"]) != Ids.of([1])
    assert repr(Ids.of(["a", "b", "c", "d"])) == "<4 ids: 'a', 'b', 'c', ...>"


@pytest.mark.parametrize("make", [int, lambda j: f"id {j:05}"], ids=["integers", "strings"])
def test_a_few_new_ids_find_their_places_among_many(make: Callable[[int], Id]) -> None:
    many, few = Ids.of([make(j) for j in range(0, 6000, 2)]), Ids.of([make(j) for j in (0, 7, 4001)])
    united, of_many, of_few = many.union(few)
    assert list(united) == sorted({*many, *few})
    assert united.are_ascending
    assert united.at(of_many) == list(many)
    assert united.at(of_few) == list(few)
