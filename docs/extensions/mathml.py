"""Mathematics as MathML, which browsers draw themselves. docutils makes it: there is nothing to load."""

import re
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

_log = logging.getLogger(__name__)


def _inline(writer: HTML5Translator, node: nodes.math) -> None:
    writer.body.append(_mathml(node))
    raise nodes.SkipNode


def _display(writer: HTML5Translator, node: nodes.math_block) -> None:
    writer.body.append(f'<div class="math">{_mathml(node, as_block=True)}</div>\n')
    raise nodes.SkipNode


def _mathml(node: nodes.Element, *, as_block: bool = False) -> str:
    # docutils would put the index of an accented letter below it, as a limit, unless there is an exponent as well
    tex = re.sub(r"(\\(?:tilde|bar|hat)\s*\{?\\?\w+\}?)_", r"\1^{}_", node.astext())
    try:
        return str(tex2mathml(tex, as_block=as_block))
    except MathError as error:
        _log.warning("%s, in %s", error, node.astext(), location=node)
        return ""


def setup(app: Sphinx) -> dict[str, Any]:
    """Be the renderer called "mathml"."""
    app.add_html_math_renderer("mathml", (_inline, None), (_display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
