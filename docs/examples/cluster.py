import polars as pl

import dcpf

if __name__ == "__main__":  # the workers are new processes, which read this file too
    plays = dcpf.read_counts("plays.csv").to_frame()
    plays[::2].write_parquet("plays-1.parquet")
    plays[1::2].write_parquet("plays-2.parquet")
    model = dcpf.DCPF(n_components=12, n_neighbors=0, random_state=0)
    with dcpf.distributed.local_cluster(workers=2, threads=1) as client:  # or dask.distributed.Client("tls://...")
        dcpf.distributed.fit(model, ".", client, prepared="plays.dcpf")
        dcpf.distributed.recommend(model, "plays.dcpf", client, "lists", n=10)
    print(pl.read_parquet("lists/*.parquet").head())
