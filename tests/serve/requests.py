"""Requests without end, valid and invalid, made from the description of the API by schemathesis.

    python -m tests.serve.requests [--requests 10000] [--seed 0]

An answer must be one of those that are described: no 5xx but the 503 of the cap, and JSON of the type that is
promised. Needs schemathesis, which the extra `test` brings.
"""

import argparse
import contextlib
import sys
import tempfile
import warnings
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.openapi import from_dict
from schemathesis.specs.openapi.checks import response_schema_conformance, status_code_conformance
from tests.serve.models import HOSTILE, ITEMS, TOKEN, USERS, save, serving

from dcpf.serve.gate import Rules

# schemathesis imports parts of itself when they are needed. Here they are, before a server runs in a thread: Python
# 3.11 may fail with a SystemError where two threads compile at a time.
from_dict({"openapi": "3.1.0", "info": {"title": "", "version": ""}, "paths": {}})

_CHECKS = [not_a_server_error, status_code_conformance, response_schema_conformance]
_AT_ONCE = 100  # requests of one operation, before it is the turn of the next
_SETTINGS = {
    "deadline": None,
    "database": None,
    "phases": [Phase.generate],
    "suppress_health_check": list(HealthCheck),
}


@dataclass
class Outcome:
    """How many requests were answered by which status, and what was wrong with answers."""

    statuses: Counter[int] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)


def run(client: httpx.Client, requests: int, start: int = 0) -> Outcome:
    """Ask so many times, operation by operation, half of it with values that are not allowed."""
    outcome = Outcome()
    operations = [found.ok() for found in from_dict(client.get("/openapi.json").json()).get_all_operations()]
    address = str(client.base_url).rstrip("/")
    while sum(outcome.statuses.values()) < requests:
        for operation in operations:
            for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
                with contextlib.suppress(Unsatisfiable):  # nothing is wrong about a request without parameters
                    ask(operation, mode, min(_AT_ONCE, -(-requests // 25)), start, address, outcome)
        start += 1
    return outcome


def ask(operation: Any, mode: GenerationMode, times: int, start: int, address: str, outcome: Outcome) -> None:
    """Ask one operation in one way."""
    cases = operation.as_strategy(generation_mode=mode)

    @seed(start)
    @settings(max_examples=times, **_SETTINGS)
    @given(cases, st.data())
    def asked(case: Any, data: st.DataObject) -> None:
        if data.draw(st.booleans()):
            _known(case.query, data)
            _known(case.body, data)
        try:
            answer = case.call(base_url=address, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=60)
        except (UnicodeError, ValueError):  # what cannot be sent
            return
        outcome.statuses[answer.status_code] += 1
        if answer.status_code in (400, 405, 503):
            return  # may come up anywhere
        try:
            case.validate_response(answer, checks=_CHECKS)
        except Exception as error:
            outcome.failures.append(f"{operation.label}: {error}")

    asked()


def _known(values: Any, data: st.DataObject) -> None:
    """Put users and items that there are where some are asked for: else every answer would be that there are none."""
    if not isinstance(values, dict):
        return
    items = st.sampled_from([*ITEMS, f"Name of {HOSTILE}"])
    for name, known in {"user": st.sampled_from(USERS), "id": st.sampled_from(USERS + ITEMS), "item": items}.items():
        if name in values and isinstance(values[name], str):
            values[name] = data.draw(known)
    for name in ("items", "allow", "deny"):
        if isinstance(values.get(name), list):
            values[name] = data.draw(st.lists(items, min_size=1, max_size=5))
    if isinstance(values.get("users"), list):
        values["users"] = data.draw(st.lists(st.sampled_from(USERS), min_size=1, max_size=4))
    if isinstance(values.get("history"), dict):
        values["history"] = data.draw(st.dictionaries(items, st.integers(0, 2**31 - 1), max_size=6))


def main() -> int:
    """Ask, and tell how it went; 1 if an answer was none that may be."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    given_ = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        save(Path(folder) / "m.safetensors")
        with serving(Path(folder) / "m.safetensors", Rules(token=TOKEN)) as client:
            outcome = run(client, given_.requests, given_.seed)
    for status, number in sorted(outcome.statuses.items()):
        sys.stdout.write(f"{status} {number:8,}\n")
    for failure in outcome.failures[:20]:
        sys.stdout.write(f"{failure}\n")
    total = sum(outcome.statuses.values())
    sys.stdout.write(
        f"{total:,} requests by schemathesis {schemathesis.__version__}, "
        f"{len(outcome.failures):,} with a wrong answer\n"
    )
    return 1 if outcome.failures else 0


if __name__ == "__main__":
    sys.exit(main())
