"""Docstrings as they are meant: properties are no fields with a type, and fields of dataclasses have comments."""

import dataclasses
import inspect
import re
from typing import Any, cast

from sphinx.application import Sphinx

_FIELD = re.compile(r"^    (\w+): (.+?)(?: = .+?)?(?:  # (.+))?$", re.MULTILINE)


def _add_fields(app: Sphinx, what: str, name: str, found: Any, options: Any, lines: list[str]) -> None:
    listed = "Attributes\n" in (found.__doc__ or "")
    if what != "class" or listed or not dataclasses.is_dataclass(found):
        return
    own: Any = inspect.get_annotations(cast(type, found))  # and not those of the classes above it
    known = {one.name for one in dataclasses.fields(found)} & set(own)
    told = [
        f"- **{field}** ({kind.strip(chr(34))}){f': {comment}' if comment else ''}"
        for field, kind, comment in _FIELD.findall(inspect.getsource(cast(type, found)))
        if field in known
    ]
    if told:
        lines += ["", "Fields:", "", *(re.sub(r"\||_\b", r"\\\g<0>", line) for line in told), ""]


def _restore_properties(app: Sphinx, what: str, name: str, found: Any, options: Any, lines: list[str]) -> None:
    """Napoleon takes what stands before a colon for the type of a property. We write sentences."""
    if what == "property" and found.__doc__:
        lines[:] = [*inspect.cleandoc(found.__doc__).splitlines(), ""]


def _plain_dashes(app: Sphinx, what: str, name: str, found: Any, options: Any, lines: list[str]) -> None:
    """Between a parameter and what it is, a colon will do."""
    lines[:] = [re.sub(r"\) -- ", "): ", line) for line in lines]


def setup(app: Sphinx) -> dict[str, Any]:
    """Change what napoleon has made of docstrings."""
    for change in (_add_fields, _restore_properties, _plain_dashes):
        app.connect("autodoc-process-docstring", change, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
