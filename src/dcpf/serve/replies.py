"""Answers and errors as bytes."""

import json
import math
from typing import Any, NamedTuple

from dcpf.counts import UnknownId
from dcpf.serve.asking import NoHistory


class Reply(NamedTuple):
    """A status and a body of JSON."""

    status: int
    body: bytes


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

_LONGEST = 500  # characters of a message


def answered(value: Any, status: int = 200) -> Reply:
    """A value as JSON. What is not a finite number is null."""
    try:
        text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    except ValueError:
        text = json.dumps(_finite(value), allow_nan=False, separators=(",", ":"))
    return Reply(status, text.encode())


def failed(status: int, message: str, kind: str | None = None) -> Reply:
    """What is wrong, in one line that is not too long."""
    said = " ".join(message.split())
    said = said if len(said) <= _LONGEST else f"{said[:_LONGEST]}..."
    return answered({"error": {"kind": kind or KINDS.get(status, "error"), "message": said}}, status)


def of_error(error: Exception) -> Reply | None:
    """What is answered to an error that the one who asks can put right, None to any other."""
    if isinstance(error, NoHistory):
        return failed(409, str(error))
    if isinstance(error, UnknownId):
        return failed(404, str(error), "unknown_id")
    if isinstance(error, ValueError | TypeError):
        return failed(422, str(error))
    return None


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
