"""What docs/adapters.md shows is run, as far as the packages are those of the tests; the rest is in *_checks.py."""

from pathlib import Path

import pytest
from tests.adapters.page import examples


def test_the_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for heading in ("SessionCounts", "implicit", "An approximate index"):
        for example in examples(heading):
            exec(example, names)
    assert names["weights"].nnz == names["plays"].nnz  # type: ignore[attr-defined]
    assert len(names["ids"]) == 10  # type: ignore[arg-type]
    assert (tmp_path / "items.voy").exists()
