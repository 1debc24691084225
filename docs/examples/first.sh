dcpf fit plays.csv -o plays.safetensors
dcpf recommend plays.safetensors --user "Rosa Marshpocket" -n 5
dcpf explain plays.safetensors --user "Rosa Marshpocket" --item "Thirteenth Furnace" -n 4
dcpf inspect plays.safetensors
dcpf evaluate plays.csv
