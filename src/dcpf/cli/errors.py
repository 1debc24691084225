"""Errors and warnings in the words of the command line: the one place that knows what parameters are called there."""

import re

# The options whose names are not those of the parameters
_OPTIONS = {"n_components": "components", "n_neighbors": "neighbors", "random_state": "seed"}
_PARAMETER = re.compile(
    r"\b(n_components|n_neighbors|neighbor_prior|shape_prior|random_state|max_iter|min_per_\w+|test_fraction"
    r"|(?:user|item|count)_column|round_counts|skip_bad_lines|no_token"
    r"|(?:history|tol|header|journal|restart|whole|prepared|insecure|token|host|port)(?==))\b(=True\b|=)?"
)
_NO_VALUE = ("", " ", ",", ";", ")")  # what follows "=" where no value does

_BY_INPUT = (ValueError, TypeError, FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError)
_BY_MACHINE = (OSError, MemoryError, FloatingPointError)


def as_typed(message: str) -> str:
    """The message with options for parameters: min_per_user=3 is --min-per-user 3, header=True is --header."""

    def option(parameter: re.Match[str]) -> str:
        name = _OPTIONS.get(parameter[1], parameter[1]).replace("_", "-")
        following = message[parameter.end() : parameter.end() + 1]
        return f"--{name}" + (" " if parameter[2] == "=" and following not in _NO_VALUE else "")

    return _PARAMETER.sub(option, message).replace("dtype='float64'", "--float64")


def message_and_code(error: Exception) -> tuple[str, int]:
    """What to print, and the exit code: 2 for what the user can put right, 1 for all else."""
    message = str(error)
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        message = f"{error.filename}: {error.strerror}"
    if isinstance(error, _BY_INPUT) or _is_unknown_id(error):
        return as_typed(message), 2
    if isinstance(error, _BY_MACHINE):
        return message or type(error).__name__, 1
    return f"internal error: {type(error).__name__}: {message}; `dcpf --debug ...` shows where", 1


def _is_unknown_id(error: Exception) -> bool:
    if not isinstance(error, KeyError):
        return False
    from dcpf.counts import UnknownId

    return isinstance(error, UnknownId)
