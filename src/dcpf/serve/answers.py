"""The types of all answers. Questions build their answers by them, and OpenAPI describes them."""

from typing import NotRequired

from typing_extensions import TypedDict  # pydantic accepts that of typing from Python 3.12 only

from dcpf.counts import Id


class Error(TypedDict):
    """The kind of an error, for programs, and a message for people."""

    kind: str
    message: str


class Failed(TypedDict):
    """The answer to a request that failed."""

    error: Error


class Item(TypedDict):
    """An item. Where it has no name, the name is its id as text."""

    item: Id
    name: str


class Component(TypedDict):
    """A component, its share of sessions, and its top items."""

    number: int
    share: float
    items: list[Item]


class ListedComponent(Component):
    """A component, and how many users expect more sessions from it than from any other."""

    users: int


class Components(TypedDict):
    """All components, the largest first."""

    components: list[ListedComponent]


class ItemShare(Item):
    """An item, its expected sessions from a component, and their share of all sessions from that component."""

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
    """A user found by a search. Entries and total are null without training counts."""

    id: Id
    entries: int | None
    total: int | None


class FoundUsers(TypedDict):
    """The users that a search has found."""

    users: list[FoundUser]
    more: bool


class FoundItem(TypedDict):
    """An item, how many users have it, and the total of its counts. Both are null without training counts."""

    id: Id
    name: str
    users: int | None
    total: int | None


class FoundItems(TypedDict):
    """The items that a search has found."""

    items: list[FoundItem]
    more: bool


class ReadCount(Item):
    """A count of a history, and the expected sessions behind it."""

    count: int
    sessions: float


class User(TypedDict):
    """A user's counts, the expected sessions behind them, and the user's components."""

    id: Id
    entries: int
    total: int
    sessions: float
    history: list[ReadCount]
    components: list[Component]


class HistoryPart(ReadCount):
    """A count of a history, and its part of a score."""

    part: float


class ComponentPart(TypedDict):
    """A component, and its part of a score."""

    number: int
    part: float
    items: list[Item]


class Why(TypedDict):
    """The parts of a score. History, rest and prior add up to it; so do all components and excited."""

    history: list[HistoryPart]
    rest: float
    prior: float
    components: list[ComponentPart]
    excited: float


class Recommended(Item):
    """A recommended item. The binary element has no expected count; it is null then."""

    sessions: float
    count: float | None
    probability: float
    why: NotRequired[Why]


class List(TypedDict):
    """The list of one of several users."""

    user: Id
    items: list[Recommended]


class OneList(TypedDict):
    """A list, and the items of the request that were ignored because the model does not know them.

    The user is null for a history without a user.
    """

    user: Id | None
    items: list[Recommended]
    unknown_items: list[Id]
    history: NotRequired[list[ReadCount]]


class ManyLists(TypedDict):
    """The lists of several users, and the items that were ignored."""

    lists: list[List]
    unknown_items: list[Id]


class Prediction(Item):
    """A prediction for an item. Low and high are a 90% interval of the sessions."""

    sessions: float
    count: float | None
    probability: float
    low: float
    high: float


class Predictions(TypedDict):
    """The predictions for a user or a history."""

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
    """An item that excites another, and how strongly."""

    strength: float


class ItemInFull(FoundItem):
    """An item, who has it, what is similar, its components, and what excites it."""

    expected_sessions: float
    listeners: list[Listener]
    similar: list[SimilarItem]
    components: list[Component]
    excited: float
    excited_by: list[ExcitedBy]


class Law(TypedDict):
    """The probability of x in a session, and of at most x."""

    x: list[int]
    probability: list[float]
    at_most: list[float]


class Curve(TypedDict):
    """Expected sessions behind counts at a given rate."""

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
    """A user or an item, its expected sessions, and their share of all sessions, or of those of a component."""

    id: Id
    name: str
    sessions: float
    share: float


class LargeComponent(TypedDict):
    """A component, its expected sessions, their share of all sessions, and its top items."""

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
    """A statistic of the data, and its mean, minimum and maximum over the draws."""

    data: float
    mean: float
    least: float
    most: float


class Range(TypedDict):
    """How many entries have a count from low to high, in the data and in the draws."""

    low: int
    high: int
    data: int
    mean: float
    least: int
    most: int


class Check(TypedDict):
    """The predictive check. The state is "computing", "ready", or "unavailable" for a reason."""

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
