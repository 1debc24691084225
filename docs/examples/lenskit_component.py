"""dcpf as a scorer in a LensKit pipeline."""

import numpy as np
import pandas as pd
from lenskit import recommend
from lenskit.data import Dataset, ItemList, QueryInput, RecQuery, from_interactions_df
from lenskit.pipeline import Component, topn_pipeline
from lenskit.training import Trainable, TrainingOptions
from pydantic import BaseModel

import dcpf


class Parameters(BaseModel):
    n_components: int = 50
    element: str = "shifted-nb"


class DCPFScorer(Component[ItemList], Trainable):
    """Scores are expected sessions. Unknown items, and all items for unknown users, have none (NaN)."""

    config: Parameters
    model: dcpf.DCPF

    def train(self, data: Dataset, options: TrainingOptions) -> None:
        matrix = data.interactions().matrix(row_entity="user", col_entity="item").scipy("count", layout="csr")
        counts = dcpf.Counts.from_matrix(matrix, data.users.ids().tolist(), data.items.ids().tolist())
        self.model = dcpf.DCPF(**self.config.model_dump(), random_state=options.random_generator()).fit(counts)

    def __call__(self, query: QueryInput, items: ItemList) -> ItemList:
        user, ids = RecQuery.create(query).user_id, items.ids().tolist()
        known = [user in self.model.users_ and item in self.model.items_ for item in ids]
        scores = np.full(len(ids), np.nan)
        if any(known):
            scores[known] = self.model.predict_pairs(user, [ids[j] for j in np.flatnonzero(known)]).sessions
        return ItemList(items, scores=scores)


plays = pd.read_csv("plays.csv")  # the columns user, item and count
pipeline = topn_pipeline(DCPFScorer(n_components=12), n=5)
pipeline.train(from_interactions_df(plays, user_col="user", item_col="item"), TrainingOptions(rng=0))
print(recommend(pipeline, "Rosa Marshpocket").to_df())
