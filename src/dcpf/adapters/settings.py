"""The parameters of DCPF as the configuration of a component of another framework."""

from typing import Any

from pydantic import BaseModel

from dcpf.model import DCPF


class Settings(BaseModel):
    """Parameters of `DCPF`, under the same names and with the same defaults."""

    n_components: int = 50
    element: str = "shifted-nb"
    n_neighbors: int = 200
    neighbor_prior: float = 40.0
    shape_prior: float = 0.3
    max_iter: int = 500
    n_jobs: int | None = None

    def unfitted(self, random_state: Any) -> DCPF:
        """A model with these parameters."""
        return DCPF(**{name: getattr(self, name) for name in Settings.model_fields}, random_state=random_state)
