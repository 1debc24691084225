"""Messages in the words of the command line: parameters of Python become options."""

import re

# The options whose names are not those of the parameters
_OPTIONS = {"n_components": "components", "n_neighbors": "neighbors", "random_state": "seed"}
_PARAMETER = re.compile(
    r"\b(n_components|n_neighbors|neighbor_prior|shape_prior|random_state|max_iter|min_per_\w+|test_fraction"
    r"|(?:user|item|count)_column|round_counts|skip_bad_lines|(?:history|tol|header)(?==))\b(=True\b|=)?"
)
_NO_VALUE = ("", " ", ",", ";", ")")  # what follows "=" where no value does


def as_typed(message: str) -> str:
    """The message with options for parameters: min_per_user=3 is --min-per-user 3, header=True is --header."""

    def option(parameter: re.Match[str]) -> str:
        name = _OPTIONS.get(parameter[1], parameter[1]).replace("_", "-")
        following = message[parameter.end() : parameter.end() + 1]
        return f"--{name}" + (" " if parameter[2] == "=" and following not in _NO_VALUE else "")

    return _PARAMETER.sub(option, message).replace("dtype='float64'", "--float64")
