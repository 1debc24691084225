"""Every part obeys every law with every element: a part is tested the moment its file exists."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.parts.cases import Case
from tests.parts.laws import LAWS, hold

from dcpf import elements, parts

pytestmark = pytest.mark.quick

CASES = [Case(element, kind, parts.kinds()) for element in elements.names() for kind in parts.kinds()]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_part_obeys(case: Case, law: Callable[..., None], tmp_path: Path) -> None:
    hold(law, case, tmp_path)
