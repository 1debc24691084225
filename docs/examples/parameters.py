"""What a model has learned, and how to read it."""

import numpy as np

import dcpf

model = dcpf.DCPF(n_components=12, random_state=0).fit(dcpf.read_counts("plays.csv"))

print(model.element_)  # the law of a session
print(f"{model.element_.mean:.2f} plays in a session, P(one) = {model.element_.pmf(1):.2f}")
print(model.element_.marginal_pmf(rate=0.5, largest=3))  # P(0), ..., P(3) where half a session is expected

about = model.describe(n_components=3, n_items=3)
print(about.meaning, f"{about.excited:.0%} of all sessions come from excitation.")
for component in about.largest_components:
    print(f"{component.share:.0%} of the factors' sessions:", ", ".join(item.name for item in component.items))

# What the strengths say: having `source` makes `item` more likely.
excitation = model.excitation_
assert excitation is not None
strength = excitation.strength.tocoo()
strongest = np.argmax(strength.data)
source, item = (model.items_[int(place[strongest])] for place in strength.coords)  # a row for each source
print(f"{source} excites {item}: {strength.data[strongest]:.3f}")

# How counts are read: 40 plays are not 40 sessions.
sessions, counts = model.sessions(), model.history_
for y in (1, 2, 5, 10, 20):
    if (counts.data == y).any():
        print(f"a count of {y:2} is read as {sessions.data[counts.data == y].mean():.2f} sessions")
