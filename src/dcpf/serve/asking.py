"""Who asks, as a request tells it: a known user, a history, or both."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from dcpf.counts import LARGEST_COUNT, Counts, Id, Ids
from dcpf.model.asking import Asked
from dcpf.serve.loaded import Loaded

_NOBODY = 0  # whose history it is when no user is named


class NoHistory(Exception):  # noqa: N818 - the name says it
    """The model was saved without its training counts, and a question needs them."""


@dataclass(frozen=True)
class Asker:
    """One who asks, and the items of the history that the model does not know."""

    user: Id | None
    history: Counts | None
    unknown: list[Id]
    place: int | None = None  # in the model, if it is known and comes without a history

    @property
    def known_as(self) -> Id:
        """What the model calls the one who asks."""
        return _NOBODY if self.user is None else self.user

    def asked(self, loaded: Loaded) -> Asked:
        """What the model knows of the one who asks: worked out once for all that is asked."""
        if self.place is not None:
            return loaded.model._known(np.array([self.place]))
        return loaded.model._asked(None, self.history)


def asker(
    loaded: Loaded, user: Id | None, history: Iterable[tuple[Id, int]] | None, *, popular: bool = False
) -> Asker:
    """A user whom the model knows, or one with a history; with `popular`, anybody."""
    place = None
    if user is not None:
        place = loaded.users.find(user)
        if place is not None:
            user = loaded.model.users_[place]
        elif history is None and popular:
            history = ()
        elif history is None:
            loaded.users.place(user)  # raises
    if history is None:
        return Asker(user, None, [], place)
    counts, unknown = _counted(loaded, history)
    whose = Ids.of([_NOBODY if user is None else user], "user")
    return Asker(user, Counts(counts, whose, loaded.model.items_), unknown)


def need_training_counts(loaded: Loaded, one: Asker) -> None:
    """Nothing is known of what a user has by now if the model was saved without it and no history is given."""
    if one.history is None and loaded.model.history_ is None:
        raise NoHistory(
            "the model was saved without its training counts, so it does not know what its users have: "
            "post a history with the question"
        )


def places_of(loaded: Loaded, items: Iterable[Id]) -> tuple[list[int], list[Id]]:
    """Where these items stand, and which of them the model does not know."""
    places, unknown = [], []
    for typed in items:
        place = loaded.items.find(typed)
        if place is None:
            unknown.append(typed)
        else:
            places.append(place)
    return places, unknown


def _counted(loaded: Loaded, history: Iterable[tuple[Id, int]]) -> tuple[sparse.csr_array, list[Id]]:
    """A row of counts; those of an item that comes up several times are summed."""
    counts: dict[int, int] = {}
    unknown = []
    for typed, count in history:
        place = loaded.items.find(typed)
        if place is None:
            unknown.append(typed)
        elif count:
            counts[place] = counts.get(place, 0) + count
            if counts[place] > LARGEST_COUNT:
                raise ValueError(f"history: the counts of {loaded.items.name(place)!r} add up to more than 2^31-1")
    places = np.array(sorted(counts), dtype=np.int32)
    data = np.array([counts[int(place)] for place in places], dtype=np.int64)
    row = sparse.csr_array((data, places, [0, len(places)]), shape=(1, len(loaded.model.items_)))
    return row, unknown
