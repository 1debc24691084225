"""dcPF as a model of RecTools."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from rectools.dataset import Dataset
from rectools.models.base import FixedColdRecoModelMixin, ModelBase, ModelConfig
from scipy import sparse

from dcpf.adapters.settings import Settings
from dcpf.model import DCPF
from dcpf.ranking.lists import Lists

Places = NDArray[np.integer]
Triplets = tuple[Places, Places, NDArray[np.float64]]


class DCPFModelConfig(ModelConfig, Settings):
    """Parameters of `DCPF`, and the seed."""

    random_state: int | None = None


class DCPFModel(FixedColdRecoModelMixin, ModelBase[DCPFModelConfig]):
    """Recommends the items with the most expected sessions.

    The weights of interactions are counts, and must be whole numbers; repeated interactions are added up. A user is
    known by the interactions of the data set that `recommend` is given: they may have changed since the fit, and the
    user may be new. Whoever has none is offered what is popular. Items that came after the fit are never recommended,
    and no item is recommended to itself.
    """

    recommends_for_warm = False  # features say nothing to this model: without interactions all are cold
    recommends_for_cold = True
    config_class = DCPFModelConfig

    def __init__(self, verbose: int = 0, random_state: int | None = None, **parameters: Any) -> None:
        super().__init__(verbose=verbose)
        self.config = DCPFModelConfig(cls=type(self), verbose=verbose, random_state=random_state, **parameters)
        self.model: DCPF
        self.items: NDArray[Any]  # the external ids of the columns

    def _get_config(self) -> DCPFModelConfig:
        return self.config

    @classmethod
    def _from_config(cls, config: DCPFModelConfig) -> Self:
        return cls(**config.model_dump(exclude={"cls"}))

    def _fit(self, dataset: Dataset) -> None:
        self.model = self.config.unfitted(self.config.random_state)
        self.model.set_params(verbose=self.verbose > 0).fit(_counts(dataset))
        self.items = dataset.item_id_map.get_external_sorted_by_internal()[: len(self.model.items_)]

    def _recommend_u2i(
        self,
        user_ids: Places,
        dataset: Dataset,
        k: int,
        filter_viewed: bool,
        sorted_item_ids_to_recommend: Places | None,
    ) -> Triplets:
        counts, allowed = self._as_fitted(_counts(dataset))[user_ids], self._allowed(sorted_item_ids_to_recommend)
        self._check_items(dataset)
        known = self._unchanged(user_ids, counts)
        parts = []
        if known.any():
            lists = self.model.recommend(user_ids[known].tolist(), k, exclude_seen=filter_viewed, allow=allowed)
            parts.append(_triplets(user_ids[known], lists))
        if not known.all():
            lists = self.model.recommend(n=k, history=counts[~known], exclude_seen=filter_viewed, allow=allowed)
            parts.append(_triplets(user_ids[~known], lists))
        return _joined(parts)

    def _recommend_i2i(
        self, target_ids: Places, dataset: Dataset, k: int, sorted_item_ids_to_recommend: Places | None
    ) -> Triplets:
        self._check_items(dataset)
        targets = target_ids[target_ids < len(self.items)]
        allowed = self._allowed(sorted_item_ids_to_recommend)
        found = self.model.similar_items(targets.tolist(), k if allowed is None else len(self.items))
        parts = []
        for target, items, scores in zip(targets, *found, strict=True):
            kept = np.flatnonzero(np.isin(items, allowed))[:k] if allowed is not None else slice(None)
            parts.append((np.full(len(items[kept]), target), items[kept], scores[kept]))
        return _joined(parts)

    def _get_cold_reco(
        self, dataset: Dataset, k: int, sorted_item_ids_to_recommend: Places | None
    ) -> tuple[Places, NDArray[np.float64]]:
        self._check_items(dataset)
        items, scores = self.model.recommend(history={}, n=k, allow=self._allowed(sorted_item_ids_to_recommend))
        return items, scores

    def _check_items(self, dataset: Dataset) -> None:
        """The first items of a data set must be those of the fit, in the same order."""
        given = dataset.item_id_map.get_external_sorted_by_internal()[: len(self.items)]
        if not np.array_equal(given, self.items):
            raise ValueError(
                "the data set numbers its items otherwise than that of the fit: fit again, or make it with the "
                "item_id_map of that one"
            )

    def _as_fitted(self, counts: sparse.csr_array) -> sparse.csr_array:
        """Counts with the columns of the fit: without items that came later, with those that nobody has any more."""
        kept = counts[:, : len(self.items)]
        missing = sparse.csr_array((kept.shape[0], len(self.items) - kept.shape[1]), dtype=kept.dtype)
        return sparse.csr_array(sparse.hstack([kept, missing], format="csr"))

    def _unchanged(self, users: Places, counts: sparse.csr_array) -> NDArray[np.bool_]:
        """Which users were in the fit, with the same counts."""
        history = self.model.history_
        assert history is not None  # it was fitted here
        unchanged = users < history.shape[0]
        rows = np.flatnonzero(unchanged)
        unchanged[rows] = np.diff((history[users[rows]] - counts[rows]).tocsr().indptr) == 0
        return unchanged

    def _allowed(self, items: Places | None) -> list[int] | None:
        return None if items is None else items[items < len(self.items)].tolist()


def _counts(dataset: Dataset) -> sparse.csr_array:
    """Sums of weights, in a precision that holds large counts."""
    return sparse.csr_array(dataset.get_user_item_matrix(include_weights=True, dtype=np.float64))


def _triplets(asked: Places, lists: Lists) -> Triplets:
    """Who asked, what they get, and its score, in three arrays of the same length."""
    ranked = lists.ranked
    return np.repeat(asked, np.diff(ranked.indptr)), ranked.columns, ranked.scores


def _joined(parts: list[Triplets]) -> Triplets:
    nothing = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0)
    of, items, scores = (np.concatenate([part[j] for part in (nothing, *parts)]) for j in range(3))
    return of, items, scores
