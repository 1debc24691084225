"""A fit that was stopped goes on to the same bytes, or refuses to and says why."""

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

import dcpf
from dcpf.inference import data as inference_data
from dcpf.inference.gammas import GammaPosterior
from dcpf.inference.vbem import Point
from dcpf.model import checkpoint as checkpoints
from dcpf.model.checkpoint import Checkpoint, Position
from dcpf.model.packing import pack, register, unpack
from dcpf.parts.excitation import Excitation
from dcpf.simulation import listening_data

COUNTS = listening_data(np.random.default_rng(0), n_users=60, n_songs=40).counts
ITERATIONS = 24  # of which the last are accelerated
THREE_ELEMENTS = ("shifted-negative-binomial", "zero-truncated-poisson", "raw")


def fit(checkpoint: Path | None = None, stop_after: int = 0, counts: Any = COUNTS, **parameters: Any) -> dcpf.DCPF:
    """A short fit, cut off by an interrupt right after an iteration if one is named."""

    def interrupt(iteration: dcpf.Iteration) -> None:
        if iteration.number == stop_after:
            raise KeyboardInterrupt

    settings = {"n_components": 4, "max_iter": ITERATIONS, "tol": 0.0, "random_state": 0, "n_jobs": 1} | parameters
    model = dcpf.DCPF(**settings, checkpoint=checkpoint, callback=interrupt if stop_after else None)
    if not stop_after:
        return model.fit(counts)
    with pytest.raises(KeyboardInterrupt):
        model.fit(counts)
    return model


def file_of(model: dcpf.DCPF, path: Path) -> bytes:
    model.save(path)
    return path.read_bytes()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "checkpoint"


# The same bytes


@pytest.mark.parametrize(
    "parameters",
    [
        *({"element": name, "accelerate": quick} for name in THREE_ELEMENTS for quick in (True, False)),
        {"dtype": "float64"},
        {"dtype": "float64", "accelerate": False},
        {"learn_element": False, "learn_rates": False},
        {"shape_prior": (0.2, 0.7), "n_components": 20},
    ],
    ids=str,
)
def test_a_fit_goes_on_from_every_third_iteration_to_the_same_bytes(
    parameters: dict[str, Any], tmp_path: Path
) -> None:
    undisturbed = file_of(fit(**parameters), tmp_path / "undisturbed")
    for number in range(1, ITERATIONS + 1, 3):
        folder = tmp_path / f"after {number}"
        fit(folder, stop_after=number, **parameters)
        assert dcpf.store.CheckpointFolder(folder).manifest().number == number
        resumed = fit(folder, **parameters)
        assert file_of(resumed, tmp_path / "resumed") == undisturbed
    assert sorted(one.name for one in tmp_path.iterdir()) == ["resumed", "undisturbed"]


@pytest.mark.parametrize("quick", [True, False])
def test_blocks_and_large_counts_and_threads_change_nothing(
    quick: bool, tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inference_data, "BLOCK_ENTRIES", 50)
    counts = COUNTS.copy()
    counts.data[::7] *= 5_003  # whose tables are interpolated
    undisturbed = file_of(fit(counts=counts, accelerate=quick, n_jobs=None), tmp_path / "m")
    for number, threads in ((1, 1), (4, 3), (16, 1), (17, 1), (21, 2)):
        fit(folder, stop_after=number, counts=counts, accelerate=quick, n_jobs=threads)
    resumed = fit(folder, counts=counts, accelerate=quick, n_jobs=2).set_params(n_jobs=None)
    assert file_of(resumed, tmp_path / "m") == undisturbed


def test_steps_that_were_taken_back_are_no_obstacle(tmp_path: Path) -> None:
    """A fit long enough to take steps back, stopped before, at and after these."""
    undisturbed = file_of(fit(max_iter=80, n_components=8), tmp_path / "m")
    for number in range(20, 80, 7):
        fit(tmp_path / "c", stop_after=number, max_iter=80, n_components=8)
    assert file_of(fit(tmp_path / "c", max_iter=80, n_components=8), tmp_path / "m") == undisturbed


