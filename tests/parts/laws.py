"""What must hold of every part, each law a function of a case that asserts it.

`LAWS` is the table: test_contract.py runs it over all elements and all parts of the package, test_third_part.py over
a part that is not one of them. A case has a model with all parts, and the same model with one part alone.
"""

import inspect
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from tests.parts.cases import (
    COUNTS,
    ITEMS,
    SINGLE,
    USERS,
    Case,
    batch_of,
    everything,
    fitted,
    histories,
    met,
    rates_of,
    rates_of_batch,
)

import dcpf
from dcpf.counts import Counts
from dcpf.inference import data
from dcpf.kernels.threads import Threads
from dcpf.model import FittedModel
from dcpf.parts import Part, UserBatch
from dcpf.ranking.rates import Items, ItemSide, Rates, scores


def hold(law: Callable[..., None], case: Case, folder: Path) -> None:
    """Assert a law; some write files."""
    law(case, folder) if "folder" in inspect.signature(law).parameters else law(case)


# -- a part by itself ------------------------------------------------------------------------------------


def the_part_is_wanted_and_learned(case: Case) -> None:
    assert case.part is not None
    assert rates_of(case.alone).max() > 0.0


def both_sides_are_finite_and_not_negative(case: Case) -> None:
    for one in (case.alone, case.whole):
        users, items = one.rates(met(one, batch_of(one, np.arange(USERS)))), one.item_side
        for values in (*users.users[:1], users.users.X.data, items.H, items.S.data):
            assert np.isfinite(values).all()
            assert (values >= 0.0).all()


def a_part_of_another_size_is_refused(case: Case) -> None:
    case.part.check(USERS, ITEMS)
    for users, items in ((USERS, ITEMS + 1), (USERS, ITEMS - 1)):
        with pytest.raises(ValueError, match="shape"):
            case.part.check(users, items)


def variances_are_finite_and_not_negative(case: Case) -> None:
    users, items = np.divmod(np.arange(0, USERS * ITEMS, 7), ITEMS)
    (one,) = met(case.alone, batch_of(case.alone, np.arange(USERS)))
    found = one.variance(users, items)
    assert np.isfinite(found).all()
    assert (found >= 0.0).all()


def a_pickle_and_a_copy_answer_the_same(case: Case) -> None:
    for one in (case.alone, case.whole):
        np.testing.assert_array_equal(rates_of(pickle.loads(pickle.dumps(one))), rates_of(one))


# -- rates, lists, totals and explanations ---------------------------------------------------------------


def rates_at_pairs_equal_rates_in_lists_to_the_bit(case: Case) -> None:
    for one in (case.alone, case.whole):
        for rows in (np.arange(USERS), np.arange(5)):
            rates, (pairs, nothing) = one.rates(met(one, batch_of(one, rows))), everything(len(rows))
            with Threads(2) as threads:
                at = rates.at(pairs, threads).reshape(len(rows), ITEMS)
                ranked = rates.lists(ITEMS, nothing, threads)
            columns, listed = (a.reshape(len(rows), ITEMS) for a in (ranked.columns, ranked.scores))
            smallest = np.finfo(np.float64).tiny
            np.testing.assert_array_equal(np.take_along_axis(at, columns, 1), np.maximum(listed, smallest))
            np.testing.assert_array_equal(at, np.maximum(scores(rates.users, rates.items), smallest))


def lists_by_numpy_equal_lists_by_compiled_code_to_the_bit(case: Case) -> None:
    for one in (case.alone, case.whole):
        few = one.rates(met(one, batch_of(one, np.arange(8))))
        items = Items(ItemSide(few.items.H, few.items.S), np.ones(few.items.H.shape[1]))
        few, seen = Rates(few.users, items, few.link), sparse.csr_array(COUNTS.matrix[:8])
        with Threads(1) as threads:
            assert not few.items.is_laid_out
            by_numpy = few.lists(10, seen, threads)
            assert few.items.layout
            compiled = few.lists(10, seen, threads)
        for name in ("indptr", "columns", "scores"):
            np.testing.assert_array_equal(getattr(by_numpy, name), getattr(compiled, name))


