"""The same steps with implicit and with dcpf."""

import numpy as np
from implicit.als import AlternatingLeastSquares
from implicit.evaluation import ranking_metrics_at_k
from scipy.sparse import csr_matrix
from threadpoolctl import threadpool_limits

import dcpf

counts = dcpf.read_counts("plays.csv")
train, test = counts.split(test_fraction=0.2, seed=0)

# implicit: a csr_matrix, numbers for ids, and the matrix again with each question
user_items, held_out = (
    csr_matrix((one.matrix.data, (one.entry_users, one.matrix.indices)), shape=one.shape) for one in (train, test)
)
with threadpool_limits(1, "blas"):  # else it warns
    theirs = AlternatingLeastSquares(factors=20, iterations=15, random_state=0, num_threads=1)
    theirs.fit(user_items, show_progress=False)
    theirs.recommend(7, user_items[7], N=10)
    theirs.similar_items(3, N=10)
    theirs.explain(7, user_items, itemid=3)
    theirs.recommend(0, csr_matrix(np.eye(1, user_items.shape[1])), recalculate_user=True)
    ranking_metrics_at_k(theirs, user_items, held_out, K=10, show_progress=False)

# dcpf: a matrix, a table or Counts, ids as they are, and the model knows who has what
ours = dcpf.DCPF(n_components=20, random_state=0).fit(train)
user, item = train.users[7], train.items[3]
ours.recommend(user, n=10)
ours.similar_items(item, n=10)
ours.explain(user, item)
ours.recommend(history={item: 1})
dcpf.evaluate(ours, test, k=10)

# code that passes implicit's arguments: the same matrix, and numbers for ids
numbered = dcpf.DCPF(n_components=20, random_state=0).fit(user_items)


def recommend(userid, user_items, N=10, filter_already_liked_items=True):
    return numbered.recommend(userid, N, exclude_seen=filter_already_liked_items)


recommend(7, user_items[7], N=5)
