"""Metrics of the service in Prometheus' text format."""

import bisect
import threading
from collections import Counter

from dcpf.serve.served import Current

_BOUNDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)  # seconds


class Metrics:
    """Requests by route and status, their latency, and how many are in flight."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._buckets: dict[str, list[int]] = {}
        self._seconds: Counter[str] = Counter()
        self.in_flight = 0

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count an answered request."""
        with self._lock:
            self._requests[method, route, status] += 1
            buckets = self._buckets.setdefault(route, [0] * (len(_BOUNDS) + 1))
            buckets[bisect.bisect_left(_BOUNDS, seconds)] += 1
            self._seconds[route] += seconds  # type: ignore[assignment]

    def text(self, current: Current) -> str:
        """All metrics, and those of the model in use."""
        with self._lock:
            requests, seconds = dict(self._requests), dict(self._seconds)
            buckets = {route: list(numbers) for route, numbers in self._buckets.items()}
        lines = ["# HELP dcpf_requests_total Requests answered.", "# TYPE dcpf_requests_total counter"]
        for (method, route, status), number in sorted(requests.items()):
            labels = f'method="{method}",route="{route}",status="{status}"'
            lines.append(f"dcpf_requests_total{{{labels}}} {number}")
        name = "dcpf_request_seconds"
        lines += [f"# HELP {name} Time until an answer was sent.", f"# TYPE {name} histogram"]
        for route, numbers in sorted(buckets.items()):
            below = 0
            for bound, number in zip((*_BOUNDS, "+Inf"), numbers, strict=True):
                below += number
                lines.append(f'{name}_bucket{{route="{route}",le="{bound}"}} {below}')
            lines.append(f'{name}_sum{{route="{route}"}} {seconds[route]:.6f}')
            lines.append(f'{name}_count{{route="{route}"}} {below}')
        served = current.served
        single = (
            ("dcpf_requests_in_flight", "gauge", "Requests in flight.", self.in_flight),
            ("dcpf_model_swaps_total", "counter", "Newer models taken into use.", current.swaps),
            ("dcpf_model_swap_failures_total", "counter", "Model files that could not be used.", current.failures),
            ("dcpf_model_loaded_timestamp_seconds", "gauge", "When the model in use was loaded.",
             f"{served.loaded_at.timestamp():.3f}"),
            (f'dcpf_model_info{{revision="{served.revision}"}}', "gauge", "The model in use.", 1),
        )  # fmt: skip
        for sample, kind, help_text, value in single:
            bare = sample.partition("{")[0]
            lines += [f"# HELP {bare} {help_text}", f"# TYPE {bare} {kind}", f"{sample} {value}"]
        return "\n".join(lines) + "\n"
