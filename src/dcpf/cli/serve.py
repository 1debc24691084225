"""dcpf serve: an HTTP API for a model, and a page that explains it."""

import logging
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from dcpf.cli.options import Model, Threads, check_least
from dcpf.cli.output import printable
from dcpf.text import plural

if TYPE_CHECKING:
    from dcpf.serve.served import ServedModel


def serve(
    model: Model,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 picks a free one.")] = 8000,
    token: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            envvar="DCPF_TOKEN",
            show_envvar=True,
            help="Token that requests send.  [default: random]",
        ),
    ] = None,
    no_token: Annotated[bool, typer.Option("--no-token", help="Let everyone on this machine ask.")] = False,
    allow_host: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Another host name that requests may use; repeatable.")
    ] = None,
    open_page: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    max_requests: Annotated[int, typer.Option(help="Maximum number of concurrent requests; others get 503.")] = 64,
    check_every: Annotated[float, typer.Option(help="Seconds between checks for a newer model file.")] = 1.0,
    threads: Threads = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Do not log requests.")] = False,
) -> None:
    """Serve a model over HTTP: a page that explains it, and an API for programs."""
    check_least(port=(port, 0), max_requests=(max_requests, 1), threads=(threads, 1))
    if port > 65_535:
        raise ValueError(f"--port must be at most 65535, found {port}")
    if not 0.01 <= check_every <= 86_400:
        raise ValueError(f"--check-every must be 0.01 to 86400, found {check_every:g}")
    try:
        from dcpf.serve.running import ServerOptions
        from dcpf.serve.running import serve as run
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("fastapi", "uvicorn", "starlette", "pydantic"):
            raise
        raise ValueError(f"dcpf serve needs {error.name}: install it with pip install 'dcpf[serve]'") from None
    from dcpf.kernels.threads import thread_count

    _log_to_standard_error(quiet)

    def ready(served: "ServedModel", address: str) -> None:
        about = f"{plural(len(served.model.users), 'user')} x {plural(len(served.model.items), 'item')}"
        typer.echo(f"Serving {printable(model)} ({about}, revision {served.revision})\n  {address}\nCtrl-C stops it.")
        sys.stdout.flush()
        if open_page:
            import webbrowser

            webbrowser.open(address)

    run(
        ServerOptions(
            model,
            host,
            port,
            token,
            no_token,
            tuple(allow_host or ()),
            max_requests,
            thread_count(threads),
            check_every,
        ),
        ready,
    )


def _log_to_standard_error(quiet: bool) -> None:
    """Log requests by route, swaps and errors."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    for name, level in (("dcpf.serve", logging.WARNING if quiet else logging.INFO), ("uvicorn", logging.WARNING)):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)
