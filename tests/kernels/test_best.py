"""The selection of the best: against sorting."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kernels.compiled import compiled

from dcpf.kernels import best

column_of = compiled(best.column_of)
key_of = compiled(best.key_of)
insert = compiled(best.insert)
partition = compiled(best.partition)
score_of = compiled(best.score_of)
sort = compiled(best.sort)
sort_best = compiled(best.sort_best)
nth_largest = compiled(best.nth_largest)
rank = compiled(best.rank)

KEYS = st.lists(st.integers(0, 2**62) | st.integers(0, 9), min_size=1, max_size=200)


def distinct_keys(seed: int, size: int) -> np.ndarray:
    return np.random.default_rng(seed).permutation(3 * size)[:size] * 2**40


@settings(deadline=None)
@given(st.integers(0, 99), st.integers(1, 1200), st.data())
def test_sort_puts_the_largest_first_and_leaves_the_rest(seed: int, length: int, data: st.DataObject) -> None:
    keys, size = distinct_keys(seed, length), data.draw(st.integers(0, length))
    array = keys.copy()
    sort(array, size)
    assert array[:size].tolist() == sorted(keys[:size].tolist(), reverse=True)
    assert array[size:].tolist() == keys[size:].tolist()


@settings(deadline=None)
@given(st.integers(0, 99), st.integers(1, 1200), st.data())
def test_sort_best_brings_the_largest_to_the_front_in_order(seed: int, length: int, data: st.DataObject) -> None:
    keys, size = distinct_keys(seed, length), data.draw(st.integers(1, length))
    n = data.draw(st.integers(1, size))
    array = keys.copy()
    sort_best(array, size, n)
    assert array[:n].tolist() == sorted(keys[:size].tolist(), reverse=True)[:n]
    assert sorted(array.tolist()) == sorted(keys.tolist())


@settings(deadline=None)
@given(KEYS, st.data())
def test_partition_brings_the_largest_to_the_front_and_their_smallest_last(
    keys: list[int], data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, len(keys) - 1))
    stop = data.draw(st.integers(start + 1, len(keys)))
    n = data.draw(st.integers(1, stop - start))
    array = np.array(keys)
    partition(array, start, stop, n)
    expected = sorted(keys[start:stop], reverse=True)
    found = array[start:stop].tolist()
    assert sorted(found, reverse=True) == expected
    assert sorted(found[:n], reverse=True) == expected[:n]
    assert found[n - 1] == expected[n - 1]
    assert array[:start].tolist() == keys[:start]
    assert array[stop:].tolist() == keys[stop:]


def test_a_key_holds_its_score_and_its_column_and_is_ordered_by_both() -> None:
    scores = np.array(
        [0.0, 1e-45, 1e-30, 0.5, np.nextafter(np.float32(0.5), np.float32(1.0)), 7.0, 3e38], dtype="float32"
    )
    columns = [2**31 - 1, 77, 1, 0]
    keys = [key_of(score, column) for score in scores for column in columns]
    assert keys == sorted(keys)
    assert keys[0] == 0
    assert [score_of(key) for key in keys] == np.repeat(scores, len(columns)).tolist()
    assert [column_of(key) for key in keys] == columns * len(scores)


@settings(deadline=None)
@given(st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.5]), max_size=40), st.integers(1, 12), st.randoms())
def test_inserting_one_after_another_ranks_by_score_and_then_by_column(scores: list[float], n: int, random) -> None:
    offered = list(enumerate(scores))
    random.shuffle(offered)
    columns, ranked, size = np.empty(n, dtype=np.int64), np.empty(n), 0
    for column, score in offered:
        size = insert(columns, ranked, size, column, score)
    expected = sorted(offered, key=lambda one: (-one[1], one[0]))[:n]
    assert list(zip(columns[:size].tolist(), ranked[:size].tolist(), strict=True)) == expected


@settings(deadline=None)
@given(st.integers(0, 99), st.integers(1, 400), st.data())
def test_the_nth_largest_has_n_above_it_and_hardly_more(seed: int, size: int, data: st.DataObject) -> None:
    n = data.draw(st.integers(1, size))
    values = np.ones(size + best.PADDING, np.float32)
    values[:size] = np.random.default_rng(seed).random(size)
    found = nth_largest(values, size, n, -1.0)
    assert n <= (values[:size] > found).sum()
    assert (values[:size] > found + 2.0 * 0.5**8).sum() < n


@settings(deadline=None)
@given(st.integers(0, 99), st.integers(0, 700), st.integers(1, 120), st.sampled_from([0, 3, 1000]))
def test_ranks_are_those_of_sorting_by_score_and_then_by_column(seed: int, size: int, n: int, kinds: int) -> None:
    """Scores that all differ, of which many are alike, and of which float32 tells some not apart."""
    rng = np.random.default_rng(seed)
    scores = rng.lognormal(0.0, 1.0, size) if kinds == 0 else rng.integers(0, kinds, size).astype(np.float64)
    scores[::7] += 1e-9
    columns = rng.permutation(2 * size)[:size]
    expected = sorted(zip(-scores, columns, strict=True))[:n]
    best_columns, best_scores = np.empty(n, np.int64), np.empty(n)
    found = rank(scores, columns, size, np.empty(size + best.PADDING, np.float32), (best_columns, best_scores))
    assert found == min(n, size)
    assert list(zip(-best_scores[:found], best_columns[:found], strict=True)) == expected
