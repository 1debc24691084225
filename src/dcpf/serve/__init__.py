"""An HTTP service for one model, and its page. May import evaluation, model and below. Needs the extra `serve`."""
