"""From factors to ranked lists and what they mean. May import elements, kernels and counts."""