def test_it_stops_where_an_undisturbed_fit_has_stopped(tmp_path: Path, folder: Path) -> None:
    """By tol, also if the checkpoint is the very last state: then nothing is left to do."""
    parameters = {"tol": 1e-3, "max_iter": 500}
    undisturbed = fit(**parameters)
    assert undisturbed.n_iter_ < 100
    for number in (undisturbed.n_iter_ // 2, undisturbed.n_iter_):
        fit(folder, stop_after=number, **parameters)
        assert fit(folder, **parameters).bounds_.tobytes() == undisturbed.bounds_.tobytes()
        fit(folder, **parameters).save(tmp_path / "m")
    assert not folder.exists()


def test_a_callback_that_ended_a_fit_ends_it_again(folder: Path) -> None:
    def enough(iteration: dcpf.Iteration) -> bool:
        seen.append(iteration.number)
        return iteration.number == 7

    seen: list[int] = []
    model = fit().set_params(callback=enough, checkpoint=folder)
    assert model.fit(COUNTS).n_iter_ == model.fit(COUNTS).n_iter_ == 7
    assert seen == [1, 2, 3, 4, 5, 6, 7, 7]


def test_an_element_that_has_come_to_a_limit_stays_there(tmp_path: Path, folder: Path) -> None:
    """Counts of one lead to p = 0. Then whether p is learned makes no difference any more."""
    ones = (COUNTS > 0).astype(int)
    undisturbed = fit(counts=ones)
    assert undisturbed.element_.limit == "raw"
    for number in (1, 3, 7):
        fit(folder, stop_after=number, counts=ones)
    assert file_of(fit(folder, counts=ones), tmp_path / "b") == file_of(undisturbed, tmp_path / "a")


def unpacked(folder: Path) -> Position:
    arrays, meta = dcpf.store.CheckpointFolder(folder).read()
    found: Position = unpack(arrays, meta["position"])
    return found


@pytest.mark.parametrize("state", [None, np.random.default_rng(3), np.random.RandomState(3)], ids=str)
def test_a_start_that_cannot_be_drawn_again_is_not_needed(state: Any, folder: Path) -> None:
    began = fit(folder, stop_after=4, random_state=state)
    assert fit(folder, random_state=state).bounds_[:4].tobytes() == began.bounds_.tobytes()


def test_a_warm_start_goes_on(tmp_path: Path, folder: Path) -> None:
    def warm() -> dcpf.DCPF:
        return fit(max_iter=3).set_params(warm_start=True, max_iter=ITERATIONS)

    def interrupt(iteration: dcpf.Iteration) -> None:
        if iteration.number == 6:
            raise KeyboardInterrupt

    undisturbed = file_of(warm().fit(COUNTS), tmp_path / "a")
    with pytest.raises(KeyboardInterrupt):
        warm().set_params(checkpoint=folder, callback=interrupt).fit(COUNTS)
    assert file_of(warm().set_params(checkpoint=folder).fit(COUNTS), tmp_path / "b") == undisturbed


def test_more_iterations_than_were_meant_first(tmp_path: Path, folder: Path) -> None:
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        fit(folder, max_iter=6, tol=1e-9)
    assert file_of(fit(folder), tmp_path / "a") == file_of(fit(), tmp_path / "b")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_batches_go_on_from_a_saved_model(dtype: str, tmp_path: Path) -> None:
    """Streams need no checkpoints: save and load between any two batches change no bit."""
    batches = [COUNTS[start::5] for start in (0, 1, 2, 3, 4, 0, 1)]
    users = [np.arange(60)[start::5] for start in (0, 1, 2, 3, 4, 0, 1)]
    whole, broken = (dcpf.DCPF(4, random_state=0, dtype=dtype) for _ in range(2))
    for batch, ids in zip(batches, users, strict=True):
        whole.partial_fit(batch, users=ids, total_users=60)
        broken.partial_fit(batch, users=ids, total_users=60).save(tmp_path / "m")
        broken = dcpf.DCPF.from_fitted(dcpf.load(tmp_path / "m"))
        assert (tmp_path / "m").read_bytes() == file_of(whole, tmp_path / "whole")


def test_batches_that_bring_new_items_go_on_from_a_saved_model(tmp_path: Path) -> None:
    counts = dcpf.Counts.from_matrix(COUNTS)
    parts = [counts.select(items=np.arange(stop)) for stop in (20, 33, 40)]
    whole, broken = dcpf.DCPF(4, random_state=0), dcpf.DCPF(4, random_state=0)
    for part in parts:
        whole.partial_fit(part)
        broken.partial_fit(part).save(tmp_path / "m")
        broken = dcpf.DCPF.from_fitted(dcpf.load(tmp_path / "m"))
        assert (tmp_path / "m").read_bytes() == file_of(whole, tmp_path / "whole")


# When it is written and when it goes


def numbers_written(monkeypatch: pytest.MonkeyPatch, run: Callable[[], object]) -> list[int]:
    real, numbers = dcpf.store.CheckpointFolder.write, []

    def write(self: Any, number: int, *what: Any) -> None:
        numbers.append(number)
        real(self, number, *what)

    with monkeypatch.context() as patch:
        patch.setattr(dcpf.store.CheckpointFolder, "write", write)
        run()
    return numbers


def test_every_tenth_iteration_and_the_last_are_written(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert numbers_written(monkeypatch, lambda: fit(folder, max_iter=34)) == [10, 20, 30, 34]
    assert numbers_written(monkeypatch, lambda: fit(folder, max_iter=46)) == [44, 46]
    assert numbers_written(monkeypatch, lambda: fit(folder, max_iter=46)) == []


def test_a_minute_is_enough_for_a_checkpoint(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a clock that goes on by 25 seconds in each iteration, and has gone on by 9 before it is looked at."""
    fit(folder, stop_after=3)
    position, seconds = unpacked(folder), [100.0]

    def iterations() -> None:
        kept = Checkpoint(tmp_path / "new", clock=lambda: seconds[0])
        seconds[0] += 9.0
        with kept:
            for number in range(1, 11):
                seconds[0] += 25.0 if number < 8 else 1.0
                kept.keep(replace(position, bounds=np.zeros(number)))

    assert numbers_written(monkeypatch, iterations) == [3, 6]


def test_iterations_are_counted_for_each_part(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last position of a part is written even if the part before it ended after as many iterations."""
    fit(folder, stop_after=3)
    position = unpacked(folder)

    def two_parts() -> None:
        with Checkpoint(tmp_path / "new") as kept:
            for kind in ("first", "second"):
                for number in range(1, 13):
                    reached = replace(position, kind=kind, bounds=np.zeros(number))
                    kept.keep(reached, ended=True if number == 12 else None)
                kept.keep(reached, ended=True)

    assert numbers_written(monkeypatch, two_parts) == [10, 12, 10, 12]
    assert unpacked(tmp_path / "new").kind == "second"


def test_without_a_checkpoint_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert numbers_written(monkeypatch, fit) == []
    assert list(tmp_path.iterdir()) == []


def test_a_fit_that_has_ended_is_kept_until_it_is_saved(tmp_path: Path, folder: Path) -> None:
    model = fit(folder)
    assert folder.exists()
    with pytest.raises(OSError, match="make the folder first"):
        model.save(tmp_path / "nowhere" / "m")
    assert fit(folder).bounds_.tobytes() == model.bounds_.tobytes()
    model.save(tmp_path / "m")
    assert [one.name for one in tmp_path.iterdir()] == ["m"]
    model.save(tmp_path / "m")


def test_a_model_that_was_interrupted_may_be_saved_and_its_fit_goes_on(tmp_path: Path, folder: Path) -> None:
    fit(folder, stop_after=5).save(tmp_path / "m")
    assert len(dcpf.load(tmp_path / "m").facts.bounds) == unpacked(folder).number == 5
    assert fit(folder).bounds_.tobytes() == fit().bounds_.tobytes()


def test_what_is_interrupted_while_later_parts_are_learned_may_be_saved_and_its_fit_goes_on(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(_: object) -> None:
        raise KeyboardInterrupt

    model = dcpf.DCPF(4, max_iter=6, tol=0.0, random_state=0, checkpoint=folder)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Excitation, "learn", interrupt)
        model.fit(COUNTS)
    assert [part.name for part in model.fitted_.parts] == ["factors"]
    model.save(tmp_path / "m")
    assert unpacked(folder).number == model.n_iter_ == 6
    assert numbers_written(monkeypatch, lambda: model.fit(COUNTS)) == [6]
    assert file_of(model, tmp_path / "a") == file_of(fit(max_iter=6), tmp_path / "b")
    assert not folder.exists()


def test_the_checkpoint_of_another_fit_is_let_be(tmp_path: Path, folder: Path) -> None:
    fit(folder)
    fit(random_state=1).set_params(checkpoint=folder).save(tmp_path / "m")
    assert folder.exists()


def test_the_folder_is_not_kept_in_the_model(tmp_path: Path, folder: Path) -> None:
    assert file_of(fit(folder), tmp_path / "a") == file_of(fit(), tmp_path / "b")
    assert "checkpoint" not in dcpf.load(tmp_path / "a").facts.parameters


def test_a_bound_that_is_not_finite_leaves_the_last_good_iteration(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dcpf.inference import vbem

    real, calls = vbem.bound, []

    def bound(*arguments: object) -> float:
        calls.append(1)
        return np.nan if len(calls) == 5 else real(*arguments)

    with monkeypatch.context() as patch, pytest.raises(FloatingPointError):
        patch.setattr(vbem, "bound", bound)
        fit(folder, accelerate=False)
    assert unpacked(folder).number == 4
    assert fit(folder, accelerate=False).bounds_.tobytes() == fit(accelerate=False).bounds_.tobytes()


# What is refused


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"n_components": 5}, "n_components=4, now 5;"),
        ({"element": "logarithmic"}, "element=ShiftedNegativeBinomial(p=0.5, a=1.0), now Logarithmic(p="),
        ({"random_state": 1}, "random_state=0, now 1;"),
        ({"random_state": None}, "random_state=0, now None;"),
        ({"shape_prior": 0.5}, "shape_prior=0.3, now 0.5;"),
        ({"learn_element": False}, "learn_element=True, now False;"),
        ({"learn_rates": False}, "learn_rates=True, now False;"),
        ({"accelerate": False}, "accelerate=True, now False;"),
        ({"dtype": "float64"}, "dtype=float32, now float64;"),
        ({"init": (np.ones((60, 4)), np.ones((40, 4)))}, "init=random, now arrays of checksum"),
        ({"n_components": 5, "dtype": "float64"}, "dtype=float32, now float64; n_components=4, now 5;"),
        ({"counts": COUNTS[:, ::-1]}, "data=60 users x 40 items, 266 counts that sum to"),
        ({"counts": COUNTS[:50]}, "now 50 users x 40 items"),
    ],
    ids=str,
)
def test_another_fit_is_refused_with_both_values(folder: Path, changed: dict[str, Any], words: str) -> None:
    fit(folder, stop_after=3)
    before = {one.name: one.read_bytes() for one in folder.iterdir()}
    with pytest.raises(ValueError, match="the checkpoint was made with .*" + re.escape(words)) as error:
        fit(folder, **changed)
    assert str(error.value).endswith(f"resume with the same, or remove {folder} to start afresh")
    assert {one.name: one.read_bytes() for one in folder.iterdir()} == before


