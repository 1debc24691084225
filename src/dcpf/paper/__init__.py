"""The experiments of the paper: its data sets, protocol, tables and figures. May import evaluation and below."""
