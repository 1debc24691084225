"""Every example is run, as a user would after the first steps of docs/start.md, and prints what its page shows."""

import io
import os
import re
import runpy
import shlex
import shutil
from contextlib import redirect_stdout
from pathlib import Path

import pytest
from tests.cli.running import run

from dcpf.elements import element as element_module

DOCS = Path(__file__).parent.parent / "docs"
EXAMPLES = DOCS / "examples"
PREPARED = ("plays.py", "split.py")  # what the others begin with
NEEDS = {"lenskit_component.py": "lenskit", "rectools_model.py": "rectools"}  # which have environments of their own
RUN = sorted(path.name for path in EXAMPLES.glob("*.[ps][yh]") if path.name not in PREPARED)


def run_example(name: str) -> str:
    """What it prints, run in the current folder."""
    path = EXAMPLES / name
    if path.suffix == ".sh":
        return "".join(run_command(line) for line in path.read_text().splitlines())
    with redirect_stdout(io.StringIO()) as printed:
        runpy.run_path(str(path), run_name="__main__")
    return printed.getvalue()


def run_command(line: str) -> str:
    program, *arguments = shlex.split(line)
    assert program == "dcpf"
    result = run(*arguments)
    assert result.exit_code == 0, f"{line}\n{result.output}"
    return result.output


def shown_after(name: str) -> list[str]:
    """What a page shows between this example and its next one, in pieces where something is left out."""
    blocks = []
    for page in DOCS.rglob("*.md"):
        _, *parts = re.split(r"\{literalinclude\} \S+/(\S+)\n", page.read_text())
        after = "".join(text for example, text in zip(parts[::2], parts[1::2], strict=True) if example == name)
        blocks += re.findall(r"```text\n(.*?)```", after, re.DOTALL)
    return [piece for block in blocks for piece in block.split("...\n")]


def words_and_numbers(text: str) -> tuple[str, list[str]]:
    """A text with # for each number, and the numbers. Seconds are passed over."""
    text = re.sub(r"[\d.]+ seconds", "seconds", " ".join(text.split()))
    text = re.sub(r"(?<=\d),(?=\d)", "", text)
    number = r"\d+(?:\.\d+)?"
    return re.sub(number, "#", text), re.findall(number, text)


def near(shown: str, printed: str) -> bool:
    """Up to two units of the last digit: another machine may round differently."""
    return abs(float(shown) - float(printed)) < 2.5 * 0.1 ** len(shown.partition(".")[2])


def is_in(shown: str, printed: str) -> bool:
    """Whether the same words are there, with numbers that are near."""
    (words, numbers), (all_words, all_numbers) = words_and_numbers(shown), words_and_numbers(printed)
    firsts = [all_words.count("#", 0, found.start()) for found in re.finditer(re.escape(words), all_words)]
    return any(all(map(near, numbers, all_numbers[first:])) for first in firsts)


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with plays, a split of them, a model, and the counts of someone new."""
    folder, before = tmp_path_factory.mktemp("examples"), Path.cwd()
    os.chdir(folder)
    try:
        for name in PREPARED:
            run_example(name)
        assert run("fit", "plays.csv", "-o", "plays.safetensors", "--components", 12).exit_code == 0
    finally:
        os.chdir(before)
    shutil.copy(EXAMPLES / "new.csv", folder)
    return folder


@pytest.mark.parametrize("name", RUN)
def test_the_example_runs_and_prints_what_is_shown(
    name: str, begun: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    shutil.copytree(begun, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(element_module, "_REGISTRY", dict(element_module._REGISTRY))
    printed = run_example(name)
    assert not (tmp_path / "checkpoint").exists()
    for piece in shown_after(name):
        assert is_in(piece, printed), f"{piece}\nis shown, but what is printed is\n{printed}"


def test_what_is_shown_is_found(begun: Path) -> None:
    assert [len(shown_after(name)) for name in ("first.sh", "choosing.py", "first.py")] == [3, 1, 0]
    (beginning,) = shown_after("plays.py")
    assert (begun / "plays.csv").read_text().startswith(beginning)


def test_only_the_last_digits_may_differ() -> None:
    assert is_in("read in 1 seconds, 0.482 and 92", "It was read in 2.5 seconds, 0.484 and 91")
    for other in ("read in 1 seconds, 0.476 and 92", "read in 1 seconds, 0.482 and 50", "read, 0.482 and 92"):
        assert not is_in("read in 1 seconds, 0.482 and 92", other)
