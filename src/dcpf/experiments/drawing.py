"""The figures of a run, from the models of its first starts."""

from pathlib import Path

from dcpf.evaluation.predictive import predictive_check
from dcpf.experiments import figures, protocol
from dcpf.experiments.fitting import JobRunner
from dcpf.experiments.protocol import MODELS
from dcpf.experiments.results import Results
from dcpf.model import DCPF, load

_ENDINGS = (".png", ".svg")


def draw_all(folder: Path, results: Results, bench: JobRunner) -> tuple[list[Path], list[str]]:
    """Draw each figure. Gives the files, and if there are none why, and how to get them."""
    try:
        figures.need_matplotlib()
    except ImportError as error:
        return [], [f"No figures were drawn: {error}; then the same command again draws them."]
    models = _models(results, bench)
    name, seed = results.name, results.protocol.seed
    elements = [model.element_ for model in models.values() if model.element_.limit is None]
    first = {model.label: results.of(model)[0] for model in MODELS}
    traces = {label: tuple(zip(*one.trace, strict=True)) for label, one in first.items() if one.iterations > 1}
    drawn = {
        "predictive_check": figures.predictive_check(
            {label: predictive_check(model, seed=seed) for label, model in models.items()}, title=name
        ),
        "distortion": figures.distortion(
            {label: figures.sessions_by_count(model) for label, model in models.items()}, title=name
        ),
    }
    if elements:
        drawn["elements"] = figures.element_laws(elements)
    if traces:
        drawn["bound_against_time"] = figures.bound_against_time(
            {label: (seconds, bounds) for label, (seconds, bounds) in traces.items()}, title=name
        )
    folder.mkdir(exist_ok=True)
    files = [folder / f"{figure}{ending}" for figure in drawn for ending in _ENDINGS]
    for path in files:
        figures.save(drawn[path.stem], path)
    return files, []


def _models(results: Results, bench: JobRunner) -> dict[str, DCPF]:
    """The model of the first start of each contender."""
    found = {}
    for contender in MODELS:
        path = bench.model_of(protocol.job(results.protocol, contender, 0))
        assert path is not None  # all first starts are kept
        found[contender.label] = load(path)
    return found
