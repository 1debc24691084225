"""Lists for everybody, some users at a time, as a folder of Parquet files."""

from pathlib import Path

import dcpf

model = dcpf.load("plays.safetensors")
folder = Path("lists")
folder.mkdir(exist_ok=True)

users = list(model.users)
size = 100  # in real life 100,000
for start in range(0, len(users), size):
    lists = model.recommend(users[start : start + size], n=20)
    lists.to_frame().write_parquet(folder / f"{start:09}.parquet")
