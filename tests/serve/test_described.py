"""Real answers are of the types that the API describes; and all that it describes does come up in some answer."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.serve.models import app_of, get, serving_app

from dcpf.serve.served import Current, load

_USER, _ITEM = "alice", "song 9"
_HISTORY = [{"item": "song 7", "count": 12}, {"item": "nowhere", "count": 3}]
_PLAIN = {"string": str, "integer": int, "number": int | float, "boolean": bool, "null": type(None)}

# For each operation the questions, of a query or of a body, whose answers together have everything in them
QUESTIONS: dict[str, list[dict[str, Any]]] = {
    "GET /api/model": [{}],
    "GET /api/users": [{}],
    "GET /api/items": [{}],
    "GET /api/user": [{"id": _USER}],
    "GET /api/item": [{"id": _ITEM}],
    "GET /api/recommend": [{"user": _USER, "why": 2}],
    "POST /api/recommend": [
        {"user": _USER, "n": 3, "why": 2, "deny": ["nowhere"]},
        {"history": _HISTORY},
        {"users": [_USER], "deny": ["nowhere"]},
    ],
    "POST /api/predict": [{"user": _USER, "items": [_ITEM, "nowhere"]}, {"history": _HISTORY, "items": [_ITEM]}],
    "GET /api/explain": [{"user": _USER, "item": _ITEM}],
    "POST /api/explain": [{"history": _HISTORY, "item": _ITEM}],
    "GET /api/similar/items": [{"item": _ITEM}],
    "GET /api/similar/users": [{"user": _USER}],
    "GET /api/components": [{}],
    "GET /api/component": [{"number": 1}],
    "GET /api/check": [{}],
    "GET /healthz": [{}],
    "GET /readyz": [{}],
}
# What differs in a model with integers for ids
NUMBERS = {_USER: 103, _ITEM: 509, "song 7": 507, "nowhere": 1}


@dataclass
class Description:
    """The schemas of the API, and which fields and types of theirs answers had so far."""

    schemas: dict[str, Any]
    seen: set[str] = field(default_factory=set)

    def hold(self, value: Any, schema: dict[str, Any], place: str) -> None:
        """Assert that a value is as described: of that type, with all that must be there and nothing else."""
        if "$ref" in schema:
            name = schema["$ref"].rpartition("/")[2]
            self.hold(value, self.schemas[name], name)
        elif "anyOf" in schema:
            self._hold_to_one(value, schema["anyOf"], place)
        elif schema["type"] == "array":
            for one in _of_type(value, list, place):
                self.hold(one, schema["items"], f"{place}[]")
        elif schema["type"] == "object":
            self._hold_fields(_of_type(value, dict, place), schema, place)
        else:
            _of_type(value, _PLAIN[schema["type"]], place)
            assert schema["type"] == "boolean" or not isinstance(value, bool), place
            whole = schema["type"] == "number" and isinstance(value, int)
            self.seen.add(_marked(place, "integer" if whole else schema["type"]))

    def _hold_to_one(self, value: Any, choices: list[dict[str, Any]], place: str) -> None:
        failures = []
        for choice in choices:
            trial = Description(self.schemas)
            try:
                trial.hold(value, choice, place)
            except AssertionError as failure:
                failures.append(str(failure))
            else:
                self.seen |= trial.seen
                return
        raise AssertionError(f"{place} is none of its types: {failures}")

    def _hold_fields(self, value: dict[str, Any], schema: dict[str, Any], place: str) -> None:
        if "properties" not in schema:  # any names, values of one type
            for one in value.values():
                self.hold(one, schema["additionalProperties"], f"{place}[]")
            return
        missing, more = set(schema.get("required", ())) - value.keys(), value.keys() - schema["properties"].keys()
        assert not missing and not more, f"{place} lacks {missing} and has {more}"
        for name, one in value.items():
            self.hold(one, schema["properties"][name], f"{place}.{name}")

    def described(self, schema: dict[str, Any], place: str) -> Iterator[str]:
        """Everything that a schema has, as `seen` has it."""
        if "$ref" in schema:
            name = schema["$ref"].rpartition("/")[2]
            yield from self.described(self.schemas[name], name)
        elif "anyOf" in schema:
            for choice in schema["anyOf"]:
                yield from self.described(choice, place)
        elif schema["type"] == "array":
            yield from self.described(schema["items"], f"{place}[]")
        elif "properties" in schema:
            for name, one in schema["properties"].items():
                yield from self.described(one, f"{place}.{name}")
        elif schema["type"] == "object":
            yield from self.described(schema["additionalProperties"], f"{place}[]")
        else:
            yield _marked(place, schema["type"])


def _marked(place: str, kind: str) -> str:
    return f"{place}: {kind}"


def _of_type(value: Any, kind: Any, place: str) -> Any:
    assert isinstance(value, kind), f"{place} is {value!r}"
    return value


def answers_to(client: httpx.Client, operation: str, question: dict[str, Any]) -> Iterator[httpx.Response]:
    """The answer; from the check, which is made in the background, also the one that it has in the end."""
    method, path = operation.split(" ")
    for _ in range(2000):
        answer = client.request(method, path, **{"params" if method == "GET" else "json": question})
        yield answer
        if answer.status_code != 202:
            return
    pytest.fail(f"{operation} is never ready")


def numbered_question(question: dict[str, Any]) -> Any:
    """The same question to a model with integers for ids."""

    def translated(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: translated(one) for name, one in value.items()}
        if isinstance(value, list):
            return [translated(one) for one in value]
        return NUMBERS.get(value, value)

    return translated(question)


def test_answers_are_what_is_described_and_all_that_is_described_is_answered(
    asking: httpx.Client, bare: httpx.Client, numbered: httpx.Client
) -> None:
    whole = get(asking, "/openapi.json")
    description = Description(whole["components"]["schemas"])
    wanted: set[str] = set()
    for path, methods in whole["paths"].items():
        for method, described in methods.items():
            operation = f"{method.upper()} {path}"
            if path == "/metrics":  # is text
                continue
            schemas = {
                int(status): one["content"]["application/json"]["schema"]
                for status, one in described["responses"].items()
            }
            wanted |= set(description.described(schemas[200], operation))
            for question in QUESTIONS[operation]:
                for client, asked in ((asking, question), (bare, question), (numbered, numbered_question(question))):
                    for answer in answers_to(client, operation, asked):
                        assert answer.status_code in (200, 202, 409), answer.text
                        description.hold(answer.json(), schemas[answer.status_code], operation)
    assert wanted - description.seen == set()


def test_a_service_that_is_about_to_end_says_so_as_described(folder: Path, model: Any) -> None:
    current = Current(load(folder / "plays.safetensors"))
    with serving_app(app_of(current)) as client:
        whole = get(client, "/openapi.json")
        current.leaving = True
        answer = get(client, "/readyz", 503)
    assert answer == {"ready": False, "revision": current.served.revision}
    described = whole["paths"]["/readyz"]["get"]["responses"]["503"]["content"]["application/json"]
    for value in (answer, described["example"]):
        Description(whole["components"]["schemas"]).hold(value, described["schema"], "GET /readyz")


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "integer"}, 1.5),
        ({"type": "integer"}, True),
        ({"type": "number"}, "1"),
        ({"type": "string"}, None),
        ({"anyOf": [{"type": "number"}, {"type": "null"}]}, "1"),
        ({"type": "array", "items": {"type": "string"}}, ["a", 1]),
        ({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}, {}),
        ({"type": "object", "properties": {"a": {"type": "string"}}}, {"a": "1", "b": "2"}),
        ({"type": "object", "additionalProperties": {"type": "number"}}, {"a": None}),
    ],
)
def test_a_value_that_is_not_as_described_would_be_seen(schema: dict[str, Any], value: Any) -> None:
    with pytest.raises(AssertionError):
        Description({}).hold(value, schema, "here")


def test_a_type_that_never_comes_up_would_be_seen() -> None:
    schema = {"anyOf": [{"type": "number"}, {"type": "null"}]}
    description = Description({})
    description.hold(1, schema, "here")  # and one that is always whole should be described as an integer
    assert set(description.described(schema, "here")) - description.seen == {"here: null", "here: number"}
    description.hold(1.5, schema, "here")
    description.hold(None, schema, "here")
    assert set(description.described(schema, "here")) <= description.seen