def test_other_arrays_to_start_from_are_refused(folder: Path) -> None:
    fit(folder, stop_after=3, init=(np.ones((60, 4)), np.ones((40, 4))))
    with pytest.raises(ValueError, match=r"init=arrays of checksum .*, now arrays of checksum"):
        fit(folder, init=(np.full((60, 4), 2.0), np.ones((40, 4))))
    fit(folder, init=(np.ones((60, 4)), np.ones((40, 4))))


def test_a_checkpoint_of_another_version_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fit(folder, stop_after=3)
    monkeypatch.setattr(checkpoints, "__version__", "9.9")
    with pytest.raises(ValueError, match=rf"made with dcpf={dcpf.__version__}, now 9\.9;"):
        fit(folder)


def test_fewer_iterations_than_were_made_are_refused(folder: Path) -> None:
    fit(folder, stop_after=8)
    with pytest.raises(ValueError, match=r"has made 8 iterations already, but max_iter is 7; raise it"):
        fit(folder, max_iter=7)
    assert fit(folder, max_iter=8).n_iter_ == 8


def test_what_is_no_path_is_refused() -> None:
    with pytest.raises(TypeError, match="checkpoint must be the path of a folder or None, found 3"):
        fit(3)  # type: ignore[arg-type]


def test_a_checkpoint_that_lacks_something_is_refused(folder: Path) -> None:
    fit(folder, stop_after=3)
    store = dcpf.store.CheckpointFolder(folder)
    arrays, meta = store.read()
    for lost in ("state.W.shape", "bounds"):
        store.write(3, {name: array for name, array in arrays.items() if name != lost}, meta)
        with pytest.raises(
            dcpf.ModelFormatError, match=f"holds no whole checkpoint of a fit .*{lost}.*to start afresh"
        ):
            fit(folder)
    for lost in ("facts", "position", "ended"):
        store.write(3, arrays, {name: value for name, value in meta.items() if name != lost})
        with pytest.raises(dcpf.ModelFormatError, match="holds no whole checkpoint of a fit"):
            fit(folder)


