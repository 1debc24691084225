"""The figures of a run, drawn from the models of its first starts."""

from pathlib import Path

from dcpf.evaluation.predictive import predictive_check
from dcpf.model import load
from dcpf.paper import figures, protocol
from dcpf.paper.fitting import JobRunner
from dcpf.paper.protocol import MODELS
from dcpf.paper.tables import Results

_ENDINGS = (".png", ".svg")


def draw_all(folder: Path, results: Results, runner: JobRunner) -> tuple[list[Path], list[str]]:
    """Draw each figure and return the files; if there are none, return why, and how to get them."""
    try:
        figures.need_matplotlib()
    except ImportError as error:
        return [], [f"No figures were drawn: {error}; then the same command again draws them."]
    name, seed = results.name, results.protocol.seed
    models, traces = {}, {}
    for model in MODELS:
        path = runner.model_of(protocol.job(results.protocol, model, 0))
        assert path is not None  # all first starts are kept
        models[model.label] = load(path)
        first = results.of(model)[0]
        if first.iterations > 1:
            seconds, bounds = zip(*first.trace, strict=True)
            traces[model.label] = (seconds, bounds)
    checks = {label: predictive_check(model, seed=seed) for label, model in models.items()}
    curves = {label: figures.sessions_by_count(model) for label, model in models.items()}
    drawn = {
        "predictive_check": figures.predictive_check(checks, title=name),
        "distortion": figures.distortion(curves, title=name),
        "elements": figures.element_laws(model.element for model in models.values() if model.element.limit is None),
    }
    if traces:
        drawn["bound_against_time"] = figures.bound_against_time(traces, title=name)
    folder.mkdir(exist_ok=True)
    files = [folder / f"{figure}{ending}" for figure in drawn for ending in _ENDINGS]
    for path in files:
        figures.save(drawn[path.stem], path)
    return files, []
