import numpy as np
import pytest

from dcpf.inference.blocks import BlockSums, PairwiseSum


def part(number: int) -> BlockSums:
    rng = np.random.default_rng(number)
    return BlockSums(rng.gamma(1.0, 1.0, (3, 2)).astype(np.float32), rng.gamma(1.0, 1.0, 5))


def by_hand(first: int, last: int) -> BlockSums:
    """The sum over blocks first .. last - 1: of the largest power of two that is less than all, and of the rest."""
    if last - first == 1:
        return part(first)
    half = 1 << (last - first - 1).bit_length() - 1
    left = by_hand(first, first + half)
    left.add(by_hand(first + half, last))
    return left


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 6, 7, 8, 12, 13, 31])
def test_the_order_is_that_of_a_tree_however_the_parts_come(size: int) -> None:
    expected = by_hand(0, size)
    for seed in range(5):
        found = PairwiseSum(size)
        for number in np.random.default_rng(seed).permutation(size).tolist():
            found.put(0, number, part(number))
        assert found.total.item_shape.tobytes() == expected.item_shape.tobytes()
        assert found.total.numbers.tobytes() == expected.numbers.tobytes()


@pytest.mark.parametrize("size", [2, 5, 12, 13])
@pytest.mark.parametrize("workers", [2, 3, 4])
def test_sums_of_some_blocks_are_put_together_to_the_same_bits(size: int, workers: int) -> None:
    found, rng = PairwiseSum(size), np.random.default_rng(size)
    owner = rng.integers(workers, size=size)
    for worker in range(workers):
        own = PairwiseSum(size)
        for number in np.flatnonzero(owner == worker).tolist():
            own.put(0, number, part(number))
        for (level, place), some in own.nodes.items():
            found.put(level, place, some)
    assert found.total.item_shape.tobytes() == by_hand(0, size).item_shape.tobytes()


def test_neighbours_are_sent_as_one() -> None:
    own = PairwiseSum(12)
    for number in range(6):
        own.put(0, number, part(number))
    assert sorted(own.nodes) == [(1, 2), (2, 0)]  # blocks 4 and 5, and blocks 0 to 3