def totals_are_sums_of_rates(case: Case) -> None:
    for one in (case.alone, case.whole):
        rates = rates_of(one)
        by_user = one.rates(met(one, batch_of(one, np.arange(USERS)))).by_user()
        np.testing.assert_allclose(by_user, rates.sum(axis=1), rtol=1e-9)
        np.testing.assert_allclose(one.popularity, rates.sum(axis=0), rtol=SINGLE)
        assert sum(one.sessions_by_part.values()) == pytest.approx(rates.sum(), rel=SINGLE)


def the_whole_is_the_weighted_sum_of_its_parts(case: Case) -> None:
    alone = [replace(case.whole, parts=(part,), weights=(1.0,)) for part in case.whole.parts]
    wanted = sum(weight * rates_of(one) for weight, one in zip(case.whole.weights, alone, strict=True))
    np.testing.assert_allclose(rates_of(case.whole), wanted, rtol=SINGLE)


def an_explanation_adds_up_to_the_rate(case: Case) -> None:
    history = dict(zip(COUNTS.items.at(COUNTS.matrix[[3]].indices), COUNTS.matrix[[3]].data.tolist(), strict=True))
    for one in (case.alone, case.whole):
        known, fresh = rates_of(one, np.array([3]))[0], rates_of_batch(one, histories(np.array([3])))[0]
        for user, given, rates in ((COUNTS.users[3], None, known), (None, history, fresh)):
            for item, why in enumerate(one.explain_items(user, list(COUNTS.items), history=given)):
                rate = max(rates[item], np.finfo(np.float64).tiny)
                assert why.score == rate
                assert sum(why.by_part.values()) == pytest.approx(rate, rel=SINGLE, abs=1e-12)
                assert why.prior + why.parts.sum() == pytest.approx(rate, rel=SINGLE, abs=1e-12)
                assert list(why.by_part) == [part.name for part in one.parts]


# -- users and items that come and go --------------------------------------------------------------------


def a_new_user_is_rated_as_one_who_brings_the_same_history(case: Case) -> None:
    for one in (case.alone, case.whole):
        changed = one.partial_fit_users(COUNTS.matrix[[4, 9]], ["new", COUNTS.users[7]])
        new = changed.users.find_all(["new", COUNTS.users[7]])
        np.testing.assert_allclose(rates_of(changed, new), rates_of_batch(one, histories(np.array([4, 9]))), SINGLE)
        others = np.delete(np.arange(USERS), 7)
        np.testing.assert_allclose(
            rates_of(changed, changed.users.find_all(one.users.at(others))), rates_of(one, others), SINGLE
        )


def a_new_item_leaves_the_others_as_they_are(case: Case) -> None:
    """Its own rates are the same whether it comes alone or with others. Who has it has another history then."""
    one = case.alone
    columns = sparse.csr_array(COUNTS.matrix[:, [0, 1]] * (np.arange(USERS) < 9)[:, None])
    apart = one.partial_fit_items(columns[:, [0]], ["a"]).partial_fit_items(columns[:, [1]], ["b"])
    together = one.partial_fit_items(columns, ["a", "b"])
    a, b = together.items.find_all(["a", "b"])
    unmoved = np.arange(9, USERS)
    old = together.items.find_all(list(one.items))
    np.testing.assert_allclose(rates_of(together, unmoved)[:, old], rates_of(one, unmoved), rtol=SINGLE)
    for new in (a, b):
        np.testing.assert_allclose(rates_of(together)[:, new], rates_of(apart)[:, new], rtol=SINGLE)


def who_stays_is_rated_the_same_when_others_are_forgotten(case: Case) -> None:
    gone = [0, 5, 6, USERS - 1]
    stay = np.delete(np.arange(USERS), gone)
    for one in (case.alone, case.whole):
        changed = one.forget_users(one.users.at(np.array(gone)))
        np.testing.assert_array_equal(rates_of(changed), rates_of(one, stay))
        changed.part(case.kind.name).check(len(stay), ITEMS)


def a_batch_of_users_leaves_a_model_that_answers_for_all(case: Case) -> None:
    model = dcpf.DCPF.from_fitted(case.whole, n_jobs=1)
    model.partial_fit(Counts.from_matrix(COUNTS.matrix[:3], ["x", "y", COUNTS.users[2]], COUNTS.items))
    assert rates_of(model.fitted_).shape == (USERS + 2, ITEMS)
    model.fitted_.part(case.kind.name).check(USERS + 2, ITEMS)


