"""Answers and errors as HTTP responses of JSON."""

import json
import math
from collections.abc import Mapping
from typing import Any

from fastapi import Response

KINDS = {
    400: "bad_request",
    401: "no_token",
    404: "not_found",
    405: "wrong_method",
    408: "too_slow",
    409: "no_history",
    413: "too_large",
    421: "wrong_host",
    422: "wrong_value",
    500: "internal",
    503: "busy",
}

_LONGEST = 500  # characters of an error message


def json_response(value: Any, status: int = 200) -> Response:
    """A value as JSON. Numbers that are not finite become null."""
    try:
        text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    except ValueError:
        text = json.dumps(_finite(value), allow_nan=False, separators=(",", ":"))
    return Response(text, status, {"cache-control": "no-store"}, "application/json")


def error_response(
    status: int, message: str, kind: str | None = None, headers: Mapping[str, str] | None = None
) -> Response:
    """An error as JSON, its message in one line."""
    text = " ".join(message.split())
    text = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
    response = json_response({"error": {"kind": kind or KINDS.get(status, "error"), "message": text}}, status)
    response.headers.update(headers or {})
    return response


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