def test_two_fits_at_a_time_do_not_share_a_folder(folder: Path) -> None:
    def second(_: dcpf.Iteration) -> None:
        with pytest.raises(ValueError, match="another fit writes its checkpoints here; name another folder"):
            fit(folder)
        asked.append(1)

    asked: list[int] = []
    fit(max_iter=2).set_params(checkpoint=folder, callback=second).fit(COUNTS)
    assert asked == [1, 1]


# Full disks and folders that are closed

LIMITED = """if True:
    import resource, sys, os, numpy as np, dcpf
    from tests.model.test_checkpoint import fit
    from pathlib import Path
    fit(max_iter=1)  # compiled code goes to files, too
    if sys.argv[2] == "full":
        resource.setrlimit(resource.RLIMIT_FSIZE, (2**12, 2**12))
    elif os.geteuid() == 0:
        os.seteuid(65534)  # the superuser may write everywhere
    try:
        fit(Path(sys.argv[1]), max_iter=30)
    except (OSError, ValueError) as error:
        print(error)
"""


def limited(folder: Path, how: str) -> str:
    root = Path(__file__).parent.parent.parent
    command = [sys.executable, "-c", LIMITED, str(folder), how]
    return subprocess.run(command, capture_output=True, text=True, check=True, cwd=root).stdout


