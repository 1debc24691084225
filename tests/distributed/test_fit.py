"""A fit on a cluster has the bits of a fit on one machine, whatever happens to the workers."""

import contextlib
import errno
import os
import platform
import random
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.exceptions import NotFittedError
from tests.distributed.conftest import saved

import dcpf
from dcpf.distributed import fit, recommend
from dcpf.distributed.cluster import check_secure

LIMIT = 300.0  # seconds after which a fit that takes two is said to hang, on however busy a machine

pytestmark = pytest.mark.usefixtures("small_blocks")


def model(**changes: Any) -> dcpf.DCPF:
    return dcpf.DCPF(**{"n_components": 4, "random_state": 0, "max_iter": 24, "tol": 0.0, "n_neighbors": 5} | changes)


@pytest.fixture
def alone(files: Path, tmp_path: Path) -> bytes:
    """The model file of one machine."""
    return saved(model().fit(dcpf.read_counts(files)), tmp_path / "alone.safetensors")


def scale(client: Any, number: int) -> None:
    """Wait until there are as many workers as this.

    The client's own `wait_for_workers` makes the cluster forget those whose end it has not yet been told of; when it
    is told, it fails (Dask 2026.8).
    """
    client.cluster.scale(number)
    end = time.monotonic() + LIMIT
    while len(client.scheduler_info(n_workers=-1)["workers"]) != number:
        assert time.monotonic() < end, f"there are not {number} workers after {LIMIT:.0f} seconds"
        time.sleep(0.05)


@contextlib.contextmanager
def workers(client: Any, number: int) -> Iterator[None]:
    """As many workers as this, and then two again."""
    scale(client, number)
    try:
        yield
    finally:
        client.cluster.scale(2)


@contextlib.contextmanager
def limited() -> Iterator[None]:
    """A fit that hangs is a failure, not a test run that never ends."""

    def stop(*_: object) -> None:
        raise TimeoutError(f"the fit has not ended after {LIMIT:.0f} seconds")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, LIMIT)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def living(client: Any) -> list[int]:
    """The processes of the workers."""
    return [nanny.pid for nanny in list(client.cluster.workers.values()) if nanny.pid is not None]


