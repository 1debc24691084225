"""What a fit does not change."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Settings:
    """What is given to a fit beside the data."""

    shape_prior: tuple[float, float]  # aW, aH
    learn_element: bool
    learn_rates: bool
    n_neighbors: int = 0
    neighbor_prior: float = 0.0
