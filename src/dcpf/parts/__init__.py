"""Where sessions come from: one file per part. Imports rooms below it: inference, ranking, elements, counts, kernels.

A new part is one file in this folder: a frozen dataclass that derives from `Part`. It is found here, so it is learned
when the settings ask for it, ranked, explained, saved, served and tested. One of your own may be anywhere: import it,
and pass it to `DCPF.fit(kinds=...)`.
"""

import importlib
import pkgutil
import reprlib

from dcpf.parts.part import Learning, Met, NewRows, Part, Reasons, UserBatch

__all__ = ["Learning", "Met", "NewRows", "Part", "Reasons", "UserBatch", "kind_of", "kinds"]


def kinds() -> tuple[type[Part], ...]:
    """The kinds of parts in this folder, in the order in which they are learned."""
    modules = [importlib.import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)]
    found = {
        kind
        for module in modules
        for kind in vars(module).values()
        if isinstance(kind, type)
        and issubclass(kind, Part)
        and kind is not Part
        and kind.__module__ == module.__name__
    }
    return tuple(sorted(found, key=lambda kind: (kind.order, kind.name)))


def kind_of(name: str) -> type[Part]:
    """The kind of part of this name. One of your own must have been imported before."""
    if name not in Part.registry:
        kinds()  # imports those of this folder
    if name not in Part.registry:
        raise ValueError(
            f"the model has the part {reprlib.repr(name)}, which is none of {', '.join(Part.registry)}; if it is one "
            "of your own, import its file first"
        )
    return Part.registry[name]
