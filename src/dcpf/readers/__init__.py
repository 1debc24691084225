"""Files to Counts, one file for each kind. May import dcpf.counts and nothing else of dcpf."""

from dcpf.readers.names import read_names
from dcpf.readers.read import read_counts

__all__ = ["read_counts", "read_names"]
