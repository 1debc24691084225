"""An example of each answer, for the OpenAPI description."""

from typing import Any

_MUSE = {"item": "song-7", "name": "Muse"}
_BLUR = {"item": "song-4", "name": "Blur"}
_READ = {**_BLUR, "count": 40, "sessions": 3.1}
_PART = {**_READ, "part": 0.2}
_COMPONENT = {"number": 3, "share": 0.12, "items": [_MUSE, _BLUR]}
_COMPONENT_PART = {"number": 3, "part": 0.02, "items": [_MUSE]}
_EXPECTED = {**_MUSE, "sessions": 0.48, "count": 1.06, "probability": 0.381}
_WHY = {"history": [_PART], "rest": 0.277, "prior": 0.003, "components": [_COMPONENT_PART], "excited": 0.41}
_SPREAD = {"data": 92834, "mean": 90113.2, "least": 89800, "most": 90500}
_SHARE = {"id": "song-7", "name": "Muse", "sessions": 423.1, "share": 0.004}

EXAMPLES: dict[str, Any] = {
    "model": {
        "file": {"name": "plays.safetensors", "bytes": 33_700_000, "format": 1, "dcpf": "0.1.0"},
        "revision": "3f9a1c0b52de",
        "loaded_at": "2026-01-31T12:00:00Z",
        "element": "shifted-negative-binomial",
        "parameters": {"p": 0.8, "a": 0.3},
        "meaning": "A session adds 2.2 to a count on average (standard deviation 2.45).",
        "mean": 2.2,
        "deviation": 2.45,
        "pmf": {"x": [1, 2, 3], "probability": [0.62, 0.15, 0.08], "at_most": [0.62, 0.77, 0.85]},
        "curve": {"count": [1, 2, 40], "sessions": [1.0, 1.2, 3.1], "rate": 0.4},
        "users": 1500,
        "items": 800,
        "components": 12,
        "data": {"users": 1500, "items": 800, "entries": 60_000, "total": 200_000, "largest": 400, "checksum": "5e"},
        "has_history": True,
        "has_names": True,
        "neighbors": 200,
        "excited": 0.85,
        "sessions": 71_000.0,
        "sessions_per_count": 1.17,
        "bounds": [-120_000.0, -110_000.0],
        "most_active": [{"id": "alice", "name": "alice", "sessions": 120.0, "share": 0.002}],
        "most_popular": [_SHARE],
        "largest_components": [{"number": 3, "sessions": 8_500.0, "share": 0.12, "items": [_SHARE]}],
    },
    "users": {"users": [{"id": "alice", "entries": 50, "total": 8123}], "more": True},
    "items": {"items": [{"id": "song-7", "name": "Muse", "users": 400, "total": 12_345}], "more": False},
    "user": {
        "id": "alice",
        "entries": 50,
        "total": 8123,
        "sessions": 60.2,
        "history": [_READ],
        "components": [_COMPONENT],
    },
    "item": {
        "id": "song-7",
        "name": "Muse",
        "users": 400,
        "total": 12_345,
        "expected_sessions": 423.1,
        "listeners": [{"user": "alice", "count": 31, "sessions": 1.1}],
        "similar": [{**_BLUR, "similarity": 0.4}],
        "components": [_COMPONENT],
        "excited": 0.35,
        "excited_by": [{**_BLUR, "strength": 0.2}],
    },
    "recommend": {"user": "alice", "items": [{**_EXPECTED, "why": _WHY}], "unknown_items": []},
    "predict": {"user": "alice", "items": [{**_EXPECTED, "low": 0.41, "high": 0.55}], "unknown_items": ["song-x"]},
    "explain": {
        "user": "alice",
        **_MUSE,
        "score": 0.48,
        "prior": 0.003,
        "excited": 0.41,
        "history": [_PART],
        "components": [_COMPONENT_PART],
        "unknown_items": [],
    },
    "similar items": {**_MUSE, "items": [{**_BLUR, "similarity": 0.4}]},
    "similar users": {"user": "alice", "users": [{"user": "bob", "similarity": 0.93}]},
    "components": {"components": [{**_COMPONENT, "users": 240}]},
    "component": {
        "number": 3,
        "share": 0.12,
        "sessions": 812.5,
        "users": 240,
        "items": [{**_MUSE, "sessions": 12.1, "share": 0.015}],
    },
    "check": {
        "state": "ready",
        "element": "shifted-negative-binomial",
        "parameters": {"p": 0.8, "a": 0.3},
        "users": 1500,
        "items": 800,
        "draws": 5,
        "binarized": False,
        "nonzeros": _SPREAD,
        "share": {"data": 0.05, "mean": 0.049, "least": 0.048, "most": 0.05},
        "largest": {"data": 400, "mean": 350.2, "least": 300, "most": 420},
        "total": {"data": 200_000, "mean": 199_000.5, "least": 197_000, "most": 203_000},
        "ranges": [{**_SPREAD, "low": 1, "high": 1}],
        "findings": ["The model draws about as many non-zeros as there are (4.90% against 5.00%)."],
    },
    "healthz": {"status": "ok"},
    "readyz": {"ready": True, "revision": "3f9a1c0b52de"},
}