@pytest.mark.skipif(sys.platform == "win32", reason="limits of POSIX")
def test_a_full_disk_is_an_error_with_the_file_and_the_checkpoint_stays(tmp_path: Path, folder: Path) -> None:
    fit(folder, stop_after=7, max_iter=30)
    before = {one.name: one.read_bytes() for one in folder.iterdir()}
    told = limited(folder, "full")
    assert "not saved: File too large; free some space or write to another disk" in told
    assert f"{folder}/checkpoint-b.safetensors" in told
    assert {one.name: one.read_bytes() for one in folder.iterdir()} == before
    assert file_of(fit(folder, max_iter=30), tmp_path / "a") == file_of(fit(max_iter=30), tmp_path / "b")


@pytest.mark.skipif(sys.platform == "win32", reason="modes of POSIX")
def test_a_closed_folder_is_an_error_before_the_fit_and_the_checkpoint_stays() -> None:
    with tempfile.TemporaryDirectory() as name:  # which others may enter, unlike tmp_path
        Path(name).chmod(0o755)
        folder = Path(name) / "checkpoint"
        fit(folder, stop_after=7)
        folder.chmod(0o555)
        assert f"you may not write to the folder {folder}; choose another one" in limited(folder, "closed")
        Path(name).chmod(0o555)  # closed to its owner, too, who runs this unless it is the superuser
        new = Path(name) / "new"
        assert f"{new}: you may not write to the folder {name}; choose another one" in limited(new, "closed")
        Path(name).chmod(0o755)
        folder.chmod(0o755)
        assert fit(folder).bounds_.tobytes() == fit().bounds_.tobytes()


def test_an_error_while_writing_comes_once_and_the_model_keeps_what_it_has_reached(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []

    def write(*_: object) -> None:
        calls.append(1)
        raise OSError("full")

    monkeypatch.setattr(dcpf.store.CheckpointFolder, "write", write)
    model = dcpf.DCPF(4, random_state=0, max_iter=30, tol=0, checkpoint=folder)
    with pytest.raises(OSError, match="full"):
        model.fit(COUNTS)
    assert (calls, model.n_iter_) == ([1], 10)


# Positions as arrays


def test_whatever_a_position_is_made_of_comes_back() -> None:
    """Also a state of a class that no part has yet."""

    @dataclass(frozen=True, slots=True)
    class Places:
        values: NDArray[np.float64]
        places: NDArray[np.int64]

    @dataclass(frozen=True, slots=True)
    class RicherState(Point):
        S: Places | None
        T: Places | None
        push: float | None

    for kind in (Places, RicherState):
        register(kind)
    rng = np.random.default_rng(0)
    gammas = [GammaPosterior(rng.random((3, 2)).astype("f4"), rng.random(3), rng.random(2)) for _ in range(2)]
    places = Places(rng.random(4), np.arange(4))
    state = RicherState(dcpf.elements.Logarithmic(0.1 + 0.2), *gammas, places, None, 1 / 3)
    arrays, tree = pack(Position("factors", state, np.zeros(7)))
    found = unpack(arrays, json.loads(json.dumps(tree)))
    assert (found.kind, found.number, found.parts) == ("factors", 7, ())
    assert (found.state.element, found.state.T, found.state.push) == (state.element, None, 1 / 3)
    for name in ("state.S.values", "state.S.places", "state.W.shape", "state.W.row_rate", "state.H.column_rate"):
        assert attrgetter(name)(found) is arrays[name] is attrgetter(name.removeprefix("state."))(state)
