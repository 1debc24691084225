"""Which sources are kept, and what the prior of those expects."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from dcpf.elements import Logarithmic
from dcpf.inference import excitation
from dcpf.inference.excitation import SHARE, Excitation, learn_excitation
from dcpf.kernels.threads import Threads
from dcpf.simulation import draw_counts

ITEMS, MOST = 90, 60


def found(seed: int) -> tuple[sparse.csr_array, Excitation]:
    """Means of lists of different lengths, and strengths of very different sizes, as they may be found."""
    rng = np.random.default_rng(seed)
    strength, means = np.zeros((ITEMS, ITEMS), np.float32), rng.random((ITEMS, ITEMS)).astype(np.float32)
    for i in range(ITEMS - 1):  # the last has none
        mine = rng.choice(np.delete(np.arange(ITEMS), i), rng.integers(1, MOST + 1), replace=False)
        strength[i, mine] = rng.lognormal(-3.0 * (i < 30), 1.0, len(mine))  # a third is excited by little
    of_means = sparse.csr_array(means * (strength > 0.0))
    return of_means, Excitation(sparse.csr_array(strength), rng.gamma(2.0, 9.0, ITEMS), 1.0, 1.0, SHARE)


@pytest.mark.parametrize("some", [7, 4096])
def test_the_weakest_that_bring_a_quarter_are_left_out_but_for_a_few_of_each_item(
    some: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(excitation, "_AT_A_TIME", some)
    chosen, first = found(0)
    means, s = chosen.toarray(), first.strength.toarray().astype(np.float64)
    brought = s * first.mass
    excitation._keep_strong(chosen, first)
    strong = excitation._shortened(chosen)
    kept = strong.toarray() > 0.0
    np.testing.assert_array_equal(strong.toarray()[kept], means[kept])
    order = np.argsort(np.argsort(-s, axis=1), axis=1)  # 0 is the strongest source of its item
    assert kept[(order < 20) & (s > 0.0)].all()
    dropped = (s > 0.0) & ~kept
    assert brought[dropped].sum() <= 0.25 * brought.sum()
    weakest_kept = s[kept & (order >= 20)].min()
    assert s[dropped].max() < weakest_kept
    assert brought[(s <= 1.02 * weakest_kept)].sum() > 0.25 * brought.sum()  # one more, and it is too much
    assert strong.has_canonical_format
    assert strong.nnz == len(strong.data) == len(strong.indices) == kept.sum()


def test_where_nothing_excites_all_sources_stay() -> None:
    chosen, first = found(1)
    first.strength.data[:] = 0.0
    before = chosen.toarray()
    excitation._keep_strong(chosen, first)
    np.testing.assert_array_equal(chosen.toarray(), before)


@pytest.mark.parametrize("some", [1, 10, 4096])
def test_lists_that_are_filled_up_are_packed(some: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(excitation, "_AT_A_TIME", some)
    sources = np.array([[1, 2, 3], [4, 4, 4], [0, 3, 4], [4, 4, 4]], np.int32)
    matrix = excitation.packed(sources, np.arange(12, dtype=np.float32).reshape(4, 3))
    np.testing.assert_array_equal(matrix.toarray(), [[0, 0, 1, 2], [0] * 4, [6, 0, 0, 7], [0] * 4])
    assert matrix.indptr.tolist() == [0, 3, 3, 5, 5]  # the strength of item 1 is 0, and is there


def learned_and_noted(monkeypatch: pytest.MonkeyPatch) -> tuple[Excitation, list[tuple[float, np.ndarray]], int]:
    """What is learned from some counts, what the kernel was given and gave, and how many entries there are.

    Of each run of the kernel, the sessions that the means expect, and its strengths.
    """
    rng = np.random.default_rng(3)
    W, H = rng.gamma(0.3, 1.0, (200, 6)), rng.gamma(0.3, 1.0, (ITEMS, 6))
    counts = draw_counts(W, H, Logarithmic(0.5), rng)[0]
    runs: list[tuple[float, np.ndarray]] = []
    learn = excitation.learn_strengths

    def noted(*arguments):
        learn(*arguments)
        lists, _, mass = arguments[7]
        if arguments[1] == ITEMS:  # the last of a run
            runs.append((float((mass[lists.sources] * lists.strength).sum()), arguments[9][0].copy()))

    monkeypatch.setattr(excitation, "learn_strengths", noted)
    with Threads(1) as threads:
        return learn_excitation(counts, MOST, 40.0, (W, H), Logarithmic(0.5), threads), runs, counts.nnz


def test_the_prior_of_what_is_kept_expects_what_all_did(monkeypatch: pytest.MonkeyPatch) -> None:
    """All sessions but the share of the factors, with all that were chosen and with those that are strong."""
    learned, runs, entries = learned_and_noted(monkeypatch)
    assert len(runs) >= 2
    np.testing.assert_allclose([expected for expected, _ in runs], (1.0 - SHARE) * entries, rtol=1e-5)
    assert 20 <= (learned.strength.data > 0.0).sum() / ITEMS < 0.9 * MOST


@pytest.mark.parametrize("some", [7, 4096])
def test_of_what_is_learned_popular_sources_lose_a_part(some: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(excitation, "_AT_A_TIME", some)
    learned, runs, _ = learned_and_noted(monkeypatch)
    less = (1.0 + learned.mass / 25.0) ** -0.2
    less *= learned.mass.sum() / (learned.mass * less).sum()
    assert less[learned.mass.argmax()] < 0.9 < 1.1 < less[learned.mass.argmin()]
    np.testing.assert_allclose(learned.strength.data, runs[-1][1] * less[learned.strength.indices], rtol=2**-12)


def test_without_a_discount_or_without_counts_all_sources_are_alike() -> None:
    _, before = found(2)
    np.testing.assert_array_equal(before.discounts, np.ones(ITEMS))
    nothing = replace(before, mass=np.zeros(ITEMS), discount=0.2)
    np.testing.assert_array_equal(nothing.discounts, np.ones(ITEMS))
