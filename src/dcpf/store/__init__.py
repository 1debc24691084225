"""Named arrays and one JSON-able dict as one .safetensors file, and back. Imports nothing of dcpf but its version.

A file is written whole or not at all. `read` checks the header and maps the arrays, so it takes no longer for large
files; `verify` checks the content, too. Nothing is ever pickled or unpickled. A checkpoint of a fit is such a file in
a folder with a manifest.
"""

from dcpf.store.arrays import FORMAT, VERSION, Arrays, ModelFormatError, facts, read, verify, write
from dcpf.store.atomic import replacing, sweep_strays
from dcpf.store.checkpoints import CheckpointFolder

__all__ = [
    "FORMAT",
    "VERSION",
    "Arrays",
    "CheckpointFolder",
    "ModelFormatError",
    "facts",
    "read",
    "replacing",
    "sweep_strays",
    "verify",
    "write",
]
