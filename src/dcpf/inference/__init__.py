"""The paper's algorithm, each update a small function named after its equation. May import rooms below it."""
