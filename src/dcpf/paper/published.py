"""The scores and learned parameters that the paper prints, table by table, to compare with ours.

`data_sets.py` has its numbers of the data themselves (Table 2, and the dispersion in the appendix).
Gouvert, Oberlin and Févotte, "Recommendation from Raw Data with Adaptive Compound Poisson Factorization", UAI 2019.
"""

from typing import NamedTuple

COMPONENTS = {"taste-profile": 100, "nips": 50, "lastfm": 50}


class Scores(NamedTuple):
    """A row of Table 3: p, and by threshold the mean of NDCG and its spread."""

    p: float | None
    ndcg: dict[int, tuple[float, float]]


def _scores(p: float | None, *means_and_spreads: float) -> Scores:
    """Means and spreads in turn, the spreads in thousandths as in the paper."""
    means, spreads = means_and_spreads[::2], means_and_spreads[1::2]
    by_threshold = zip((0, 1, 2, 5), means, spreads, strict=True)
    return Scores(p, {s: (mean, round(spread * 1e-3, 6)) for s, mean, spread in by_threshold})


TABLE_3 = {  # Taste Profile, by model and way of estimation
    ("Log", "VBEM"): _scores(0.803, 0.200, 3.0, 0.182, 2.3, 0.166, 2.0, 0.147, 1.5),
    ("Log", "Grid"): _scores(0.3, 0.200, 4.1, 0.186, 3.9, 0.173, 3.7, 0.158, 3.7),
    ("ZTP", "VBEM"): _scores(1.950, 0.192, 4.1, 0.178, 3.7, 0.167, 3.6, 0.156, 3.8),
    ("ZTP", "Grid"): _scores(1.0, 0.190, 3.5, 0.178, 3.0, 0.168, 3.1, 0.158, 3.3),
    ("Geo", "VBEM"): _scores(0.600, 0.199, 2.3, 0.182, 1.8, 0.167, 1.8, 0.150, 1.2),
    ("Geo", "Grid"): _scores(0.3, 0.199, 4.9, 0.185, 4.6, 0.172, 4.2, 0.159, 4.0),
    ("Sh. NB", "VBEM"): _scores(0.873, 0.201, 3.1, 0.183, 2.5, 0.166, 2.2, 0.147, 1.5),
    ("PFraw", ""): _scores(None, 0.156, 3.0, 0.155, 3.3, 0.150, 3.5, 0.144, 5.3),
    ("PFbin", ""): _scores(None, 0.197, 2.1, 0.177, 1.5, 0.160, 1.5, 0.140, 1.3),
}
TABLE_3_KAPPA = "(1, 0.2)"  # of the shifted negative binomial; 1 of the others

TABLE_4 = {  # NDCG0 and NDCG1
    "nips": {
        "Log": (0.394, 0.430),
        "ZTP": (0.381, 0.422),
        "Geo": (0.390, 0.429),
        "Sh. NB": (0.396, 0.431),
        "PFraw": (0.358, 0.405),
        "PFbin": (0.378, 0.392),
    },
    "lastfm": {
        "Log": (0.142, 0.129),
        "ZTP": (0.122, 0.113),
        "Geo": (0.139, 0.128),
        "Sh. NB": (0.143, 0.130),
        "PFraw": (0.091, 0.088),
        "PFbin": (0.122, 0.108),
    },
}


def _learned(log: float, ztp: float, geo: float, nb: float, shape: float) -> dict[tuple[str, str], float]:
    return {
        ("Log", "p"): log,
        ("ZTP", "p"): ztp,
        ("Geo", "p"): geo,
        ("Sh. NB", "p"): nb,
        ("Sh. NB", "a"): shape,
    }


APPENDIX = {  # learned, by model and parameter
    "taste-profile": _learned(0.80, 1.95, 0.60, 0.87, 0.21),
    "nips": _learned(0.74, 1.40, 0.51, 0.86, 0.17),
    "lastfm": _learned(0.90, 2.35, 0.69, 0.90, 0.27),
}
