"""Valid text files and models, damaged within and without, by a random generator alone."""

import functools
import gzip
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from backports import zstd
from tests.fuzzing.mutations import damaged

import dcpf
from dcpf.counts import Counts
from dcpf.store.arrays import CODES, DTYPES, plain_json, seal

gzipped = functools.partial(gzip.compress, mtime=0)  # the time is no part of a seed
_ROWS = [
    ("ana", "La Paloma", 3),
    ("ben", 'Say "Hi"', 1),
    ("ana", "Größe, die", 12),
    ("007", "x", 2),
    ("12", "x", 2**20),
]
_MATRIX = np.array([[0, 2, 1, 0], [3, 0, 0, 9], [0, 0, 7, 1]])


def _text(delimiter: str, quote: str) -> bytes:
    def field(value: object) -> str:
        text = str(value)
        return f"{quote}{text.replace(quote, 2 * quote)}{quote}" if quote and delimiter in text + delimiter else text

    lines = [("user", "item", "count"), *_ROWS]
    return "".join(delimiter.join(field(one) for one in line) + "\n" for line in lines).encode()


CSV, TSV = _text(",", '"'), _text("\t", "")


@functools.cache
def model() -> bytes:
    """A small model with ids in no order, names and history."""
    counts = Counts.from_matrix(_MATRIX, ["b", "a", "c"], ["x", "ä", "z", "q"]).with_names({"x": "An X"})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        dcpf.DCPF(2, max_iter=3, tol=0.0, random_state=0, n_jobs=1).fit(counts).save(path)
        return path.read_bytes()


# Damage, before and after what would tell of it


def packed(original: bytes, random: Random, pack: Callable[[bytes], bytes]) -> bytes:
    """Damaged and then packed, so that the checksum is right, or the other way about."""
    if random.random() < 0.6:
        return pack(damaged(original, random, [CSV, TSV]))
    return damaged(pack(original), random, [gzipped(CSV), zstd.compress(TSV)])


_VALUES = (0, 1, 2, 3, 5, 100, 2**31 - 1, 2**31, 2**53, 2**62, -1, -(2**31))


def _changed(array: np.ndarray, random: Random, types: tuple[str, ...]) -> np.ndarray:
    """Another value, type, size or shape."""
    array, what = array.copy(), random.randrange(5)
    if what == 0 and array.size and array.dtype.kind in "iuf":
        with np.errstate(all="ignore"):
            value = np.array(
                random.choice(_VALUES) if random.random() < 0.8 else random.choice((np.nan, np.inf, 0.5))
            )
            array.reshape(-1)[random.randrange(array.size)] = value.astype(array.dtype)
    elif what == 1:
        try:
            with np.errstate(all="ignore"):
                array = array.astype(random.choice(types))
        except (ValueError, TypeError):
            array = np.zeros(3)
    elif what == 2:
        array = array.reshape(-1)[: random.randrange(array.size + 1)]
    elif what == 3:
        array = np.concatenate([array.reshape(-1)] * random.choice((2, 50)))
    else:
        array = array.reshape(random.choice([(1, -1), (-1, 1), (1, 1, -1), (-1,)]))
    return array


def damaged_model(random: Random) -> bytes:
    """Damage that the seal tells of."""
    data = model()
    if random.random() < 0.5:
        return damaged(data, random, [model()[:200], gzipped(CSV)])
    length = int.from_bytes(data[:8], "little")
    header = damaged(data[8 : 8 + length], random, [data[8 : 8 + length]])
    return len(header).to_bytes(8, "little") + header + data[8 + length :]


def forged_model(random: Random) -> bytes:
    """A file whose content is not that of a model, sealed as if it were."""
    data = model()
    length = int.from_bytes(data[:8], "little")
    header: dict[str, Any] = json.loads(data[8 : 8 + length])
    document = json.loads(header.pop("__metadata__")["dcpf"])
    body, arrays = data[8 + length :], {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        dtype = DTYPES[entry["dtype"]]
        arrays[name] = np.frombuffer(body[begin:end], dtype).reshape(entry["shape"])
    for _ in range(random.choice((1, 1, 2))):
        if random.random() < 0.6:
            name = random.choice(list(arrays))
            types = tuple(dtype.str for dtype in CODES)
            arrays[name] = np.ascontiguousarray(_changed(arrays[name], random, types))
            if random.random() < 0.1:
                del arrays[name]
        else:
            document["meta"] = _other_json(document["meta"], random)
    return sealed(arrays, document)


def sealed(arrays: dict[str, np.ndarray], document: dict[str, Any]) -> bytes:
    """The bytes of a file with these arrays, whatever they are, and with the right seal."""
    header, body = {}, b""
    table = {name: (CODES[array.dtype], array.shape) for name, array in arrays.items()}
    for name, array in arrays.items():
        place = [len(body), len(body) + array.nbytes]
        header[name] = {"dtype": table[name][0], "shape": list(array.shape), "data_offsets": place}
        body += array.tobytes()
    document = {key: value for key, value in document.items() if key != "seal"}
    text = plain_json({**document, "seal": seal(table, document)})
    head = json.dumps({"__metadata__": {"dcpf": text}, **header}).encode()
    return len(head).to_bytes(8, "little") + head + body


_STRANGE = (None, True, 0, -1, 0.5, 1e308, 10**400, "", "nan", "inf", "x" * 3000, [], {}, [1, 2], {"name": "raw"})


def _other_json(value: Any, random: Random) -> Any:
    """The same with one part of it, however deep, replaced, missing or there besides."""
    if isinstance(value, dict) and value and random.random() < 0.8:
        key = random.choice(list(value))
        if random.random() < 0.1:
            return {name: one for name, one in value.items() if name != key}
        if random.random() < 0.1:
            return {**value, random.choice(("__class__", "self", "n_components", "x")): random.choice(_STRANGE)}
        return {**value, key: _other_json(value[key], random)}
    if isinstance(value, list) and value and random.random() < 0.5:
        j = random.randrange(len(value))
        return [*value[:j], _other_json(value[j], random), *value[j + 1 :]]
    return random.choice(_STRANGE)


KINDS: dict[str, Callable[[Random], bytes]] = {
    "csv": lambda random: damaged(CSV, random, [TSV, CSV]),
    "tsv": lambda random: damaged(TSV, random, [TSV, CSV]),
    "csv.gz": lambda random: packed(CSV, random, gzipped),
    "tsv.zst": lambda random: packed(TSV, random, zstd.compress),
    "model": damaged_model,
    "forged model": forged_model,
}

VALID: dict[str, Callable[[], bytes]] = {
    "csv": lambda: CSV,
    "csv.gz": lambda: gzipped(CSV),
    "tsv.zst": lambda: zstd.compress(TSV),
    "model": model,
}
