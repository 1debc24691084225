"""The methods by name, and what is tried of each."""

import pytest

from dcpf.baselines import METHODS, Baseline


@pytest.mark.parametrize("name", METHODS)
def test_every_choice_of_parameters_makes_the_method(name: str) -> None:
    make, grid = METHODS[name].make, METHODS[name].grid
    assert issubclass(make, Baseline)
    assert 1 <= len(grid) <= 8
    for parameters in grid:
        assert parameters.items() <= make(**parameters).get_params().items()


@pytest.mark.parametrize("name", METHODS)
def test_no_choice_is_tried_twice(name: str) -> None:
    make, grid = METHODS[name].make, METHODS[name].grid
    tried = [make(**parameters).get_params() for parameters in grid]
    assert all(one not in tried[:j] for j, one in enumerate(tried))
