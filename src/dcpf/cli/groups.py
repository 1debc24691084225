"""Options that several commands share, as one value."""

import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import Any, get_type_hints


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """A command for typer, with an option for each field of its parameters that are dataclasses, in their place.

    Such a parameter has a default, which tells its class. What the fields may be, the class checks when it is made.
    """
    own = inspect.signature(command)
    groups: dict[str, Any] = {
        one.name: type(one.default) for one in own.parameters.values() if is_dataclass(one.default)
    }
    options = {name: _options(group) for name, group in groups.items()}

    @wraps(command)
    def run(**given: Any) -> None:
        made = {
            name: group(**{one.name: given.pop(one.name) for one in options[name]}) for name, group in groups.items()
        }
        command(**made, **given)

    taken = [new for one in own.parameters.values() for new in options.get(one.name, [one])]
    run.__signature__ = own.replace(parameters=taken)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in taken}
    return run


def _options(group: Any) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return [
        inspect.Parameter(one.name, kind, default=one.default, annotation=hints[one.name]) for one in fields(group)
    ]
