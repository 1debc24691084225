"""The dcpf command. Heavy imports wait inside the commands, so that --help answers at once."""

import warnings
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import dcpf
from dcpf.cli.demo import demo


class PlainErrors(TyperGroup):
    """Commands whose errors and warnings are one line on standard error instead of a traceback."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command. What the user can put right ends with code 2; --debug shows where it came from."""
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            try:
                return super().invoke(ctx)
            except (ValueError, TypeError, MemoryError, OSError) as error:
                if ctx.params.get("debug"):
                    raise
                typer.echo(f"dcpf: {' '.join(str(error).split())}", err=True)
                raise typer.Exit(2) from None


def _show_warning(message: Warning | str, *where: object, **more: object) -> None:
    typer.echo(f"dcpf: warning: {' '.join(str(message).split())}", err=True)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"dcpf {dcpf.__version__}")
        raise typer.Exit


app = typer.Typer(
    name="dcpf",
    cls=PlainErrors,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of an error. Goes before the command.")
    ] = False,
) -> None:
    """Recommendations from raw counts (plays, purchases, clicks) by discrete compound Poisson factorization."""


app.command()(demo)
