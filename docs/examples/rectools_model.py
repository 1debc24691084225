"""dcpf as a model of RecTools."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from rectools import Columns
from rectools.dataset import Dataset
from rectools.models.base import ModelBase

import dcpf


class DCPFModel(ModelBase):
    """Weights of interactions are counts. Users are those of the fit, known by the interactions that it was given."""

    def __init__(self, **parameters: Any) -> None:
        super().__init__()
        self.model = dcpf.DCPF(**parameters)

    def _fit(self, dataset: Dataset) -> None:
        self.model.fit(dataset.get_user_item_matrix(include_weights=True, dtype=np.float64))

    def _recommend_u2i(
        self,
        user_ids: NDArray[Any],
        dataset: Dataset,
        k: int,
        filter_viewed: bool,
        sorted_item_ids_to_recommend: NDArray[Any] | None,
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        allowed = sorted_item_ids_to_recommend
        items, scores = self.model.recommend(user_ids.tolist(), k, exclude_seen=filter_viewed, allow=allowed)
        return np.repeat(user_ids, [len(one) for one in items]), np.concatenate(items), np.concatenate(scores)


plays = pd.read_csv("plays.csv").rename(columns={"count": Columns.Weight, "user": Columns.User, "item": Columns.Item})
dataset = Dataset.construct(plays.assign(**{Columns.Datetime: "2020-01-01"}))
model = DCPFModel(n_components=12, random_state=0).fit(dataset)
print(model.recommend(["Rosa Marshpocket"], dataset, k=5, filter_viewed=True))
