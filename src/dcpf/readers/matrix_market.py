"""MatrixMarket files, plain or packed: a matrix of counts without ids."""

import re
from typing import Any

from scipy import io

from dcpf.counts import InvalidCounts
from dcpf.readers.content import Source

_FEWEST_BYTES = 4  # of an entry: "1 1" and a line end
_MOST_UNPACKED = 1100  # bytes that a byte of gzip can hold, and a little more


def read_matrix_market(source: Source) -> Any:
    """The matrix, sparse or dense."""
    _check_size(source)
    try:
        with source.open() as (stream, _):
            return io.mmread(stream, spmatrix=False)
    except (ValueError, OverflowError, TypeError, MemoryError) as error:
        if isinstance(error, InvalidCounts):
            raise
        line = re.match(r"Line (\d+): (.*)", str(error))
        where, why = (f":{line[1]}", line[2]) if line else ("", str(error))
        raise InvalidCounts(f"{source.path}{where}: broken MatrixMarket file ({why}); write it anew") from None


def _check_size(source: Source) -> None:
    """Refuse a header that promises more than the file can hold, before room is made for it."""
    with source.open() as (stream, _):
        banner = stream.readline(1024).split()
        line = stream.readline(2**16)
        while line.startswith(b"%") or (line and not line.strip()):
            line = stream.readline(2**16)
    sizes = [int(one) for one in line.split() if one.isdigit()]
    promised = sizes[-1] if b"coordinate" in banner and len(sizes) == 3 else 0
    if b"array" in banner and len(sizes) == 2:
        promised = sizes[0] * sizes[1] // 2
    source.check_shape((sizes[0], sizes[1]) if len(sizes) > 1 else (0, 0))
    most = source.size * (_MOST_UNPACKED if source.packing else 1)
    if promised * _FEWEST_BYTES > most:
        raise InvalidCounts(
            f"{source.path}: its header promises {promised:,} entries, and its {source.size:,} bytes cannot hold "
            "them; copy or download it again"
        )
