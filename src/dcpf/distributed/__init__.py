"""The same fit on a Dask cluster: users on workers, the loop where it was started. Needs the extra `dask`."""

try:
    import distributed  # noqa: F401 - whether it is there
    import fsspec  # noqa: F401
except ImportError as error:  # pragma: no cover - where the extra is not installed
    raise ImportError("a fit on a cluster needs Dask: pip install 'dcpf[dask]'") from error

from dcpf.distributed.blocks import RoundTimes
from dcpf.distributed.cluster import local_cluster
from dcpf.distributed.fitting import fit, recommend

__all__ = ["RoundTimes", "fit", "local_cluster", "recommend"]
