"""What is written to the journal comes back, and what is not of it is refused."""

import math
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dcpf.experiments.journal import Journal, Record
from dcpf.experiments.pace import Pace
from dcpf.paper.protocol import Job

ABOUT = {"version": "1", "data": "abc"}


def record(
    model: str = "Log", start: int = 0, *, components: int = 10, iterations: int = 7, ndcg: float = 0.25
) -> Record:
    return Record(
        job=Job(model, 10, 0.3, start),
        parameters={"p": 0.1 + 0.2},
        iterations=iterations,
        converged=True,
        bound=-1 / 3,
        sessions_share=0.5,
        metrics={"ndcg": {"0": ndcg, "5": math.nan}, "coverage": {"": 0.5}},
        fit_seconds=0.02 * iterations * 10,
        judge_seconds=3.0,
        trace=((0.1, -2.0), (0.2, -1 / 3)),
    )


def test_records_come_back_bit_by_bit(tmp_path: Path) -> None:
    with Journal(tmp_path / "j", ABOUT) as journal:
        journal.add(record())
        journal.add(record("Geo", 1))
    with Journal(tmp_path / "j", ABOUT) as journal:
        assert list(journal.records) == [record().job, record("Geo", 1).job]
        found = journal.records[record().job]
    assert repr(found) == repr(record())  # NaN is not equal to itself


def test_a_record_is_in_the_file_as_soon_as_it_is_added(tmp_path: Path) -> None:
    with Journal(tmp_path / "j", ABOUT) as journal:
        journal.add(record())
        assert (tmp_path / "j").read_bytes().endswith(record().to_line())


@settings(max_examples=40, deadline=None)
@given(cut=st.integers(0, 1500))
def test_whatever_is_cut_off_the_lines_before_are_kept(tmp_path_factory: pytest.TempPathFactory, cut: int) -> None:
    path = tmp_path_factory.mktemp("cut") / "j"
    every = [record(start=start) for start in range(3)]
    with Journal(path, ABOUT) as journal:
        for one in every:
            journal.add(one)
    whole = path.read_bytes()
    path.write_bytes(whole[: max(len(whole) - cut, 0)])
    kept = max(path.read_bytes().count(b"\n") - 1, 0)
    with Journal(path, ABOUT) as journal:
        assert list(journal.records) == [one.job for one in every[:kept]]
        for one in every[kept:]:
            journal.add(one)
    assert path.read_bytes() == whole


def test_the_last_record_of_a_job_counts(tmp_path: Path) -> None:
    with Journal(tmp_path / "j", ABOUT) as journal:
        journal.add(record(ndcg=0.1))
        journal.add(record(ndcg=0.9))
    with Journal(tmp_path / "j", ABOUT) as journal:
        assert [one.ndcg(0) for one in journal.records.values()] == [0.9]


@pytest.mark.parametrize("line", [b"{}\n", b"nonsense\n", b"[1, 2]\n", b'{"job": {"model": 1}}\n', b"\xff\n"])
def test_a_broken_line_in_the_middle_is_named_and_nothing_is_changed(tmp_path: Path, line: bytes) -> None:
    with Journal(tmp_path / "j", ABOUT) as journal:
        journal.add(record())
    broken = (tmp_path / "j").read_bytes() + line + record(start=1).to_line()
    (tmp_path / "j").write_bytes(broken)
    with (
        pytest.raises(ValueError, match=r"j, line 3: not what a run writes .*-o.*--restart"),
        Journal(tmp_path / "j", ABOUT),
    ):
        pass
    assert (tmp_path / "j").read_bytes() == broken


@pytest.mark.parametrize("first", [b"thesis\n", b"[]\n", b'"x"\n'])
def test_a_file_that_is_no_journal_is_refused(tmp_path: Path, first: bytes) -> None:
    (tmp_path / "j").write_bytes(first)
    with pytest.raises(ValueError, match="line 1: not what a run writes"), Journal(tmp_path / "j", ABOUT):
        pass
    assert (tmp_path / "j").read_bytes() == first


def test_a_journal_of_another_format_is_refused(tmp_path: Path) -> None:
    (tmp_path / "j").write_bytes(b'{"format": 2, "version": "1", "data": "abc", "new": 1}\n')
    with (
        pytest.raises(ValueError, match="format 2 there, 1 here; new 1 there, None here"),
        Journal(tmp_path / "j", ABOUT),
    ):
        pass


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such locks")
def test_two_runs_do_not_write_to_one_journal(tmp_path: Path) -> None:
    with Journal(tmp_path / "j", ABOUT) as first:
        first.add(record())
        with (
            pytest.raises(ValueError, match="being written by another run"),
            Journal(tmp_path / "j", ABOUT, restart=True),
        ):
            pass
    with Journal(tmp_path / "j", ABOUT) as again:
        assert len(again.records) == 1


def test_nothing_is_known_of_the_time_before_the_first_iteration() -> None:
    assert Pace().left([record().job]) is None


def test_the_first_fit_is_reckoned_from_its_own_iterations() -> None:
    assert Pace().left([record().job], iteration=50, seconds=10.0) == pytest.approx(150 * 0.2)


def test_time_left_grows_with_components_and_with_iterations_of_the_same_model() -> None:
    pace = Pace([record("Log", iterations=10), record("Geo", iterations=30)])
    each = 3.0  # of judging
    assert pace.left([Job("Log", 10, 0.3, 1)]) == pytest.approx(10 * 10 * 0.02 + each)
    assert pace.left([Job("Geo", 20, 0.3, 1)]) == pytest.approx(30 * 20 * 0.02 + each)
    assert pace.left([Job("ZTP", 10, 0.3, 1)]) == pytest.approx(20 * 10 * 0.02 + each)
    assert pace.left([Job("Log", 10, 0.3, 1)], iteration=4, seconds=9.0) == pytest.approx(6 * 10 * 0.02 + each)
    assert pace.left([]) == 0.0


def test_a_file_of_something_else_is_not_cut(tmp_path: Path) -> None:
    (tmp_path / "j").write_text("user,item")  # one line, without an end
    with pytest.raises(ValueError, match="line 1: not what a run writes"), Journal(tmp_path / "j", ABOUT):
        pass
    assert (tmp_path / "j").read_text() == "user,item"
