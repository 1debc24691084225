"""What the service answers, by type: the answers are made to these, and so is their description in OpenAPI."""

from typing import NotRequired

from typing_extensions import TypedDict  # pydantic takes the one of typing from Python 3.12 on only

from dcpf.counts import Id


class Error(TypedDict):
    """What is wrong, for programs and for people."""

    kind: str
    message: str


class Failed(TypedDict):
    """Every answer that is not the one that was asked for."""

    error: Error


class Item(TypedDict):
    """An item; the name is the id as text where there is no name."""

    item: Id
    name: str


class Component(TypedDict):
    """A component, its share, and its first items."""

    number: int
    share: float
    items: list[Item]


class ListedComponent(Component):
    """Also how many users lean on it."""

    users: int


class Components(TypedDict):
    """All components, the largest first."""

    components: list[ListedComponent]


class ItemShare(Item):
    """An item with its expected sessions from a component, and their share of all that come from it."""

    sessions: float
    share: float


class ComponentInFull(TypedDict):
    """One component with more of its items."""

    number: int
    share: float
    sessions: float
    users: int
    items: list[ItemShare]


class FoundUser(TypedDict):
    """A user in a search; entries and total are null without training counts."""

    id: Id
    entries: int | None
    total: int | None


class FoundUsers(TypedDict):
    """Users that a search has found."""

    users: list[FoundUser]
    more: bool


class FoundItem(TypedDict):
    """An item, how many users have it, and the total of its counts; null without training counts."""

    id: Id
    name: str
    users: int | None
    total: int | None


class FoundItems(TypedDict):
    """Items that a search has found."""

    items: list[FoundItem]
    more: bool


class ReadCount(Item):
    """A count of a history, and as how many sessions it is read."""

    count: int
    sessions: float


class User(TypedDict):
    """What is known of a user."""

    id: Id
    entries: int
    total: int
    sessions: float
    history: list[ReadCount]
    components: list[Component]


class HistoryPart(ReadCount):
    """A count of a history, and what it adds to a score."""

    part: float


class ComponentPart(TypedDict):
    """What a component adds to a score."""

    number: int
    part: float
    items: list[Item]


class Why(TypedDict):
    """A score in parts: history, rest and prior add up to it, and so do all components and excited."""

    history: list[HistoryPart]
    rest: float
    prior: float
    components: list[ComponentPart]
    excited: float


class Recommended(Item):
    """A recommended item; count is null where the element knows none."""

    sessions: float
    count: float | None
    probability: float
    why: NotRequired[Why]


class List(TypedDict):
    """The list of one of several users."""

    user: Id
    items: list[Recommended]


class OneList(TypedDict):
    """The list of the one who asked, and what was passed over because the model does not know it.

    The user is null for a mere history.
    """

    user: Id | None
    items: list[Recommended]
    unknown_items: list[Id]
    history: NotRequired[list[ReadCount]]


class ManyLists(TypedDict):
    """The lists of several users."""

    lists: list[List]
    unknown_items: list[Id]


class Prediction(Item):
    """What is expected of a pair; low and high are a 90% interval of the sessions."""

    sessions: float
    count: float | None
    probability: float
    low: float
    high: float


class Predictions(TypedDict):
    """What is expected of one user and several items."""

    user: Id | None
    items: list[Prediction]
    unknown_items: list[Id]


class Explanation(Item):
    """A score and all its parts, the largest first."""

    user: Id | None
    score: float
    prior: float
    excited: float
    history: list[HistoryPart]
    components: list[ComponentPart]
    unknown_items: list[Id]


class SimilarItem(Item):
    """An item that is similar to another."""

    similarity: float


class SimilarItems(Item):
    """Items that are similar to this one."""

    items: list[SimilarItem]


class SimilarUser(TypedDict):
    """A user who is similar to another."""

    user: Id
    similarity: float


class SimilarUsers(TypedDict):
    """Users who are similar to this one."""

    user: Id
    users: list[SimilarUser]


class Listener(TypedDict):
    """A user who has an item."""

    user: Id
    count: int
    sessions: float


class ExcitedBy(Item):
    """An item that makes another more likely."""

    strength: float


class ItemInFull(FoundItem):
    """What is known of an item."""

    expected_sessions: float
    listeners: list[Listener]
    similar: list[SimilarItem]
    components: list[Component]
    excited: float
    excited_by: list[ExcitedBy]


class Law(TypedDict):
    """Points of the law of a session, and the probability of at most so much."""

    x: list[int]
    probability: list[float]
    at_most: list[float]


class Curve(TypedDict):
    """Expected sessions behind counts, at a rate."""

    count: list[int]
    sessions: list[float]
    rate: float


class File(TypedDict):
    """The file of the model."""

    name: str
    bytes: int
    format: int
    dcpf: str


class FittedTo(TypedDict):
    """The data that the model was fitted to."""

    users: int
    items: int
    entries: int
    total: int
    largest: int
    checksum: str


class Share(TypedDict):
    """A user or an item with its expected sessions, and their share: of all, or of those of a component."""

    id: Id
    name: str
    sessions: float
    share: float


class LargeComponent(TypedDict):
    """A component with its expected sessions, their share of all, and the items that most of them go to."""

    number: int
    sessions: float
    share: float
    items: list[Share]


class Card(TypedDict):
    """The model at a glance."""

    file: File
    revision: str
    loaded_at: str
    element: str
    parameters: dict[str, float]
    meaning: str
    mean: float | None
    deviation: float | None
    pmf: Law | None
    curve: Curve
    users: int
    items: int
    components: int
    data: FittedTo
    has_history: bool
    has_names: bool
    neighbors: int
    excited: float
    sessions: float
    sessions_per_count: float | None
    bounds: list[float]
    most_active: list[Share]
    most_popular: list[Share]
    largest_components: list[LargeComponent]


class Spread(TypedDict):
    """A number of the data, and of the draws: their mean, the least and the most."""

    data: float
    mean: float
    least: float
    most: float


class Range(TypedDict):
    """How many entries have a count from low to high: in the data and in the draws."""

    low: int
    high: int
    data: int
    mean: float
    least: int
    most: int


class Check(TypedDict):
    """The predictive check, once state is "ready"; reason says why it is "unavailable"."""

    state: str
    reason: NotRequired[str]
    element: NotRequired[str]
    parameters: NotRequired[dict[str, float]]
    users: NotRequired[int]
    items: NotRequired[int]
    draws: NotRequired[int]
    binarized: NotRequired[bool]
    nonzeros: NotRequired[Spread]
    share: NotRequired[Spread]
    largest: NotRequired[Spread]
    total: NotRequired[Spread]
    ranges: NotRequired[list[Range]]
    findings: NotRequired[list[str]]


class Health(TypedDict):
    """The process answers."""

    status: str


class Readiness(TypedDict):
    """Whether there is a model to ask, and which."""

    ready: bool
    revision: str
