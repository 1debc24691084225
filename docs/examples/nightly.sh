dcpf fit plays.csv -o plays.safetensors --warm-start plays.safetensors --checkpoint checkpoint --resume
dcpf doctor plays.safetensors
dcpf recommend plays.safetensors --all -n 50 -o recommended.parquet
