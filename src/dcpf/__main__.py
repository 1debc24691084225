"""`python -m dcpf` is `dcpf`."""

from dcpf.cli.main import app

app(prog_name="dcpf")
