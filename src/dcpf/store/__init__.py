"""Named arrays and one JSON-able dict as one .safetensors file, and back. Imports nothing of dcpf but its version.

The metadata of the file has one key, `dcpf`: a JSON text with the format, its version, the version of the library,
the caller's dict, a checksum of the body, and a seal, which is a checksum of the header. `read` checks the seal, and
takes no longer for large arrays. `verify` checks the body too. Nothing is ever pickled or unpickled. Checkpoints of a
fit are such files, too, in a folder with a manifest.
"""

from dcpf.store.atomic import replacing, sweep_strays
from dcpf.store.checkpoint import CheckpointFolder
from dcpf.store.files import Arrays, facts, read, verify, write
from dcpf.store.header import FORMAT, VERSION, ModelFormatError

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
