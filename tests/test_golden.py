"""Agreement with the program of the paper's authors, run by run, to many digits."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dcpf

pytestmark = pytest.mark.quick

AUTHORS = json.loads((Path(__file__).parent / "data" / "authors_program.json").read_text())
COUNTS = np.array(AUTHORS["Y"])
TOLERANCE = 1e-8  # relative; what is asked for is 1e-6


def same_run(run: dict[str, Any], **changes: Any) -> dcpf.DCPF:
    parameters = {"p": run["p_initial"]}
    if "a_initial" in run:
        parameters["a"] = run["a_initial"]
    element = type(dcpf.elements.get(run["element"]))(**parameters)
    settings = {
        "shape_prior": AUTHORS["shape_prior"],
        "learn_element": run["learn_element"],
        "max_iter": AUTHORS["iterations"],
        "tol": 0,
        "accelerate": False,
        "init": (AUTHORS["W0"], AUTHORS["H0"]),
        "dtype": "float64",
    }
    return dcpf.DCPF(AUTHORS["n_components"], element, **(settings | changes), n_neighbors=0).fit(COUNTS)


def name(run: dict[str, Any]) -> str:
    return f"{run['element']}-{'learned' if run['learn_element'] else run['p_initial']}"


@pytest.mark.parametrize("run", AUTHORS["runs"], ids=name)
def test_bound_of_every_iteration_is_the_authors(run: dict[str, Any]) -> None:
    np.testing.assert_allclose(same_run(run).bounds_, run["elbo"], rtol=TOLERANCE)


@pytest.mark.parametrize("run", AUTHORS["runs"], ids=name)
def test_factors_sessions_and_parameters_are_the_authors(run: dict[str, Any]) -> None:
    model = same_run(run)
    np.testing.assert_allclose(model.user_factors, run["EW"], rtol=TOLERANCE)
    np.testing.assert_allclose(model.item_factors, run["EH"], rtol=TOLERANCE)
    np.testing.assert_allclose(model.sessions(COUNTS).data, run["EN"], rtol=TOLERANCE)
    for parameter in model.element_.parameters:
        assert getattr(model.element_, parameter) == pytest.approx(run[parameter], rel=TOLERANCE)


@pytest.mark.parametrize("run", AUTHORS["runs"], ids=name)
def test_float32_follows_to_its_own_precision(run: dict[str, Any]) -> None:
    model = same_run(run, dtype="float32")
    np.testing.assert_allclose(model.bounds_, run["elbo"], rtol=2e-5)
    np.testing.assert_allclose(model.sessions(COUNTS).data, run["EN"], rtol=2e-3)


@pytest.mark.parametrize(("limit", "end"), [("raw", 0.0), ("binary", 1.0)])
def test_limits_have_names_of_their_own(limit: str, end: float) -> None:
    run = next(run for run in AUTHORS["runs"] if run.get("limit") == limit)
    by_name = dcpf.DCPF(
        AUTHORS["n_components"],
        limit,
        max_iter=AUTHORS["iterations"],
        tol=0,
        accelerate=False,
        init=(AUTHORS["W0"], AUTHORS["H0"]),
        dtype="float64",
        n_neighbors=0,
    ).fit(COUNTS)
    np.testing.assert_array_equal(by_name.bounds_, same_run(run).bounds_)
    assert run["p"] == end
