"""One file per command: parse, call, print. May import everything."""
