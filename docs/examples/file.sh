dcpf fit plays.csv -o plays.safetensors --min-per-user 5 --min-per-item 5
dcpf recommend plays.safetensors --all -n 20 -o recommended.parquet
dcpf recommend plays.safetensors --user zoe --history new.csv -n 5
dcpf similar plays.safetensors --item "Emerald Breeze" -n 5
dcpf similar plays.safetensors --user "Rosa Marshpocket" -n 3
dcpf check plays.safetensors
dcpf recommend plays.safetensors --user "Rosa Marshpocket" --json
dcpf doctor plays.safetensors
