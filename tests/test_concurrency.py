"""Several processes and threads at once: whole models, the same answers, and no end without an answer.

Time limits are there so that what hangs fails; nothing is held to a time.
"""

import contextlib
import multiprocessing
import os
import shutil
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import dcpf
from dcpf import store
from dcpf.simulation import listening_data

COUNTS = listening_data(np.random.default_rng(0), n_users=60, n_songs=40).counts
LONG = 300  # seconds, after which something hangs

posix = pytest.mark.skipif(sys.platform == "win32", reason="fork, modes and links of POSIX")


def fitted(n_components: int = 3, n_jobs: int = 2, seed: int = 0) -> dcpf.DCPF:
    return dcpf.DCPF(n_components, max_iter=20, tol=0.0, random_state=seed, n_jobs=n_jobs).fit(COUNTS)


def run(program: str, *arguments: object, stdin: int | None = None, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(program), *map(str, arguments)],
        env=os.environ | environment,
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finished(process: subprocess.Popen[str]) -> str:
    out, err = process.communicate(timeout=LONG)
    assert process.returncode == 0, err
    assert err == ""
    return out


# One file


WRITER = """
    import sys, dcpf
    path, own = sys.argv[1:]
    model = dcpf.load(own)
    print("ready", flush=True)
    sys.stdin.readline()
    for _ in range(40):
        model.save(path)
"""


def test_a_reader_sees_a_whole_model_while_two_processes_replace_it(tmp_path: Path) -> None:
    path, own = tmp_path / "model", [tmp_path / "of 3", tmp_path / "of 5"]
    whole = {}
    for n_components, each in zip((3, 5), own, strict=True):
        model = fitted(n_components)
        model.save(each)
        whole[each.read_bytes()] = model.user_factors.tobytes()
    shutil.copy(own[0], path)
    with contextlib.ExitStack() as open_ones:
        writers = [open_ones.enter_context(run(WRITER, path, each, stdin=subprocess.PIPE)) for each in own]
        for writer in writers:
            assert writer.stdout is not None
            assert writer.stdout.readline() == "ready\n"
        for writer in writers:
            assert writer.stdin is not None
            writer.stdin.write("go\n")
            writer.stdin.flush()
        seen: set[int] = set()
        while any(writer.poll() is None for writer in writers):
            model = dcpf.load(path)
            store.verify(path)  # perhaps the next one by now, but whole
            user_means = model.part("factors").user_means
            assert user_means.tobytes() in whole.values()
            seen.add(user_means.shape[1])
        assert [writer.wait(LONG) for writer in writers] == [0, 0]
    assert seen == {3, 5}
    assert path.read_bytes() in whole
    assert sorted(one.name for one in tmp_path.iterdir()) == ["model", "of 3", "of 5"]


# One cache of compiled code


QUICKLY = {"NUMBA_OPT": "1"}  # compiles in less time, to slower code

FIT = """
    import sys, numpy as np, dcpf
    from scipy import sparse
    counts = sparse.csr_array(np.array([[1, 2, 0], [0, 3, 1], [4, 0, 1]]))
    lean = {"n_neighbors": 0, "accelerate": False, "max_iter": 1, "tol": 0.0}  # few kernels to compile
    model = dcpf.DCPF(2, "binary", **lean, random_state=0, n_jobs=2).fit(counts)
    print(dcpf.__file__, model.user_factors.tobytes().hex())
"""


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """The package elsewhere, without any compiled code."""
    home = tmp_path / "site"
    source = Path(dcpf.__file__).parent
    shutil.copytree(source, home / "dcpf", ignore=shutil.ignore_patterns("__pycache__"))
    return home


def test_two_processes_fill_one_empty_cache_at_once(copied: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    environment = {"PYTHONPATH": str(copied), "NUMBA_CACHE_DIR": str(cache), **QUICKLY}
    both = [run(FIT, **environment) for _ in range(2)]
    told = {finished(process) for process in both}
    assert len(told) == 1
    assert str(copied) in next(iter(told))
    compiled = {one: one.stat().st_mtime_ns for one in cache.rglob("*.nb[ic]")}
    assert len(compiled) > 5
    assert finished(run(FIT, **environment)) in told
    assert {one: one.stat().st_mtime_ns for one in cache.rglob("*.nb[ic]")} == compiled


@posix
def test_a_package_that_cannot_be_written_to_fits_all_the_same_and_in_silence(copied: Path, tmp_path: Path) -> None:
    """Neither beside the source nor in the home folder can compiled code be kept."""
    nowhere = tmp_path / "a file, where a folder is wanted"
    nowhere.touch()
    for folder in (copied / "dcpf").rglob("*"):
        if folder.is_dir():
            (folder / "__pycache__").touch()  # a file where the folder would be: even root cannot write there
    environment = {
        "PYTHONPATH": str(copied),
        "HOME": str(nowhere),
        "XDG_CACHE_HOME": str(nowhere),
        "PYTHONDONTWRITEBYTECODE": "1",
        **QUICKLY,
    }
    assert str(copied) in finished(run(FIT, **environment))
    assert not list(copied.rglob("*.nb[ic]"))


# Processes of a process that has used dcpf


def child_fits(seed: int) -> bytes:
    return fitted(n_jobs=2, seed=seed).user_factors.tobytes()


@posix
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_children_fit_as_their_parent_does(method: str) -> None:
    wanted = [child_fits(seed) for seed in range(2)]
    context = multiprocessing.get_context(method)
    with context.Pool(2) as pool:
        assert pool.map_async(child_fits, range(2)).get(timeout=LONG) == wanted


@posix
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_fork_in_the_middle_of_fits_in_other_threads_neither_hangs_nor_differs() -> None:
    wanted, over = child_fits(0), threading.Event()

    def fit_on() -> None:
        while not over.is_set():
            child_fits(1)
            fitted().recommend(n=3)

    threads = [threading.Thread(target=fit_on) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(4):
            with multiprocessing.get_context("fork").Pool(1) as pool:
                assert pool.apply_async(child_fits, [0]).get(timeout=LONG) == wanted
    finally:
        over.set()
        for thread in threads:
            thread.join()


def test_threads_fit_side_by_side_as_they_would_alone() -> None:
    wanted = {seed: child_fits(seed) for seed in range(4)}
    found: dict[int, bytes] = {}
    threads = [threading.Thread(target=lambda seed=seed: found.update({seed: child_fits(seed)})) for seed in wanted]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == wanted


def test_threads_ask_one_loaded_model_as_one_would(tmp_path: Path) -> None:
    """What a model computes when it is first asked, it may compute in several threads at once."""
    fitted().save(tmp_path / "model.safetensors")

    def answers(model: dcpf.FittedModel, asked: int) -> tuple[list[int], list[float]]:
        history = {asked: 3, asked + 1: 1} if asked % 2 else None
        items, scores = model.recommend(None if history else asked, n=7, history=history)
        return items.tolist(), scores.tolist()

    alone = dcpf.load(tmp_path / "model.safetensors")
    wanted = [answers(alone, asked) for asked in range(24)]
    for _ in range(5):
        model = dcpf.load(tmp_path / "model.safetensors")
        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(answers, [model] * 24, range(24))) == wanted
