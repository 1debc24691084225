"""Someone who came after the fit is a history: what they have, and how often."""

import dcpf

model = dcpf.load("plays.safetensors")
history = {"Emerald Breeze": 12, "Paper Veranda": 1}

print(model.recommend(history=history, n=5).to_frame())
print(model.predict_pairs(None, ["Tangled Breeze"], history=history).to_frame())
print(model.explain(None, "Tangled Breeze", history=history).to_frame())
