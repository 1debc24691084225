"""Which sources are kept, what the prior of those expects, and x."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from dcpf.elements import Logarithmic
from dcpf.inference.blocks import LocalBlocks
from dcpf.inference.data import Data
from dcpf.inference.settings import FitSettings
from dcpf.kernels import strengths
from dcpf.kernels.threads import Threads
from dcpf.model.fit import SHARE
from dcpf.parts import Learning, excitation
from dcpf.parts.excitation import Excitation, x_of
from dcpf.simulation import draw_counts

ITEMS, MOST = 90, 60


def found(seed: int) -> tuple[sparse.csr_array, sparse.csr_array, np.ndarray]:
    """Means of lists of different lengths, strengths of very different sizes, and the mass of each source."""
    rng = np.random.default_rng(seed)
    strength, means = np.zeros((ITEMS, ITEMS), np.float32), rng.random((ITEMS, ITEMS)).astype(np.float32)
    for i in range(ITEMS - 1):  # the last has none
        mine = rng.choice(np.delete(np.arange(ITEMS), i), rng.integers(1, MOST + 1), replace=False)
        strength[i, mine] = rng.lognormal(-3.0 * (i < 30), 1.0, len(mine))  # a third is excited by little
    of_means = sparse.csr_array(means * (strength > 0.0))
    return of_means, sparse.csr_array(strength), rng.gamma(2.0, 9.0, ITEMS)


@pytest.mark.parametrize("some", [7, 4096])
def test_the_weakest_that_bring_a_quarter_are_left_out_but_for_a_few_of_each_item(
    some: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(excitation, "_AT_A_TIME", some)
    strong, strength, mass = found(0)
    means, s = strong.toarray(), strength.toarray().astype(np.float64)
    brought = s * mass
    excitation._keep_strong(strong, strength.data, mass)
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
    chosen, strength, mass = found(1)
    before = chosen.toarray()
    excitation._keep_strong(chosen, 0.0 * strength.data, mass)
    np.testing.assert_array_equal(chosen.toarray(), before)


@pytest.mark.parametrize("some", [1, 3, 4096])
def test_x_is_the_logarithm_of_counts_by_the_root_of_their_number(some: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(excitation, "_AT_A_TIME", some)
    counts = sparse.csr_array(np.array([[1, 2**31 - 1, 40], [0, 0, 0], [0, 7, 0]]))
    found = x_of(counts, 0.7)
    expected = np.log1p([1, 2**31 - 1, 40, 7]) / (0.7 * np.sqrt([3, 3, 3, 1]))
    np.testing.assert_allclose(found.data, expected, rtol=1e-7)
    assert (found.indices == counts.indices).all()


def learned_and_noted(
    monkeypatch: pytest.MonkeyPatch,
) -> tuple[Excitation, list[tuple[float, sparse.csr_array]], int]:
    """What is learned from some counts, what the kernel was given and gave, and how many entries there are.

    Of each run of the kernel, the sessions that the means expect, and its strengths.
    """
    rng = np.random.default_rng(3)
    W, H = rng.gamma(0.3, 1.0, (200, 6)), rng.gamma(0.3, 1.0, (ITEMS, 6))
    counts = draw_counts(W, H, Logarithmic(0.5), rng)[0]
    runs: list[tuple[float, sparse.csr_array]] = []
    learn = strengths.learn_strengths

    def noted(start, stop, columns, given, others, table, c, prior, limits, out):
        learn(start, stop, columns, given, others, table, c, prior, limits, out)
        lists, _, mass = prior
        if stop == ITEMS:  # the last of a run
            by_target = sparse.csr_array((out[0].copy(), lists.indices, lists.indptr), shape=(ITEMS, ITEMS))
            runs.append((float((mass[lists.indices] * lists.data).sum()), sparse.csr_array(by_target.tocsc().T)))

    monkeypatch.setattr(strengths, "learn_strengths", noted)
    settings = FitSettings(n_neighbors=MOST, neighbor_prior=40.0)
    with Threads(1) as threads:
        blocks = LocalBlocks(Data.from_matrix(counts), settings, threads, counts)

        def others(pairs):
            return (SHARE * (W @ H.T)[pairs.nonzero()]).astype(np.float32)

        expected = (1.0 - SHARE) * counts.nnz
        (learned,) = Excitation.learn(Learning(blocks, Logarithmic(0.5), others, expected, settings, threads))
    return learned, runs, counts.nnz


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
    before = runs[-1][1]
    sources = np.repeat(np.arange(ITEMS), np.diff(before.indptr))
    np.testing.assert_allclose(learned.strength.data, before.data * less[sources], rtol=1e-6)


def test_without_a_discount_or_without_counts_all_sources_are_alike() -> None:
    _, strength, mass = found(2)
    before = Excitation(sparse.csr_array(strength.T), mass, weight=1.0, scale=1.0)
    np.testing.assert_array_equal(before.discounts, np.ones(ITEMS))
    nothing = replace(before, mass=np.zeros(ITEMS), discount=0.2)
    np.testing.assert_array_equal(nothing.discounts, np.ones(ITEMS))
