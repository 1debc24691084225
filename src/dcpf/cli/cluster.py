"""The options of `dcpf fit` for a cluster, and the fit there."""

from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from dcpf.model import DCPF

Workers = Annotated[
    int | None,
    typer.Option(metavar="N", help="Fit with N worker processes on this machine."),
]
Scheduler = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="Fit on the Dask cluster of this scheduler, such as tls://host:8786."),
]
Insecure = Annotated[
    bool,
    typer.Option(
        "--insecure", help="Accept a scheduler on another host without TLS: anyone on the network can use it."
    ),
]
Prepared = Annotated[
    str | None,
    typer.Option(
        metavar="DIR",
        help="On a cluster: a folder that all workers see, for the prepared counts.  [default: FILE.dcpf]",
    ),
]
UserFactors = Annotated[
    str | None,
    typer.Option(
        metavar="DIR",
        help="On a cluster: write the factors of users to this folder, as Parquet, instead of the model.",
    ),
]


@dataclass(frozen=True)
class Cluster:
    """The cluster that the options ask for."""

    workers: int | None
    scheduler: str | None
    insecure: bool
    threads: int | None

    def opened(self) -> AbstractContextManager[Any]:
        """A client of the cluster, for a `with` block."""
        from dcpf.distributed.cluster import connected, local_cluster
        from dcpf.kernels.threads import thread_count

        if self.scheduler is not None:
            return connected(self.scheduler, insecure=self.insecure)
        workers = self.workers or 1
        return local_cluster(workers, max(1, thread_count(self.threads) // workers))


def check_cluster(cluster: Cluster, *, only_there: dict[str, Any], only_here: dict[str, Any]) -> bool:
    """Whether the options ask for a cluster. Refuses options that do not go with that."""
    used = cluster.workers is not None or cluster.scheduler is not None
    if cluster.workers is not None and cluster.scheduler is not None:
        raise ValueError("--workers starts a cluster and --scheduler uses a running one: give one of them")
    if cluster.workers is not None and cluster.workers < 1:
        raise ValueError(f"--workers must be at least 1, found {cluster.workers}")
    for name, value in (only_here if used else only_there).items():
        if value not in (None, False):
            option = f"--{name.replace('_', '-')}"
            raise ValueError(
                f"{option} does not go with --workers and --scheduler: leave it out, or fit without a cluster"
                if used
                else f"{option} is for a fit on a cluster: add --workers or --scheduler"
            )
    if used:
        try:
            import dcpf.distributed  # noqa: F401 - whether Dask is installed
        except ImportError as error:
            raise ValueError(str(error)) from None
    return used


def fit_on_cluster(
    model: "DCPF",
    data: str,
    names: Path | None,
    cluster: Cluster,
    folders: dict[str, Any],
    columns: dict[str, Any],
) -> None:
    """Fit the model on this cluster; `folders` and `columns` are further options of `dcpf.distributed.fit`."""
    from dcpf.distributed import fit

    with cluster.opened() as client:
        fit(model, data, client, names=names, insecure=cluster.insecure, **folders, **columns)
