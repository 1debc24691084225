"""What may come of reading a file from anywhere: counts or a model to use, or an error that is documented."""

import contextlib
from pathlib import Path

import numpy as np

import dcpf
from dcpf.counts import Counts
from dcpf.readers import read_counts

_QUESTIONS_MAY_RAISE = (ValueError, TypeError, KeyError, ArithmeticError)  # InvalidCounts and UnknownId among them


class BrokenContract(AssertionError):  # noqa: N818 - the name says it
    """The contract does not hold."""


def read(kind: str, path: Path) -> str:
    """Read the file and use what was read: "read", or "refused" where the error is as it should be."""
    wanted = dcpf.ModelFormatError if "model" in kind else dcpf.InvalidCounts
    try:
        if "model" in kind:
            _ask(dcpf.load(path))
        else:
            _check_counts(read_counts(path))
    except wanted as error:
        _check_error(error, path)
        return "refused"
    return "read"


def _check_error(error: BaseException, path: Path) -> None:
    said = str(error)
    if str(path) not in said or "\n" in said or len(said) > 2000:
        raise BrokenContract(f"an error that does not name the file in one short line: {said[:300]!r}")
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, MemoryError):
            raise BrokenContract(f"the memory was asked for before the file was refused: {said}")
        cause = cause.__context__


def _check_counts(counts: Counts) -> None:
    matrix = counts.matrix
    matrix.check_format(full_check=True)
    sound = matrix.has_canonical_format and matrix.shape == (len(counts.users), len(counts.items))
    if not (sound and matrix.nnz and matrix.data.min() >= 1 and matrix.data.max() <= 2**31 - 1):
        raise BrokenContract(f"counts that are not sound: {matrix!r}")


def _ask(model: dcpf.FittedModel) -> None:
    """Every kind of question. A forged model may answer nonsense or refuse, but nothing worse."""
    counts = np.ones((1, len(model.items)), dtype=int)
    for question in (
        lambda: model.recommend(n=2, n_jobs=1),
        lambda: model.recommend(history=counts, n=2, n_jobs=1),
        lambda: model.similar_items(model.items[0], n=2, n_jobs=1),
        lambda: model.explain(model.users[0], model.items[0], n_jobs=1),
        lambda: model.sessions(n_jobs=1),
        lambda: model.describe(),
    ):
        with contextlib.suppress(*_QUESTIONS_MAY_RAISE), np.errstate(all="ignore"):
            question()
