"""dcpf in the shapes that other programs expect. Imports model, ranking, kernels and counts.

A file carries the name of the package that it is for, and is imported by those who have that package:
`dcpf.adapters.lenskit`, `rectools`, `implicit`, `voyager`. `session_counts` needs nothing but scikit-learn.
"""
