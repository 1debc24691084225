"""The dcpf command. Commands import what is heavy when they run, so that --help answers at once."""

import logging
import sys
import warnings
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import dcpf
from dcpf.cli.check import check
from dcpf.cli.data import data
from dcpf.cli.demo import demo
from dcpf.cli.doctor import doctor
from dcpf.cli.errors import as_typed, message_and_code
from dcpf.cli.evaluate import evaluate
from dcpf.cli.explain import explain
from dcpf.cli.fit import fit
from dcpf.cli.inspect import inspect
from dcpf.cli.leaderboard import leaderboard
from dcpf.cli.output import print_note
from dcpf.cli.recommend import recommend
from dcpf.cli.reproduce import reproduce
from dcpf.cli.serve import serve
from dcpf.cli.similar import similar
from dcpf.cli.tune import tune


class PlainErrors(TyperGroup):
    """Commands whose errors and warnings are one line on standard error instead of a traceback.

    What the user can put right ends with code 2, everything else with code 1, an interrupt with 130.
    """

    def main(self, *args: Any, **more: Any) -> Any:
        """Parse and run. A mistake in the options is one line too."""
        standalone_mode = more.get("standalone_mode", True)
        try:
            code = super().main(*args, **more | {"standalone_mode": False})
        except Exception as error:  # of typer's own kind, which has moved from one module to another
            if not standalone_mode or not hasattr(error, "format_message"):
                raise
            print_note(f"{error.format_message()} (see dcpf --help, or --help after a command)")
            sys.exit(2)
        if standalone_mode:
            sys.exit(code)
        return code

    def invoke(self, ctx: Any) -> Any:
        """Run the command; --debug shows where an error came from."""
        log = logging.getLogger("dcpf.kernels")
        log.handlers, log.propagate = [_PrintedLog()], False
        log.setLevel(logging.INFO)
        with warnings.catch_warnings():
            warnings.showwarning = _print_warning
            try:
                return super().invoke(ctx)
            except KeyboardInterrupt as error:
                print_note("; ".join(["interrupted", *map(str, error.args)]))
                raise typer.Exit(130) from None
            except Exception as error:
                of_typer = isinstance(error, typer.Exit | typer.Abort) or hasattr(error, "format_message")
                if of_typer or isinstance(error, BrokenPipeError) or ctx.params.get("debug"):
                    raise
                message, code = message_and_code(error)
                print_note(message)
                raise typer.Exit(code) from None


class _PrintedLog(logging.Handler):
    """What compiled code says of itself: that it is being compiled, or that it cannot be kept."""

    def emit(self, record: logging.LogRecord) -> None:
        print_note(("warning: " if record.levelno >= logging.WARNING else "") + record.getMessage())


def _print_warning(message: Warning | str, *where: object, **more: object) -> None:
    print_note(f"warning: {as_typed(str(message))}")


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"dcpf {dcpf.__version__}")
        raise typer.Exit


app = typer.Typer(
    name="dcpf",
    cls=PlainErrors,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def main(
    ctx: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of an error. Put it before the command.")
    ] = False,
) -> None:
    """Recommendations from raw counts (plays, purchases, clicks) by discrete compound Poisson factorization."""
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())


_COMMANDS = (
    fit, recommend, similar, explain, evaluate, inspect, check, tune, leaderboard, reproduce, serve, data, doctor,
    demo,
)  # fmt: skip

for command in _COMMANDS:
    app.command()(command)
