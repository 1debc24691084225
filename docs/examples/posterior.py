"""What a fit leaves behind for someone who wants more than lists: bounds, posteriors, draws, the same bits."""

import numpy as np

import dcpf
from dcpf import DCPF
from dcpf.evaluation.predictive import predictive_check
from dcpf.simulation import draw_counts

counts = dcpf.read_counts("plays.csv")

heard: list[dcpf.Iteration] = []
model = DCPF.paper(n_components=8, dtype="float64", random_state=0, tol=1e-4, callback=heard.append).fit(counts)

assert (np.diff(model.bounds_) > 0.0).all()  # every iteration raises the bound
assert model.n_iter_ == len(model.bounds_) == len(heard)

W, H = model.user_posterior_, model.item_posterior_  # independent gammas: q(W), q(H)
assert np.allclose(W.mean, W.shape / (W.row_rate[:, None] + W.column_rate))
standard_deviation = np.sqrt(W.shape) / (W.row_rate[:, None] + W.column_rate)

rng = np.random.default_rng(1)
drawn, sessions = draw_counts(model.user_factors, model.item_factors, model.element_, rng)
print(f"{counts.nnz:,} counts in the data, {drawn.nnz:,} in one draw from the model")
print(predictive_check(model, seed=0))

n = model.sessions()  # E[n] behind each count
assert n.data.min() >= 1.0 and (n.data <= counts.matrix.data).all()

again = DCPF.paper(n_components=8, dtype="float64", random_state=0, tol=1e-4, n_jobs=1).fit(counts)
assert np.array_equal(again.user_factors, model.user_factors)  # the same bits, with one thread or with many
