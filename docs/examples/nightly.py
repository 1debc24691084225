"""Tonight's fit: judged before it counts, begun where last night's ended, and safe from a crash."""

from pathlib import Path

import dcpf
from dcpf import DCPF

MODEL = Path("plays.safetensors")
LEAST = 0.2  # what a sane night reaches; yours is another number


def refit(file: str) -> None:
    counts = dcpf.read_counts(file)
    print("; ".join(counts.notes))  # what was read, summed, left out

    # Do today's data give a model that can find what was held out?
    train, test = counts.split(test_fraction=0.1, seed=0)
    found = dcpf.evaluate(DCPF(n_components=20, random_state=0).fit(train), test, k=20).mean("ndcg")
    if found < LEAST:
        raise SystemExit(f"NDCG@20 of held-out counts is {found:.3f}: the old model stays")

    # Then fit to all of them. The same call after a crash goes on from the checkpoint, to the same bits.
    model = DCPF.from_fitted(dcpf.load(MODEL)) if MODEL.exists() else DCPF(n_components=20, random_state=0)
    model.set_params(warm_start=True, checkpoint="checkpoint").fit(counts)
    model.save(MODEL)  # written beside it, flushed, renamed; then the checkpoint is removed
    print(f"{MODEL}: {model.n_iter_} iterations, NDCG@20 {found:.3f}")


refit("plays.csv")
