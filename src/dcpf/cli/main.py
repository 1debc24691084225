"""The dcpf command. Heavy imports wait inside the commands, so that --help answers at once."""

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
from dcpf.cli.errors import as_typed
from dcpf.cli.evaluate import evaluate
from dcpf.cli.explain import explain
from dcpf.cli.fit import fit
from dcpf.cli.inspect import inspect
from dcpf.cli.leaderboard import leaderboard
from dcpf.cli.output import remark
from dcpf.cli.recommend import recommend
from dcpf.cli.reproduce import reproduce
from dcpf.cli.serve import serve
from dcpf.cli.similar import similar
from dcpf.cli.tune import tune

_INPUTS = (ValueError, TypeError, FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError)
_NOT_BUGS = (OSError, MemoryError, FloatingPointError)


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
            remark(f"{error.format_message()} (dcpf --help, or --help after a command, tells more)")
            sys.exit(2)
        if standalone_mode:
            sys.exit(code)
        return code

    def invoke(self, ctx: Any) -> Any:
        """Run the command; --debug shows where an error came from."""
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            try:
                return super().invoke(ctx)
            except KeyboardInterrupt as error:
                remark("; ".join(["interrupted", *map(str, error.args)]))
                raise typer.Exit(130) from None
            except Exception as error:
                of_typer = isinstance(error, typer.Exit | typer.Abort) or hasattr(error, "format_message")
                if of_typer or isinstance(error, BrokenPipeError) or ctx.params.get("debug"):
                    raise
                said, code = _told(error)
                remark(said)
                raise typer.Exit(code) from None
            finally:
                if ctx.invoked_subcommand != "doctor":  # which tells it in its own words
                    _warn_of_compiling()


def _warn_of_compiling() -> None:
    """Say it if this command had to compile, and the next will have to as well."""
    jit = sys.modules.get("dcpf.kernels.jit")
    if jit is not None and (said := jit.nowhere_to_keep()):
        remark(f"warning: {said}")


def _told(error: Exception) -> tuple[str, int]:
    """What is said of an error, and the exit code."""
    said = str(error)
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        said = f"{error.filename}: {error.strerror}"
    if isinstance(error, _INPUTS) or _is_unknown_id(error):
        return as_typed(said), 2
    if isinstance(error, _NOT_BUGS):
        return said or type(error).__name__, 1
    return f"internal error: {type(error).__name__}: {said}; `dcpf --debug ...` shows where", 1


def _is_unknown_id(error: Exception) -> bool:
    if not isinstance(error, KeyError):
        return False
    from dcpf.counts import UnknownId

    return isinstance(error, UnknownId)


def _show_warning(message: Warning | str, *where: object, **more: object) -> None:
    remark(f"warning: {as_typed(str(message))}")


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
        bool, typer.Option("--debug", help="Show the traceback of an error. Goes before the command.")
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