def a_history_is_answered_without_what_is_known_of_users(case: Case) -> None:
    one, batch = case.alone, histories(np.arange(20))
    bare = replace(one, parts=(case.part.without_users(),), history=None)
    np.testing.assert_array_equal(rates_of_batch(bare, batch), rates_of_batch(one, batch))


def nobody_in_particular_is_rated_too(case: Case) -> None:
    nothing = sparse.csr_array((1, ITEMS), dtype=np.int64)
    found = rates_of_batch(case.whole, UserBatch(np.array([-1]), np.zeros(1, dtype=bool), nothing))
    assert np.isfinite(found).all()
    assert found.min() >= 0.0 < found.max()


# -- files, threads, blocks and interrupts ---------------------------------------------------------------


def bytes_of(model: FittedModel | dcpf.DCPF, folder: Path) -> bytes:
    model.save(folder / "model.safetensors")
    return (folder / "model.safetensors").read_bytes()


def a_loaded_model_has_the_same_bits(case: Case, folder: Path) -> None:
    for one in (case.alone, case.whole):
        written = bytes_of(one, folder)
        loaded = dcpf.load(folder / "model.safetensors")
        np.testing.assert_array_equal(rates_of(loaded), rates_of(one))
        np.testing.assert_array_equal(loaded.popularity, one.popularity)
        assert bytes_of(loaded, folder) == written


def the_bits_are_the_same_for_any_number_of_threads(case: Case, folder: Path) -> None:
    assert bytes_of(case.fit(n_jobs=3), folder) == bytes_of(case.whole, folder)
    (pairs, nothing), one = everything(USERS), case.alone
    found = []
    for count in (1, 3):
        with Threads(count) as threads:
            rates = one.rates(one.meet(batch_of(one, np.arange(USERS)), threads))
            ranked = rates.lists(7, nothing, threads)
            found.append((rates.at(pairs, threads), ranked.columns, ranked.scores))
    for first, second in zip(*found, strict=True):
        np.testing.assert_array_equal(first, second)


def blocks_change_nothing_but_rounding(case: Case) -> None:
    whole = fitted(case.element, case.kinds, dtype="float64")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(data, "BLOCK_ENTRIES", 97)
        cut = case.fit(dtype="float64").fitted_
    parts = [replace(one, parts=(one.part(case.kind.name),), weights=(1.0,)) for one in (whole, cut)]
    np.testing.assert_allclose(rates_of(parts[1]), rates_of(parts[0]), rtol=SINGLE, atol=1e-9)


@contextmanager
def interrupted_after(kind: type[Part], states: int) -> Iterator[None]:
    """Learning the part ends by an interrupt after this many states."""
    learn = kind.learn

    def some(job: Any) -> Iterator[Any]:
        for number, state in enumerate(learn(job)):
            if number == states:
                break
            yield state
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(kind, "learn", some)
        yield


def a_fit_that_was_interrupted_resumes_to_the_same_bytes(case: Case, folder: Path) -> None:
    undisturbed = bytes_of(case.whole, folder)
    for states in (0, 1, 3):
        checkpoint = folder / f"after {states}"
        with interrupted_after(case.kind, states):
            case.fit(checkpoint=checkpoint)
        assert bytes_of(case.fit(checkpoint=checkpoint), folder) == undisturbed


LAWS = [
    the_part_is_wanted_and_learned,
    both_sides_are_finite_and_not_negative,
    a_part_of_another_size_is_refused,
    variances_are_finite_and_not_negative,
    a_pickle_and_a_copy_answer_the_same,
    rates_at_pairs_equal_rates_in_lists_to_the_bit,
    lists_by_numpy_equal_lists_by_compiled_code_to_the_bit,
    totals_are_sums_of_rates,
    the_whole_is_the_weighted_sum_of_its_parts,
    an_explanation_adds_up_to_the_rate,
    a_new_user_is_rated_as_one_who_brings_the_same_history,
    a_new_item_leaves_the_others_as_they_are,
    who_stays_is_rated_the_same_when_others_are_forgotten,
    a_batch_of_users_leaves_a_model_that_answers_for_all,
    a_history_is_answered_without_what_is_known_of_users,
    nobody_in_particular_is_rated_too,
    a_loaded_model_has_the_same_bits,
    the_bits_are_the_same_for_any_number_of_threads,
    blocks_change_nothing_but_rounding,
    a_fit_that_was_interrupted_resumes_to_the_same_bytes,
]