def send(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


@pytest.mark.parametrize("number", [1, 2, 4])
def test_the_model_file_is_that_of_one_machine(
    number: int, files: Path, alone: bytes, client: Any, tmp_path: Path
) -> None:
    with workers(client, number), limited():
        found = fit(model(), files, client)
    assert saved(found, tmp_path / "found.safetensors") == alone
    assert not list(Path(f"{files}.dcpf").glob("fit-*"))


@pytest.mark.parametrize(
    "changes", [{"accelerate": False, "element": "geometric"}, {"dtype": "float64"}, {"learn_rates": False}]
)
def test_other_parameters_give_the_file_of_one_machine_too(
    changes: dict[str, Any], files: Path, client: Any, tmp_path: Path
) -> None:
    changes |= {"max_iter": 20}
    expected = saved(model(**changes).fit(dcpf.read_counts(files)), tmp_path / "alone.safetensors")
    with limited():
        assert saved(fit(model(**changes), files, client), tmp_path / "found.safetensors") == expected


def test_the_same_bits_when_workers_are_killed_all_the_time(
    files: Path, alone: bytes, client: Any, tmp_path: Path
) -> None:
    """Ten kills at random moments. A killed worker is started again, and gets blocks when they are balanced anew."""
    rng, kills = random.Random(0), []

    def kill(iteration: dcpf.Iteration) -> None:
        if (2 <= iteration.number < 24 and iteration.number % 2 == 0) or len(kills) < iteration.number // 3:
            pids = living(client)
            if pids:
                kills.append(rng.choice(pids))
                threading.Timer(rng.uniform(0.0, 0.05), send, (kills[-1], signal.SIGKILL)).start()
                time.sleep(0.02)

    with workers(client, 3), limited():
        found = fit(model(callback=kill), files, client)
        assert len(kills) >= 10
        assert saved(found, tmp_path / "found.safetensors") == alone


def test_a_worker_that_joins_is_given_blocks(files: Path, alone: bytes, client: Any, tmp_path: Path) -> None:
    """And one that stands still for a while holds things up, but changes nothing."""

    def change(iteration: dcpf.Iteration) -> None:
        if iteration.number == 3:
            scale(client, 3)
        if iteration.number == 14:
            pid = living(client)[0]
            send(pid, signal.SIGSTOP)
            threading.Timer(1.0, send, (pid, signal.SIGCONT)).start()

    from dcpf.distributed.blocks import Assignment

    balanced: list[int] = []
    real = Assignment.balance

    def balance(self: Assignment, workers: dict[str, int]) -> set[int]:
        moved = real(self, workers)
        balanced.append(len(set(self.worker_of.values())))
        return moved

    with workers(client, 2), limited(), pytest.MonkeyPatch.context() as patched:
        patched.setattr(Assignment, "balance", balance)
        found = fit(model(callback=change), files, client)
    assert balanced[0] == 2
    assert max(balanced) == 3
    assert saved(found, tmp_path / "found.safetensors") == alone


@pytest.mark.parametrize("last", [3, 13])
def test_a_fit_whose_driver_has_gone_goes_on_from_its_checkpoint(
    last: int, files: Path, alone: bytes, client: Any, tmp_path: Path
) -> None:
    class GoneError(Exception):
        pass

    def go(iteration: dcpf.Iteration) -> None:
        if iteration.number == last:
            raise GoneError

    folder, heard = tmp_path / "checkpoint", []
    with limited():
        with pytest.raises(GoneError):
            fit(model(callback=go, checkpoint=folder), files, client)
        found = fit(model(callback=lambda one: heard.append(one.number), checkpoint=folder), files, client)
    assert heard[0] == (10 if last > 10 else 1)
    found.save(tmp_path / "found.safetensors")
    assert not folder.exists()
    assert saved(found, tmp_path / "found.safetensors") == alone


def test_a_checkpoint_that_cannot_be_written_leaves_the_one_before(
    files: Path, alone: bytes, client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dcpf.store import CheckpointFolder

    real = CheckpointFolder.write

    def write(self: CheckpointFolder, number: int, *content: Any) -> None:
        if number > 10:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(self, number, *content)

    folder, heard = tmp_path / "checkpoint", []
    with limited():
        with monkeypatch.context() as full, pytest.raises(OSError, match="No space"):
            full.setattr(CheckpointFolder, "write", write)
            fit(model(checkpoint=folder), files, client)
        found = fit(model(callback=lambda one: heard.append(one.number), checkpoint=folder), files, client)
    assert heard[0] == 10
    assert saved(found, tmp_path / "found.safetensors") == alone


def test_workers_let_go_of_a_fit_that_has_ended(files: Path, client: Any) -> None:
    def kept() -> set[
        str
    ]:  # of other tests, some may be: a fit that broke off may have a command under way at its end
        found = client.run(lambda: set(getattr(sys.modules.get("dcpf.distributed.worker"), "_fits", ())))
        return set().union(*found.values())

    with limited():
        before, during = kept(), set[str]()
        fit(model(max_iter=2, callback=lambda _: during.update(kept() - before)), files, client)
        assert len(during) == 1
        while kept() & during:
            time.sleep(0.05)


def test_what_a_killed_driver_has_left_goes_with_the_next_fit(files: Path, client: Any) -> None:
    left = Path(f"{files}.dcpf", f"fit-{'0' * 32}")
    with limited():
        fit(model(max_iter=2), files, client)
        left.mkdir()
        (left / "driver").write_text(platform.node())
        fit(model(max_iter=2), files, client)
    assert not left.exists()


def test_a_checkpoint_of_another_fit_is_refused(files: Path, client: Any, tmp_path: Path) -> None:
    folder = tmp_path / "checkpoint"
    fit(model(checkpoint=folder, max_iter=11), files, client)
    with pytest.raises(ValueError, match=r"n_components=4, now 5"):
        fit(model(checkpoint=folder, n_components=5), files, client)
    with pytest.raises(ValueError, match=r"the checkpoint was made with .*data="):
        model(checkpoint=folder).fit(dcpf.read_counts(files))


def test_workers_can_write_the_users_and_the_model_hold_items_only(files: Path, client: Any, tmp_path: Path) -> None:
    whole = fit(model(n_neighbors=0), files, client)
    items = fit(model(n_neighbors=0), files, client, user_factors=tmp_path / "users")
    table = pl.read_parquet(tmp_path / "users" / "*.parquet").sort("user")
    assert table["user"].to_list() == list(whole.users_)
    np.testing.assert_array_equal(table["factors"].to_numpy(), whole.user_factors)
    items.save(tmp_path / "items.safetensors")
    again = dcpf.load(tmp_path / "items.safetensors")
    assert again.part("factors").items.H.tobytes() == whole.item_factors.tobytes()
    assert list(again.users) == ["average"]
    np.testing.assert_allclose(again.part("factors").user_means[0], whole.user_factors.mean(axis=0), rtol=1e-5)
    history = {whole.items_[0]: 3, whole.items_[5]: 1}
    for one, other in zip(again.recommend(history=history, n=5), whole.recommend(history=history, n=5), strict=True):
        np.testing.assert_array_equal(one, other)
    assert again.describe().data["users"] == len(whole.users_)


@pytest.mark.parametrize(
    ("spelt", "names"),
    [(True, {12: "Blur", 15: "Cure"}), (False, {"12": "Blur", "15": "Cure"})],
    ids=["integers for strings", "strings for integers"],
)
@pytest.mark.parametrize("elsewhere", [False, True])
def test_names_find_their_items_as_on_one_machine(
    spelt: bool, names: dict[Any, str], elsewhere: bool, client: Any, tmp_path: Path
) -> None:
    item = ["007", "12", "15"] if spelt else [7, 12, 15]
    pl.DataFrame({"user": [1, 1, 2], "item": item, "count": [3, 1, 2]}).write_parquet(tmp_path / "plays.parquet")
    folder = tmp_path / "users" if elsewhere else None
    found = fit(
        model(max_iter=2, n_neighbors=0), tmp_path / "plays.parquet", client, user_factors=folder, names=names
    )
    alone = dcpf.read_counts(tmp_path / "plays.parquet", names=names)
    assert found.names_ is not None
    assert alone.names is not None
    assert list(found.names_) == list(alone.names) == ["", "Blur", "Cure"]


def test_of_several_columns_of_ids_in_a_file_of_names_the_one_that_is_meant_is_taken(
    client: Any, tmp_path: Path
) -> None:
    pl.DataFrame({"user": [7, 7], "item": ["1", "3"], "count": [1, 2]}).write_parquet(tmp_path / "plays.parquet")
    table = pl.DataFrame({"code": [1, 2, 3], "id": ["0", "1", "3"], "name": ["Abba", "Blur", "Cure"]})
    table.write_parquet(tmp_path / "names.parquet")
    found = fit(
        model(max_iter=2, n_neighbors=0), tmp_path / "plays.parquet", client, names=tmp_path / "names.parquet"
    )
    assert found.names_ is not None
    assert list(found.names_) == ["Blur", "Cure"]


def test_names_of_other_items_are_refused_before_the_fit(files: Path, client: Any) -> None:
    heard: list[int] = []
    with pytest.raises(dcpf.InvalidCounts, match=r"names: none of its 1 ids? is an item.* 0; .*'abba'"):
        fit(model(callback=lambda one: heard.append(one.number)), files, client, names={"abba": "Abba"})
    assert not heard


def test_a_file_of_names_that_is_not_there_is_told_before_any_work(files: Path, client: Any, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        fit(model(), files, client, names=tmp_path / "nowhere")
    assert not Path(f"{files}.dcpf").exists()


@pytest.mark.parametrize("kept", [False, True])
def test_what_a_fit_reads_is_not_prepared_anew_while_it_runs(
    kept: bool, files: Path, alone: bytes, client: Any, tmp_path: Path
) -> None:
    """Whether its blocks are kept beside the counts, or with a checkpoint."""

    def disturb(iteration: dcpf.Iteration) -> None:
        if iteration.number == 3:
            with pytest.raises(ValueError, match=r"plays\.dcpf/fit-[0-9a-f]{32} .*still runs.*prepared="):
                fit(model(), files, client, user_column="item", item_column="user")

    with limited():
        found = fit(model(callback=disturb, checkpoint=tmp_path / "kept" if kept else None), files, client)
    assert saved(found, tmp_path / "found.safetensors") == alone
    assert not list(Path(f"{files}.dcpf").glob("fit-*"))


def test_counts_that_can_only_be_read_will_do_with_a_checkpoint(
    files: Path, alone: bytes, client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr("dcpf.distributed.fitting.scratch_folder", refuse)
    with limited():
        found = fit(model(checkpoint=tmp_path / "kept"), files, client)
    assert saved(found, tmp_path / "found.safetensors") == alone


def test_users_that_stay_elsewhere_leave_nothing_to_learn_excitation_from(files: Path, client: Any) -> None:
    with pytest.raises(ValueError, match=r"n_neighbors=5 .*set n_neighbors=0"):
        fit(model(), files, client, user_factors="users")


def test_what_has_no_room_here_is_said_before_the_fit(
    files: Path, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DCPF_MEMORY", "10KB")
    with pytest.raises(ValueError, match=r"270 users with .*pass user_factors"):
        fit(model(), files, client)
    pl.DataFrame({"user": [1], "item": [2], "count": [3]}).write_parquet(files.parent / "one.parquet")
    monkeypatch.setenv("DCPF_MEMORY", "0.01KB")
    with pytest.raises(ValueError, match=r"1 user with 1 count "):
        fit(model(), files.parent / "one.parquet", client)


def test_a_start_of_ones_own_is_refused(files: Path, client: Any) -> None:
    with pytest.raises(ValueError, match="starts at random"):
        fit(model(warm_start=True), files, client)


def test_lists_are_those_of_the_histories_folded_in(files: Path, client: Any, tmp_path: Path) -> None:
    fitted = fit(model(), files, client)
    users = recommend(fitted, f"{files}.dcpf", client, tmp_path / "lists", n=7)
    found = pl.read_parquet(tmp_path / "lists" / "*.parquet").sort("user", "rank")
    expected = fitted.recommend(history=dcpf.read_counts(files), n=7).to_frame().sort("user", "rank")
    assert users == len(fitted.users_)
    assert found.equals(expected)
    fitted.save(tmp_path / "items.safetensors", history=False)
    recommend(dcpf.load(tmp_path / "items.safetensors"), f"{files}.dcpf", client, tmp_path / "again", n=7)
    assert pl.read_parquet(tmp_path / "again" / "*.parquet").sort("user", "rank").equals(expected)


def test_a_model_that_is_not_fitted_has_no_lists(files: Path, client: Any, tmp_path: Path) -> None:
    with pytest.raises(NotFittedError):
        recommend(model(), f"{files}.dcpf", client, tmp_path / "lists")


def test_the_driver_tells_where_the_time_goes(files: Path, client: Any, capsys: pytest.CaptureFixture[str]) -> None:
    fit(model(verbose=True, max_iter=2), files, client)
    told = capsys.readouterr().err
    assert "270 users x 60 items" in told
    assert "blocks on 2 workers" in told
    assert "An iteration took compute" in told


@pytest.mark.parametrize("address", ["tcp://10.0.0.1:8786", "tcp://scheduler:8786", "ws://example.org:1"])
def test_a_scheduler_that_anyone_can_use_is_refused(address: str) -> None:
    with pytest.raises(ValueError, match=r"does not use TLS.*insecure=True"):
        check_secure(address, insecure=False)
    check_secure(address, insecure=True)


@pytest.mark.parametrize(
    "address", ["tls://10.0.0.1:8786", "tcp://127.0.0.1:1", "tcp://localhost:1", "tcp://[::1]:1", "inproc://1/2/3"]
)
def test_a_scheduler_with_tls_or_of_this_machine_is_taken(address: str) -> None:
    check_secure(address, insecure=False)
