"""What docs/adapters.md shows is run, as far as the packages are those of the tests; the rest is in *_checks.py."""

from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.adapters.page import examples


def test_the_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    (sessions,), (facade,), (index,) = map(examples, ("SessionCounts", "implicit", "An approximate index"))
    exec(sessions, names)
    assert names["weights"].nnz == names["plays"].nnz  # type: ignore[attr-defined]
    exec(facade, names)
    assert len(names["ids"]) == 10  # type: ignore[arg-type]
    if find_spec("voyager"):
        exec(index, names)
        assert (tmp_path / "items.voy").exists()
