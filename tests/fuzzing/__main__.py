"""Damaged files without end: read them, and tell which break the contract.

    python -m tests.fuzzing [--minutes 10] [--seed 0] [--kinds csv model ...]

To read one input again: python -m tests.fuzzing --seed SEED --only NUMBER (with the same --kinds).
"""

import argparse
import sys
from collections import Counter
from pathlib import Path

from tests.fuzzing.bombs import BOMBS
from tests.fuzzing.originals import KINDS
from tests.fuzzing.running import run
from tests.fuzzing.worker import input_of


def say(line: str) -> None:
    """At once: it may be long until the next."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> int:
    """Run until the time is over; 1 if an input broke the contract."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", nargs="*", choices=[*KINDS, *BOMBS], default=list(KINDS))
    parser.add_argument("--only", type=int, help="read this input alone")
    parser.add_argument("--keep", type=Path, help="write the bytes of that input to this file")
    given = parser.parse_args()
    if given.only is not None and given.keep is not None:
        given.keep.write_bytes(input_of(given.seed, given.only, given.kinds)[1])
    first = given.only or 0
    outcomes: Counter[tuple[str, str]] = Counter()
    failures = 0
    for told in run(given.seed, first, None if given.only is None else first + 1, given.kinds, 60 * given.minutes):
        outcomes[told.kind, told.outcome if told.is_good else "broken"] += 1
        if not told.is_good:
            failures += 1
            say(f"input {told.number} ({told.kind}): {told.outcome}")
    for (kind, outcome), times in sorted(outcomes.items()):
        say(f"{kind:14} {outcome:8} {times:8,}")
    say(f"{sum(outcomes.values()):,} inputs with seed {given.seed}, {failures:,} broke the contract")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
