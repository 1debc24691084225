"""A new element is one new file: it is known by name, held to every law, and learned by the model."""

import importlib.util
import sys
import textwrap

import mpmath as mp
import numpy as np
import pytest
from tests.elements import laws

import dcpf
from dcpf import elements
from dcpf.elements import element as element_module
from dcpf.inference.posterior_tables import PosteriorTables
from dcpf.kernels.threads import Threads

SHIFTED_POISSON = '''
"""The shifted Poisson element: one play, and a Poisson number of repeats."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, xlogy

from dcpf.elements.element import Element


@dataclass(frozen=True)
class ShiftedPoisson(Element):
    """x - 1 ~ Poisson(p). f(z) = z e^z, so that h(y, n) = [z^(y-n)] e^(n z) = n^(y-n) / (y-n)!."""

    name = "shifted-poisson"
    aliases = ("one-and-poisson",)
    p_max = math.inf

    p: float

    @classmethod
    def default(cls):
        return cls(p=1.0)

    @property
    def c(self):
        return math.log(self.p) + self.p if self.p > 0.0 else -math.inf

    def log_h(self, y, n):
        y, n = np.broadcast_arrays(np.asarray(y, dtype=np.float64), np.asarray(n, dtype=np.float64))
        inside = (n >= 1.0) & (n <= y)
        d, m = np.where(inside, y - n, 0.0), np.where(inside, n, 1.0)
        return np.where(inside, xlogy(d, m) - gammaln(d + 1.0), -np.inf)

    @property
    def mean(self):
        return 1.0 + self.p

    @property
    def variance(self):
        return self.p

    def sample(self, sessions, rng):
        n = np.asarray(sessions, dtype=np.int64)
        return n + rng.poisson(n * self.p)
'''

# The shifted negative binomial once more, with another name for its shape
SHAPED = """
from dataclasses import dataclass, replace

from dcpf.elements import ShiftedNegativeBinomial
from dcpf.elements import shifted_negative_binomial as snb
from dcpf.elements.element import Element


@dataclass(frozen=True)
class Shaped(Element):
    name = "shaped"
    has_shape = True

    p: float
    tail: float = 1.0

    def twin(self):
        return ShiftedNegativeBinomial(self.p, self.tail)

    @classmethod
    def default(cls):
        return cls(p=0.5)

    c = property(lambda self: self.twin().c)
    mean = property(lambda self: self.twin().mean)
    variance = property(lambda self: self.twin().variance)

    def log_h(self, y, n):
        return self.twin().log_h(y, n)

    def sample(self, sessions, rng):
        return self.twin().sample(sessions, rng)

    def refit(self, totals):
        twin = self.twin().refit(totals)
        return replace(self, p=twin.p, tail=twin.a)

    def cumulants(self, counts, log_rates, threads=None):
        return self.twin().cumulants(counts, log_rates, threads)
"""


@pytest.fixture
def new_file(tmp_path, monkeypatch):
    """Write a module, import it, and forget all about it after the test."""
    monkeypatch.setattr(element_module, "_REGISTRY", dict(element_module._REGISTRY))

    def write_and_import(name, text):
        path = tmp_path / f"{name}.py"
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        spec = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, name, module)
        spec.loader.exec_module(module)
        return module

    return write_and_import


@pytest.fixture
def shifted_poisson(new_file):
    return new_file("shifted_poisson", SHIFTED_POISSON).ShiftedPoisson


def repeats(seed=0):
    """Sixty users and forty items, with counts from one to some dozens."""
    rng = np.random.default_rng(seed)
    sessions = rng.poisson(rng.gamma(0.5, 1.0, (60, 3)) @ rng.gamma(0.5, 1.0, (3, 40)))
    return sessions + rng.poisson(2.0 * sessions)


def test_the_package_does_not_know_it_beforehand():
    assert "shifted-poisson" not in elements.names()
    with pytest.raises(ValueError, match="unknown element 'shifted-poisson'"):
        elements.get("shifted-poisson")


