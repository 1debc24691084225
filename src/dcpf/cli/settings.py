"""The settings of a model that commands take, and that dcpf tune chooses."""

import math
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from dcpf.cli.inputs import check_least

_PARAMETERS = {"components": "n_components", "neighbors": "n_neighbors"}  # the others have the same name


@dataclass(frozen=True)
class Settings:
    """What was said of the model. Each field is an option of every command that fits one as it is told."""

    components: Annotated[
        int | None,
        typer.Option(
            help="Length of a user's and an item's vector. 0 is popularity instead of factors.  [default: 50]"
        ),
    ] = None
    neighbors: Annotated[
        int | None,
        typer.Option(
            help="How many items may make an item more likely: excitation. 0 is factors alone, as in the paper.  "
            "[default: 200]"
        ),
    ] = None
    element: Annotated[
        str | None,
        typer.Option(
            help="Law of the counts in a session: shifted-nb, logarithmic, geometric, zero-truncated-poisson; or "
            "raw, binary, which take all of a count or none of it.  [default: shifted-nb]"
        ),
    ] = None
    neighbor_prior: Annotated[
        float | None,
        typer.Option(
            help="How many users must have an item before they count as much as the prior on what it excites, "
            "if there are 1,500 users or more.  [default: 40]"
        ),
    ] = None
    shape_prior: Annotated[
        float | None,
        typer.Option(help="Shape of the gamma priors; less than 1 makes vectors sparse.  [default: 0.3]"),
    ] = None

    def __post_init__(self) -> None:
        check_least(components=(self.components, 0), neighbors=(self.neighbors, 0))
        for option, value in (("--neighbor-prior", self.neighbor_prior), ("--shape-prior", self.shape_prior)):
            if value is not None and not 0.0 < value < math.inf:
                raise ValueError(f"{option} must be a positive number, found {value}")

    def parameters(self) -> dict[str, Any]:
        """What was given, by the names that the estimator has for it."""
        from dcpf import elements

        if self.element is not None:
            elements.get(self.element)  # one that is not there is an error before anything is read
        return {_PARAMETERS.get(name, name): value for name, value in vars(self).items() if value is not None}


DEFAULTS = Settings()
