"""Run all programs one after another and put what they print into docs/performance.md.

    python -m benchmarks.all [--data FOLDER] [--output build/benchmarks] [--again] [--only NAME ...]

What a program prints is kept in a file, so that a run that was stopped can go on: what is there is not measured
again. docs/performance.in.md is the page, in which a line {{NAME}} stands for the output of a program. FOLDER holds
the real data sets named below; without it, the programs draw their own.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent

# Program: its arguments, and with --data those for real data sets, whose files are in that folder.
PROGRAMS: dict[str, tuple[list[str], list[str]]] = {
    "iteration": ([], ["--counts", "lastfm_hetrec2011.parquet"]),
    "fitting": (["--starts", "8"], []),
    "quality": ([], ["--counts", "tps_gouvert_small.parquet"]),
    "streaming": (
        [],
        ["--counts", "tps_gouvert_small.parquet", "online_retail_invoices.parquet", "foursquare_checkins.parquet"],
    ),
    "excitation": (
        [],
        [
            "--counts",
            "tps_gouvert_small.parquet",
            "lastfm_hetrec2011.parquet",
            "online_retail_invoices.parquet",
            "foursquare_checkins.parquet",
            "completejourney_baskets.parquet",
        ],
    ),
    "recommending": ([], []),
    "evaluating": ([], []),
    "reading": (["--rows", "5000000"], []),
    "loading": ([], []),
    "serving": ([], []),
    "startup": ([], []),
    "scaling": ([], []),
    "full_size": ([], []),
}


def command(name: str, with_data: bool) -> str:
    """What is run, as the page shows it: without the folder of the data."""
    arguments, real = PROGRAMS[name]
    return " ".join(["python", "-m", f"benchmarks.{name}", *arguments, *(real if with_data else [])])


def measure(name: str, data: Path | None, target: Path) -> bool:
    """Run a program and keep what it prints, under its command; nothing is kept if it fails."""
    arguments, real = PROGRAMS[name]
    located = [str((data / one).resolve()) if one.endswith(".parquet") else one for one in real] if data else []
    run = subprocess.run(
        [sys.executable, "-m", f"benchmarks.{name}", *arguments, *located],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    if run.returncode == 0:
        draft = target.with_suffix(".part")
        printed = run.stdout.strip("\n")
        draft.write_text(f"{command(name, data is not None)}\n\n{printed}\n")
        draft.replace(target)
    return run.returncode == 0


def page(template: str, folder: Path) -> str:
    """The template with each {{NAME}} replaced by the command and the output of that program."""

    def block(match: re.Match[str]) -> str:
        path = folder / f"{match[1]}.txt"
        if not path.exists():
            return "Not measured."
        ran, printed = path.read_text().split("\n\n", 1)
        return f"`{ran}`\n\n```text\n{printed.rstrip()}\n```"

    return re.sub(r"^\{\{(\w+)\}\}$", block, template, flags=re.MULTILINE)


def main() -> None:
    """Measure what is missing, write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder of Parquet files")
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "benchmarks")
    parser.add_argument("--again", action="store_true", help="measure what is there, too")
    parser.add_argument("--only", nargs="+", choices=list(PROGRAMS), default=list(PROGRAMS))
    parser.add_argument("--page", type=Path, default=ROOT / "docs" / "performance.md")
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    failed = []
    for name in arguments.only:
        target = arguments.output / f"{name}.txt"
        if target.exists() and not arguments.again:
            print(f"{name}: there already", flush=True)
            continue
        print(f"{name}: {command(name, arguments.data is not None)}", flush=True)
        if not measure(name, arguments.data, target):
            failed.append(name)
    template = (ROOT / "docs" / "performance.in.md").read_text()
    arguments.page.write_text(page(template, arguments.output))
    print(f"written: {arguments.page}")
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
