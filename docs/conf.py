"""How the site is made: python -m sphinx -W --keep-going -n docs build/site.

Nothing on a page is loaded from elsewhere: mathematics is MathML, the theme brings its own styles and no fonts.
"""

import re
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.nodes import make_refnode

import dcpf

sys.path.insert(0, str(Path(__file__).parent / "extensions"))

project = "dcpf"
author = "The dcpf developers"
project_copyright = author
version = release = dcpf.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "mathml",
    "commands",
    "docstrings",
    "notebooks",
]
exclude_patterns = ["performance.in.md", "examples/README.md"]
smartquotes = False  # --option stays --option
highlight_language = "text"
default_role = "code"  # docstrings write code as Markdown does

myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 4  # links to headings are those of GitHub
myst_dmath_double_inline = True

# The extra `docs` brings none of these, and there is a class or a function for each of them
_EXTRAS = ("dask", "distributed", "fsspec", "implicit")
autodoc_mock_imports = [name for name in _EXTRAS if find_spec(name) is None]
autodoc_typehints_format = "short"
autodoc_member_order = "bysource"
napoleon_use_param = False  # the types of parameters are words, not names
napoleon_use_rtype = False
napoleon_custom_sections = [("Attributes", "params_style")]  # so that the _ at the end of a name stays
python_maximum_signature_line_length = 88
toc_object_entries_show_parents = "hide"
nitpick_ignore_regex = [
    ("py:.*", r"(?!dcpf\.).*"),  # other packages have no pages here
    ("py:class", r"dcpf\..*\.(Strings|Threads|Catalogue|Ranked)"),  # nor have parts that nobody is handed
]

html_theme = "furo"
html_title = f"dcpf {version}"
html_static_path = ["site.css"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_math_renderer = "mathml"

# Pages that lie beside README, for those who read the repository.
_PAGES = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}


def _links_of_included(app: Sphinx, path: Path, parent: str, content: list[str]) -> None:
    """A page from beside README links from there; on the site it lies in docs/."""
    for old, new in _PAGES.items():
        content[0] = content[0].replace(f"]({old}", f"]({new}")
    content[0] = re.sub(r"\]\(docs/", "](", content[0])


def _public_name(app: Sphinx, env: Any, node: nodes.Element, text: nodes.TextElement) -> nodes.reference | None:
    """Type annotations name a class by the file that it is in; the site knows it by where it is imported from."""
    if node.get("refdomain") != "py":
        return None
    name = str(node["reftarget"]).rsplit(".", 1)[-1]
    for known, _, kind, page, anchor, _ in env.domains["py"].get_objects():
        if kind in ("class", "exception") and known.startswith("dcpf.") and known.endswith(f".{name}"):
            return make_refnode(app.builder, node["refdoc"], page, anchor, text)
    return None


def setup(app: Sphinx) -> None:
    """Connect what is above."""
    app.connect("include-read", _links_of_included)
    app.connect("missing-reference", _public_name)
