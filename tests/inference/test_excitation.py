"""Which sources are kept, and what the prior of those expects."""

import numpy as np
import pytest

from dcpf.elements import Logarithmic
from dcpf.inference import excitation
from dcpf.inference.excitation import SHARE, Excitation, learn_excitation
from dcpf.kernels.excitation import Lists
from dcpf.kernels.threads import Threads
from dcpf.simulate import draw_counts

ITEMS, MOST = 90, 60


def found(seed: int) -> tuple[Lists, Excitation]:
    """Lists of different lengths with strengths of very different sizes, as they may be found."""
    rng = np.random.default_rng(seed)
    sources, strength = np.full((ITEMS, MOST), ITEMS, np.int32), np.zeros((ITEMS, MOST), np.float32)
    for i in range(ITEMS - 1):  # the last has none
        mine = np.sort(rng.choice(np.delete(np.arange(ITEMS), i), rng.integers(1, MOST + 1), replace=False))
        sources[i, : len(mine)] = mine
        strength[i, : len(mine)] = rng.lognormal(-3.0 * (i < 30), 1.0, len(mine))  # a third is excited by little
    means = rng.random((ITEMS, MOST)).astype(np.float32) * (sources < ITEMS)
    return Lists(sources, means), Excitation(sources.copy(), strength, rng.gamma(2.0, 9.0, ITEMS), 1.0, 1.0, SHARE)


def as_matrix(lists: Lists) -> np.ndarray:
    dense = np.zeros((ITEMS, ITEMS + 1))
    for i in range(ITEMS):
        dense[i, lists.sources[i]] = lists.strength[i]
    return dense[:, :ITEMS]


@pytest.mark.parametrize("rows", [7, 4096])
def test_the_weakest_that_bring_a_fifth_are_left_out_but_for_a_few_of_each_item(
    rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(excitation, "_AT_A_TIME", rows)
    chosen, first = found(0)
    means, s = as_matrix(chosen), as_matrix(Lists(first.sources, first.strength))
    brought = s * first.mass
    kept = as_matrix(strong := excitation._strong(chosen, first)) > 0.0
    np.testing.assert_array_equal(as_matrix(strong)[kept], means[kept])
    order = np.argsort(np.argsort(-s, axis=1), axis=1)  # 0 is the strongest source of its item
    assert kept[(order < 20) & (s > 0.0)].all()
    dropped = (s > 0.0) & ~kept
    assert brought[dropped].sum() <= 0.2 * brought.sum()
    weakest_kept = s[kept & (order >= 20)].min()
    assert s[dropped].max() < weakest_kept
    assert brought[(s <= 1.02 * weakest_kept)].sum() > 0.2 * brought.sum()  # one more group, and it would be too much
    assert (np.diff(strong.sources, axis=1) >= 0).all()
    assert (np.diff(strong.sources, axis=1)[strong.sources[:, 1:] < ITEMS] > 0).all()
    assert strong.sources.shape[1] == kept.sum(axis=1).max()


def test_where_nothing_excites_all_sources_stay() -> None:
    chosen, first = found(1)
    first.strength[:] = 0.0
    assert excitation._strong(chosen, first) is chosen


def test_the_prior_of_what_is_kept_expects_what_all_did(monkeypatch: pytest.MonkeyPatch) -> None:
    """All sessions but the share of the factors, with all that were chosen and with those that are strong."""
    rng = np.random.default_rng(3)
    W, H = rng.gamma(0.3, 1.0, (200, 6)), rng.gamma(0.3, 1.0, (ITEMS, 6))
    counts = draw_counts(W, H, Logarithmic(0.5), rng)[0]
    expected: list[float] = []
    learn = excitation.learn_strengths

    def noted(*arguments):
        if arguments[0] == 0:
            lists, _, mass = arguments[7]
            expected.append(float((np.append(mass, 0.0)[lists.sources] * lists.strength).sum()))
        learn(*arguments)

    monkeypatch.setattr(excitation, "learn_strengths", noted)
    with Threads(1) as threads:
        learned = learn_excitation(counts, MOST, 40.0, (W, H), Logarithmic(0.5), threads)
    assert len(expected) >= 2
    np.testing.assert_allclose(expected, (1.0 - SHARE) * counts.nnz, rtol=1e-5)
    assert 20 <= (learned.strength > 0.0).sum(axis=1).mean() < 0.9 * MOST
