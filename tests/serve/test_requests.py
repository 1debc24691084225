"""Requests made from the description of the API, valid and invalid; and the description itself."""

from typing import Any

import httpx
from pydantic import TypeAdapter
from tests.serve.models import TOKEN, get, serving

from dcpf.serve import answers
from dcpf.serve.examples import EXAMPLES
from dcpf.serve.gate import Rules


def test_whatever_is_asked_is_answered_as_described(folder: Any, model: Any) -> None:
    from tests.serve.requests import run

    with serving(folder / "plays.safetensors", Rules(token=TOKEN)) as client:
        outcome = run(client, 100)
    assert outcome.failures == []
    assert sum(outcome.statuses.values()) >= 100
    assert outcome.statuses[200] > 10
    assert outcome.statuses[422] > 10


def operations(asking: httpx.Client) -> dict[str, Any]:
    described = get(asking, "/openapi.json")
    return {
        f"{method.upper()} {path}": one for path, each in described["paths"].items() for method, one in each.items()
    }


def test_every_operation_is_described_with_an_example(asking: httpx.Client) -> None:
    found = operations(asking)
    assert {name for name in found if name.startswith("POST")} == {
        "POST /api/recommend",
        "POST /api/predict",
        "POST /api/explain",
    }
    assert len(found) == 18
    for name, one in found.items():
        content = next(iter(one["responses"]["200"]["content"].values()))
        assert content["example"], name
        assert one["description"], name
        if name.startswith("POST"):
            reference = one["requestBody"]["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
            assert get(asking, "/openapi.json")["components"]["schemas"][reference]["examples"]


def test_examples_are_answers_that_there_may_be() -> None:
    kinds = {
        "model": answers.Card, "users": answers.FoundUsers, "items": answers.FoundItems, "user": answers.User,
        "item": answers.ItemInFull, "recommend": answers.OneList, "predict": answers.Predictions,
        "explain": answers.Explanation, "similar items": answers.SimilarItems, "similar users": answers.SimilarUsers,
        "components": answers.Components, "component": answers.ComponentInFull, "check": answers.Check,
        "healthz": answers.Health, "readyz": answers.Readiness,
    }  # fmt: skip
    assert kinds.keys() == EXAMPLES.keys()
    for name, kind in kinds.items():
        assert TypeAdapter(kind).validate_python(EXAMPLES[name], strict=True, extra="forbid") == EXAMPLES[name], name


def test_metrics_are_in_the_format_of_prometheus(folder: Any, model: Any) -> None:
    with serving(folder / "plays.safetensors") as client:
        for query in ({"user": "alice"}, {"user": "zoe"}, {"user": "alice", "n": 0}):
            client.get("/api/recommend", params=query)
        client.get('/a"strange\\path')
        answer = client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    samples: dict[str, float] = {}
    for line in answer.text.splitlines():
        if not line.startswith("#"):
            name, value = line.rsplit(" ", 1)
            samples[name] = float(value)
    counted = {status: samples[_requests("/api/recommend", status)] for status in (200, 404, 422)}
    assert counted == {200: 1, 404: 1, 422: 1}
    assert samples[_requests("other", 404)] == 1
    assert samples['dcpf_request_seconds_count{route="/api/recommend"}'] == 3
    assert samples['dcpf_request_seconds_bucket{route="/api/recommend",le="+Inf"}'] == 3
    buckets = [value for name, value in samples.items() if "_bucket" in name and "/api/recommend" in name]
    assert buckets == sorted(buckets)
    assert samples["dcpf_requests_in_flight"] == 1
    assert samples["dcpf_model_swaps_total"] == samples["dcpf_model_swap_failures_total"] == 0
    revision = answer.text.partition('revision="')[2].partition('"')[0]
    assert samples[f'dcpf_model_info{{revision="{revision}"}}'] == 1
    names = {line.split(" ")[2] for line in answer.text.splitlines() if line.startswith("# TYPE")}
    assert names == {line.split(" ")[2] for line in answer.text.splitlines() if line.startswith("# HELP")}


def _requests(route: str, status: int) -> str:
    return f'dcpf_requests_total{{method="GET",route="{route}",status="{status}"}}'
