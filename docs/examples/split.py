"""One split for all models that are to be compared."""

import dcpf

train, test = dcpf.read_counts("plays.csv").split(test_fraction=0.2, seed=0)
train.to_frame().write_parquet("train.parquet")
test.to_frame().write_parquet("test.parquet")
