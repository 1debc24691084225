"""What a fit is asked for beside the data."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FitSettings:
    """Checked parameters of a model, as the loop and the parts read them."""

    shape_prior: tuple[float, float] = (0.3, 0.3)  # aW, aH
    learn_element: bool = True
    learn_rates: bool = True
    accelerate: bool = True
    n_neighbors: int = 0
    neighbor_prior: float = 40.0
