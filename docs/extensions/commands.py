"""The command line, from the program itself: the directive `{commands}` lists every command with its options."""

import inspect
import re
from typing import Any

import typer
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from dcpf.cli.main import app as dcpf_app


class Commands(SphinxDirective):
    """A section for each command: how it is called, what it does, its arguments and options."""

    def run(self) -> list[nodes.Node]:
        """Write it all as Markdown, and let that be parsed."""
        group: Any = typer.main.get_command(dcpf_app)
        sections = [_section(f"dcpf {name}", command) for name, command in group.commands.items()]
        of_all = _options(group, typer.Context(group, info_name="dcpf"))
        text = "\n\n".join([f"## Options before the command\n\n{of_all}", *sections])
        return self.parse_text_to_nodes(text, allow_section_headings=True)


def _section(name: str, command: Any) -> str:
    context = typer.Context(command, info_name=name)
    usage = " ".join([name, *command.collect_usage_pieces(context)])
    told = _plain(inspect.cleandoc(command.help))
    return f"## {name}\n\n{told}\n\n```text\n{usage}\n```\n\n{_options(command, context)}"


def _options(command: Any, context: typer.Context) -> str:
    """Arguments and options as `--help` lists them, each with its default."""
    records = [one.get_help_record(context) for one in command.get_params(context)]
    return "\n".join(f"- `{names}`: {_plain(' '.join(told.split()))}" for names, told in filter(None, records))


def _plain(text: str) -> str:
    """The same as Markdown that shows every character as it is."""
    return re.sub(r"([\\`*_<>\[\]|$])", r"\\\1", text)


def setup(app: Sphinx) -> dict[str, Any]:
    """Know the directive."""
    app.add_directive("commands", Commands)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
