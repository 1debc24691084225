"""Elements answer questions about a fitted model without the compiler, which takes long to import."""

import subprocess
import sys

SLOW = ("numba", "llvmlite", "scipy.stats", "scipy.optimize", "joblib")


def test_elements_import_no_compiler():
    code = """
import sys
from dcpf import elements
for name in elements.names():
    element = elements.get(name)
    element.natural, element.mean, element.variance, element.log_h([3.0, 4.0], [1.0, 2.0])
print(sorted(sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert not [name for name in SLOW if f"'{name}'" in done.stdout]
