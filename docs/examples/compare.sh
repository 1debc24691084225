dcpf fit train.parquet -o a.safetensors --components 20
dcpf fit train.parquet -o b.safetensors --components 20 --element geometric
dcpf evaluate a.safetensors test.parquet --against b.safetensors -k 20
