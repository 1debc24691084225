"""One undisturbed run of the small experiment, for all tests that only look at it."""

import pytest
from tests.paper.small import run

from dcpf.paper.reproduce import Reproduction


@pytest.fixture(scope="session")
def done(tmp_path_factory: pytest.TempPathFactory) -> Reproduction:
    return run(tmp_path_factory.mktemp("done"))
