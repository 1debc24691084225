"""A new part is one new file: the one in CONTRIBUTING.md obeys every law, is learned, ranked, saved and forgotten."""

import importlib.util
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from tests.parts.cases import COUNTS, ITEMS, USERS, Case, fit, fitted, rates_of
from tests.parts.laws import LAWS, a_fit_that_was_interrupted_resumes_to_the_same_bytes, hold, interrupted_after

import dcpf
from dcpf import parts
from dcpf.elements import Element
from dcpf.model.fit import SHARE
from dcpf.parts import Learning, Part

pytestmark = pytest.mark.quick

PAGE = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")
(TEXT,) = re.findall(r"`src/dcpf/parts/popularity\.py`:\n\n```python\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture(scope="module")
def popularity(tmp_path_factory: pytest.TempPathFactory) -> Iterator[type[Part]]:
    """The part, imported from a file of its own and forgotten after the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Part, "registry", dict(Part.registry))
        path = tmp_path_factory.mktemp("own") / "popularity.py"
        path.write_text(TEXT, encoding="utf-8")
        spec = importlib.util.spec_from_file_location("popularity", path)
        module = importlib.util.module_from_spec(spec)
        patch.setitem(sys.modules, "popularity", module)
        spec.loader.exec_module(module)
        yield module.Popularity


@pytest.fixture
def case(popularity: type[Part]) -> Case:
    return Case("logarithmic", popularity, (*parts.kinds(), popularity))


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_it_obeys(law: Callable[..., None], case: Case, tmp_path: Path) -> None:
    hold(law, case, tmp_path)


@pytest.mark.parametrize("kind", parts.kinds(), ids=lambda kind: kind.name)
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_the_others_obey_beside_it(law: Callable[..., None], kind: type[Part], case: Case, tmp_path: Path) -> None:
    hold(law, Case(case.element, kind, case.kinds), tmp_path)


def test_a_part_that_iterates_is_resumed_by_itself(case: Case, tmp_path: Path) -> None:
    """Its states are the part itself, with a bound and an element."""

    @dataclass(frozen=True)
    class Iterated(case.kind):  # type: ignore[name-defined]
        name: ClassVar[str] = "iterated"
        bound: float
        element: Element

        @classmethod
        def learn(cls, job: Learning) -> Iterator["Iterated"]:
            (first,) = case.kind.learn(job)
            state = job.start or cls(**vars(first), bound=-1.0, element=job.element)
            while True:
                yield state
                state = replace(state, scale=1.1 * state.scale, bound=0.5 * state.bound)

    iterated = Case(case.element, Iterated, (*parts.kinds(), Iterated))
    a_fit_that_was_interrupted_resumes_to_the_same_bytes(iterated, tmp_path)
    assert iterated.part.bound == -(0.5**5)
    assert iterated.part.scale == pytest.approx(case.part.scale * 1.1**5)


def test_it_is_learned_only_where_it_is_asked_for(case: Case) -> None:
    assert case.kind not in parts.kinds()
    assert [part.name for part in case.fit().fitted_.parts] == ["factors", "excitation", "popularity"]
    assert [part.name for part in fit("logarithmic", parts.kinds()).fitted_.parts] == ["factors", "excitation"]


def test_its_rates_are_activity_times_popularity(case: Case) -> None:
    has = COUNTS.matrix.toarray() > 0
    wanted = np.outer(has.sum(axis=1), has.sum(axis=0)) * (1.0 - SHARE) / has.sum()
    np.testing.assert_allclose(rates_of(case.alone), wanted, rtol=1e-6)
    items, _ = case.alone.recommend(COUNTS.users[0], n=ITEMS, exclude_seen=False)
    np.testing.assert_array_equal(items, COUNTS.items.at(np.argsort(-has.sum(axis=0), kind="stable")))


def test_components_are_those_of_the_factors(case: Case) -> None:
    why = case.whole.explain(COUNTS.users[0], COUNTS.items[0])
    assert len(why.components) == 4
    assert why.components.sum() == pytest.approx(why.by_part["factors"])
    about = case.whole.describe()
    sessions = case.whole.sessions_by_part
    assert about.excited == pytest.approx(sessions["excitation"] / sum(sessions.values()))


def test_refit_parts_learns_it_after_the_factors(case: Case) -> None:
    factors = dcpf.DCPF.from_fitted(fitted("logarithmic", parts.kinds(), n_neighbors=0), n_neighbors=200, n_jobs=1)
    refitted = factors.refit_parts(kinds=case.kinds).fitted_
    np.testing.assert_array_equal(rates_of(refitted), rates_of(case.whole))


def test_a_model_that_was_saved_without_its_counts_still_ranks_by_it(case: Case, tmp_path: Path) -> None:
    case.alone.save(tmp_path / "model", history=False)
    lists, _ = dcpf.load(tmp_path / "model").recommend(n=5, exclude_seen=False)
    assert len(lists) == USERS
    with pytest.raises(ValueError, match="or exclude_seen=False to allow items"):
        dcpf.load(tmp_path / "model").recommend(n=5)


def test_a_file_with_it_is_refused_until_it_is_imported(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case.whole.save(tmp_path / "model")
    monkeypatch.delitem(Part.registry, "popularity")
    with pytest.raises(dcpf.ModelFormatError, match="if it is one of your own, import its file first"):
        dcpf.load(tmp_path / "model")


def test_a_checkpoint_made_while_learning_it_is_not_resumed_without_it(case: Case, tmp_path: Path) -> None:
    with interrupted_after(case.kinds[0], 3):
        case.fit(checkpoint=tmp_path / "checkpoint")
    with pytest.raises(ValueError, match="made while learning factors, which is not among"):
        fit(case.element, case.kinds[1:], checkpoint=tmp_path / "checkpoint")
