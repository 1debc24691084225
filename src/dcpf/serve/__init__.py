"""A model over HTTP, and the files of its page. May import evaluation, model and below. Needs the extra `serve`."""