def test_it_is_known_by_name_once_imported(shifted_poisson):
    assert "shifted-poisson" in elements.names()
    assert elements.get("shifted-poisson") == shifted_poisson(p=1.0)
    assert elements.get("One_and_Poisson") == shifted_poisson(p=1.0)


@pytest.mark.parametrize("law", laws.LAWS, ids=lambda law: law.__name__)
def test_it_obeys(law, shifted_poisson):
    for element in laws.variations(shifted_poisson.name):
        law(element)


@pytest.mark.parametrize("y", [257, 400, 3000])
def test_what_is_derived_for_large_counts_equals_enumeration(shifted_poisson, y):
    """Element.cumulants sums a window of terms around the largest."""
    element = shifted_poisson(p=1.0)
    rates = np.array([-300.5, -20.1, -3.0, 0.2, 4.1, np.log(y), 15.0, 300.5])
    found = element.cumulants(np.array([y]), rates)[0]
    log_z = found[:, 0] + rates + float(element.log_h(y, 1))
    with mp.workdps(30):
        terms = [(y - n) * mp.log(n) - mp.loggamma(y - n + 1) - mp.loggamma(n + 1) for n in range(1, y + 1)]
        for k, t in enumerate(rates):
            wanted = laws.enumerated(terms, t)
            laws.assert_close((log_z[k], 1.0 + found[k, 1], found[k, 2]), wanted[:3], 1e-8, t)
            laws.assert_close(laws.from_table(element, y, float(t)), wanted[:2], 1e-8, t)


@pytest.mark.parametrize("spelling", ["shifted-poisson", "one_and_poisson"])
def test_the_model_learns_it_by_name(shifted_poisson, spelling):
    model = dcpf.DCPF(n_components=3, element=spelling, max_iter=60, tol=0, dtype="float64", n_jobs=1, random_state=0)
    model.fit(repeats())
    assert isinstance(model.element_, shifted_poisson)
    assert model.n_iter_ == len(model.bounds_) == 60
    assert np.all(np.diff(model.bounds_) >= -1e-9 * np.abs(model.bounds_[1:]))


def test_the_model_finds_the_parameter_behind_the_counts(shifted_poisson):
    model = dcpf.DCPF(n_components=3, element="shifted-poisson", max_iter=300, tol=0, n_jobs=1, random_state=0)
    assert model.fit(repeats()).element_.p == pytest.approx(2.0, rel=0.15)


def test_its_bound_beats_a_wrong_element_on_its_own_counts(shifted_poisson):
    bounds = {
        name: dcpf.DCPF(3, name, max_iter=100, tol=0, n_jobs=1, random_state=0).fit(repeats()).bounds_[-1]
        for name in ("shifted-poisson", "logarithmic", "raw")
    }
    assert max(bounds, key=bounds.get) == "shifted-poisson"


def test_a_table_is_made_anew_for_a_shape_of_any_name(new_file):
    shaped = new_file("shaped", SHAPED).Shaped
    tables = PosteriorTables(np.array([2, 9]), Threads(1), learn_shape=True)
    one, other = (tables.covering(shaped(0.5, tail), (-1.0, 1.0)).polynomials for tail in (1.0, 0.7))
    assert not np.array_equal(one, other)


def test_the_model_learns_a_shape_of_any_name(new_file):
    new_file("shaped", SHAPED)
    settings = {"max_iter": 10, "tol": 0, "dtype": "float64", "n_jobs": 1, "random_state": 0}
    known = dcpf.DCPF(3, "shifted-nb", **settings).fit(repeats())
    named_otherwise = dcpf.DCPF(3, "shaped", **settings).fit(repeats())
    np.testing.assert_allclose(named_otherwise.bounds_, known.bounds_, rtol=1e-12)


def test_nothing_is_left_behind():
    assert not {"shifted-poisson", "one-and-poisson", "shaped"} & set(element_module._REGISTRY)
