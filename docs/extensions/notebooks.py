"""Notebooks as pages, with the outputs that they were saved with. Nothing is run."""

import json
from typing import Any

from docutils import nodes
from myst_parser.parsers.sphinx_ import MystParser
from sphinx.application import Sphinx

_PICTURES = ("image/png", "image/jpeg")


class NotebookParser(MystParser):
    """A notebook is read as the Markdown that it amounts to."""

    supported = ("notebook",)

    def parse(self, inputstring: str, document: nodes.document) -> None:
        """Parse the JSON of a notebook."""
        super().parse(as_markdown(json.loads(inputstring)), document)


def as_markdown(notebook: dict[str, Any]) -> str:
    """Text as it is, code and what it printed in fences, pictures with their data in the address."""
    parts = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
        elif cell["cell_type"] == "code":
            parts.append(_fenced(source, "python"))
            parts += [_output(one) for one in _joined(cell["outputs"])]
    return "\n\n".join(parts)


def _joined(outputs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What was printed in several goes is one output."""
    joined: list[dict[str, Any]] = []
    for one in outputs:
        if joined and one["output_type"] == joined[-1]["output_type"] == "stream":
            joined[-1] = joined[-1] | {"text": [*joined[-1]["text"], *one["text"]]}
        else:
            joined.append(one)
    return joined


def _output(output: dict[str, Any]) -> str:
    if output["output_type"] == "stream":
        return _fenced("".join(output["text"]), "text")
    data = output["data"]
    for kind in _PICTURES:
        if kind in data:
            return f"![what the code above draws](data:{kind};base64,{''.join(data[kind]).strip()})"
    return _fenced("".join(data["text/plain"]), "text")


def _fenced(text: str, language: str) -> str:
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def setup(app: Sphinx) -> dict[str, Any]:
    """Read .ipynb files."""
    app.add_source_suffix(".ipynb", "notebook")
    app.add_source_parser(NotebookParser)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
