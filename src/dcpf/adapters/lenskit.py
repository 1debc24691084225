"""dcPF as a scorer for pipelines of LensKit."""

import numpy as np
from lenskit.data import Dataset, ItemList, QueryInput, RecQuery
from lenskit.pipeline import Component
from lenskit.training import Trainable, TrainingOptions
from numpy.typing import NDArray

from dcpf.adapters.settings import Settings
from dcpf.counts import Counts
from dcpf.model import DCPF


class DCPFScorerConfig(Settings):
    """Parameters of `DCPF`. The seed comes with LensKit's training options."""


class DCPFScorer(Component[ItemList], Trainable):
    """Scores items by the sessions that are expected of the user.

    Counts are LensKit's: how often an interaction was recorded, or its attribute `count`. Ratings are not counts, and
    are passed over. Whoever comes with a history of their own is known by that: it may be of a new user, or say
    something new of a known one. Items that were not in the training data have no score (NaN), and neither has any
    item for someone of whom nothing is known.
    """

    config: DCPFScorerConfig
    model: DCPF

    def train(self, data: Dataset, options: TrainingOptions | None = None) -> None:
        """Learn from all interactions of users and items."""
        options = options or TrainingOptions()
        if hasattr(self, "model") and not options.retrain:
            return
        matrix = data.interactions().matrix(row_entity="user", col_entity="item")
        users, items = data.users.ids().tolist(), data.items.ids().tolist()
        counts = Counts.from_matrix(matrix.scipy("count", layout="csr"), users, items)
        self.model = self.config.unfitted(options.random_generator()).fit(counts)

    def __call__(self, query: QueryInput, items: ItemList) -> ItemList:
        """The same items with scores."""
        query, asked = RecQuery.create(query), items.ids()
        scores = np.full(len(asked), np.nan)
        places = self.model.items_.find_all(asked.tolist())
        known = places >= 0
        if known.any() and (found := self._all_scores(query)) is not None:
            scores[known] = found[places[known]]
        return ItemList(items, scores=scores)

    def _all_scores(self, query: RecQuery) -> NDArray[np.float64] | None:
        """The scores of all items of the model, or None if nothing is known of who asks."""
        row = None if query.user_id is None else self.model.users_.find(query.user_id)
        history = query.query_items
        counts = {} if history is None else self._counts(history)
        if counts and (row is None or counts != self._trained(row)):
            lists = self.model.recommend(n=len(self.model.items_), history=counts, exclude_seen=False)
        elif row is not None:
            user = self.model.users_[row]
            lists = self.model.recommend(user, n=len(self.model.items_), exclude_seen=False)
        else:
            return None
        scores = np.empty(len(self.model.items_))
        scores[lists.ranked.columns] = lists.ranked.scores
        return scores

    def _counts(self, history: ItemList) -> dict[int | str, int]:
        """Counts by item, of those that the model knows."""
        ids = history.ids().tolist()
        times = history.field("count")
        counts = [1] * len(ids) if times is None else times.tolist()
        known = self.model.items_.find_all(ids) >= 0
        return {one: count for one, count, kept in zip(ids, counts, known, strict=True) if kept}

    def _trained(self, row: int) -> dict[int | str, int]:
        """What a user had in the training data."""
        assert self.model.history_ is not None  # it was fitted here
        mine = self.model.history_[[row]]
        return dict(zip(self.model.items_.at(mine.indices), mine.data.tolist(), strict=True))
