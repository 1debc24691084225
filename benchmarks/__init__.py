"""Programs that measure: peers and dcpf in one run, a ratio as the answer. Nothing here is timed by the tests."""
