"""The search for settings: what it tries, what it keeps, what it chooses, and how sure it is."""

import json
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

import dcpf
from dcpf import DCPF, Counts
from dcpf.evaluation import tuning
from dcpf.evaluation.result import mean_intervals
from dcpf.evaluation.trials import (
    DEFAULT,
    DEFAULT_METRIC,
    Gain,
    ListMetric,
    Objective,
    Trial,
    Tuned,
    TunedParameters,
    as_command,
    as_python,
    ranking,
    what_mattered,
)
from dcpf.evaluation.tuning import SPACE, search, space_for, split, tune
from dcpf.paper import figures
from dcpf.simulation import listening_data

METRIC = "ndcg@10>0,ndcg@10>2"
TRIALS = 12


def plays(seed: int = 0) -> Counts:
    return Counts.of(listening_data(np.random.default_rng(seed), n_users=90, n_songs=60).counts)


@pytest.fixture(scope="module")
def counts() -> Counts:
    return plays()


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tuning") / "trials.jsonl"


@pytest.fixture(scope="module")
def tuned(counts: Counts, journal: Path) -> Tuned:
    return tune(counts, METRIC, TRIALS, journal=journal)


def timeless(found: Tuned) -> Tuned:
    """The same without seconds, which no two runs have in common."""
    trials = tuple(replace(one, seconds=0.0) for one in found.trials)
    second = None if found.confirmed is None else replace(found.confirmed, seconds=0.0)
    return replace(found, trials=trials, confirmed=second)


def made(*scores: float, low: float = 0.001, again: float | None = None) -> Tuned:
    """What a search might have found: the default and other numbers of components."""
    sizes = (50, 20, 100, 200)
    trials = [
        Trial(DEFAULT.changed(n_components=K), False, score, Gain(score - scores[0], low, 0.1), 30, 1.0)
        for K, score in zip(sizes, scores, strict=False)
    ]
    second = None if again is None else replace(trials[1], again=True, gain=Gain(again + 0.01, again, 0.1))
    return Tuned(Objective.parse("ndcg"), tuple(trials), second, 3)


def test_a_metric_is_read_from_its_text() -> None:
    assert Objective.parse("ndcg@100>2").parts == (ListMetric("ndcg", 100, 2),)
    assert Objective.parse(" recall@20, MRR > 5 ,hit-rate@3").parts == (
        ListMetric("recall", 20, 0),
        ListMetric("mrr", 100, 5),
        ListMetric("hit_rate", 3, 0),
    )
    assert str(Objective.parse("ndcg")) == "ndcg@100>0"
    assert str(Objective.parse(DEFAULT_METRIC)) == DEFAULT_METRIC


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("accuracy@5", "unknown metric 'accuracy' in 'accuracy@5': choose one of ndcg, precision"),
        ("ndcg@many", "metric 'ndcg@many' of 'ndcg@many' cannot be read: write it as ndcg@100>2"),
        ("ndcg@10,", "metric '' of 'ndcg@10,' cannot be read"),
        ("ndcg@0", "a list must have at least 1 item"),
    ],
)
def test_a_metric_that_cannot_be_read_is_named(counts: Counts, text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        tune(counts, text, 1)


def test_a_metric_that_judges_nobody_says_so(counts: Counts) -> None:
    with pytest.raises(ValueError, match="no held-out count is above 100000; choose a lower threshold"):
        tune(counts, "ndcg@10>100000", 1)


def test_the_score_is_the_mean_of_the_means(counts: Counts) -> None:
    train, test = counts.split(0.2, 0)
    model = DCPF(5, random_state=0).fit(train)
    objective = Objective.parse("ndcg@10>2,recall@20,ndcg@10")
    ten, twenty = dcpf.evaluate(model, test, 10), dcpf.evaluate(model, test, 20)
    expected = [ten.mean("ndcg", 2), twenty.mean("recall", 0), ten.mean("ndcg", 0)]
    assert objective.score(objective.values(model, test)) == pytest.approx(np.mean(expected))


def test_a_gain_is_the_difference_of_scores_and_its_interval_that_of_a_paired_bootstrap() -> None:
    rng = np.random.default_rng(0)
    objective = Objective.parse("ndcg,recall")
    first, second = rng.random((300, 2)), rng.random((300, 2))
    first[:200, 1] = second[:200, 1] = np.nan  # users without a relevant item
    gain = objective.gain(first, second)
    assert gain.mean == pytest.approx(objective.score(first) - objective.score(second))
    one = Objective.parse("ndcg").gain(first[:, :1], second[:, :1])
    low, high = mean_intervals(first[:, :1] - second[:, :1], 0.95, np.random.default_rng(0))
    assert (one.low, one.high) == pytest.approx((low[0], high[0]))
    drawn = [rng.integers(300, size=300) for _ in range(1000)]
    means = [objective.score(first[rows]) - objective.score(second[rows]) for rows in drawn]
    assert (gain.low, gain.high) == pytest.approx(np.quantile(means, [0.025, 0.975]), abs=0.01)


def scored(settings: TunedParameters) -> float:
    """A landscape whose top cannot be reached by single changes that each are better."""
    both = settings.element == "binary" and settings.n_components == 20
    either = settings.element == "binary" or settings.n_components == 20
    return (1.0 if both else -1.0 if either else 0.0) + (0.5 if settings.neighbor_prior == 20 else 0.0)


def proposed(seed: int, most: int | None = None, **smaller: tuple[object, ...]) -> Iterator[TunedParameters]:
    proposals = search({**SPACE, **smaller}, seed)
    one = next(proposals)
    for _ in range(most or 10_000):
        yield one
        try:
            one = proposals.send(scored(one))
        except StopIteration:
            return


def test_the_default_comes_first_and_excitation_before_new_factors() -> None:
    tried = list(proposed(0, 9))
    assert tried[0] == DEFAULT == TunedParameters(**{name: DCPF().get_params()[name] for name in asdict(DEFAULT)})
    assert {one.factors for one in tried} == {DEFAULT.factors}
    assert len(set(tried)) == 9


def test_the_search_gets_to_the_top_and_ends_when_all_is_tried() -> None:
    smaller = {"n_neighbors": (0, 200), "shape_prior": (0.3,), "n_components": (0, 20, 50)}
    tried = list(proposed(0, **smaller))
    assert len(set(tried)) == len(tried) == 5 * 5 * 3 + 5 * 2  # without neighbours, no prior and no 0 components
    assert all(one.possible for one in tried)
    top = max(map(scored, tried))
    assert next(j for j, one in enumerate(tried) if scored(one) == top) < len(tried) - 10
    assert list(proposed(0, 60, **smaller)) == tried[:60]
    assert list(proposed(1, 60, **smaller)) != tried[:60]


def test_values_that_make_no_difference_to_small_data_are_left_out() -> None:
    space = space_for((90, 60))
    assert space["n_components"] == (0, 20, 50)
    assert space["n_neighbors"] == (0, 50, 200)  # 200 is the default
    assert space["element"] == SPACE["element"]


def test_a_trial_is_what_a_fit_from_scratch_and_an_evaluation_give(counts: Counts, tuned: Tuned) -> None:
    train, test = counts.split(0.2, 0)
    assert len(tuned.trials) == TRIALS
    assert tuned.trials[0].settings == DEFAULT
    assert tuned.trials[0].gain == Gain(0.0, 0.0, 0.0)
    default = tuned.objective.values(DCPF(random_state=0).fit(train), test)
    finished = [one for one in tuned.trials if not one.stopped]
    assert len(finished) > TRIALS / 2
    for one in finished[1::4]:
        model = DCPF(**asdict(one.settings), random_state=0).fit(train)
        values = tuned.objective.values(model, test)
        assert one.score == tuned.objective.score(values)
        assert one.gain == tuned.objective.gain(values, default)


def test_the_same_seed_gives_the_same_trials(counts: Counts, tuned: Tuned) -> None:
    assert timeless(tune(counts, METRIC, TRIALS)) == timeless(tuned)


def test_the_second_look_is_at_other_counts(counts: Counts) -> None:
    first, second = split(counts, 5), split(counts, 5, again=True)
    for train, test in (first, second):
        assert (train + test).matrix.sum() == counts.matrix.sum()
        assert train.nnz + test.nnz == counts.nnz
        assert test.nnz == pytest.approx(0.2 * counts.nnz, abs=1)
    assert first[1].matrix.multiply(second[1].matrix).nnz == 0


def not_again(*_: object, **__: object) -> None:
    raise AssertionError("fitted again")


def test_what_is_done_is_not_done_again(
    counts: Counts, tuned: Tuned, journal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DCPF, "fit", not_again)
    before = journal.read_bytes()
    assert tune(counts, METRIC, TRIALS, journal=journal) == tuned
    assert tune(counts, METRIC, 3, journal=journal, space=SPACE).trials == tuned.trials[:3]
    assert journal.read_bytes() == before


@pytest.mark.parametrize("trials", [1, 7, TRIALS])
def test_a_run_that_was_stopped_goes_on_to_the_same_result(
    counts: Counts, tuned: Tuned, tmp_path: Path, trials: int
) -> None:
    def stop(done: int, settings: TunedParameters, again: bool) -> None:
        if done == trials:
            raise KeyboardInterrupt

    path = tmp_path / "j"
    with pytest.raises(KeyboardInterrupt):
        tune(counts, METRIC, TRIALS, journal=path, watch=stop)
    assert len(path.read_text().splitlines()) == 1 + trials
    path.write_bytes(path.read_bytes()[:-7] if trials == 7 else path.read_bytes())  # killed in the middle of a line
    assert timeless(tune(counts, METRIC, TRIALS, journal=path)) == timeless(tuned)


def test_results_of_another_run_are_refused(counts: Counts, tuned: Tuned, journal: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"holds .* another run: other data; choose another journal="):
        tune(plays(1), METRIC, TRIALS, journal=journal)
    with pytest.raises(ValueError, match=r"another run: metric 'ndcg@10>0,ndcg@10>2' there, 'mrr@100>0' here"):
        tune(counts, "mrr", TRIALS, journal=journal)
    with pytest.raises(ValueError, match="another run: seed 0 there, 1 here"):
        tune(counts, METRIC, TRIALS, seed=1, journal=journal)
    damaged = tmp_path / "j"
    damaged.write_bytes(journal.read_bytes() + b"{}\n")
    with pytest.raises(ValueError, match=rf"line {2 + len(journal.read_text().splitlines()) - 1}: not what a run"):
        tune(counts, METRIC, TRIALS, journal=damaged)


@pytest.mark.parametrize("seed", range(3))
def test_stopping_early_never_stops_the_best(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "_LOOK", 5)
    space = {"element": ("raw", "binary", "geometric"), "n_components": (20, 50), "shape_prior": (0.1, 1.0)}
    quick = tune(plays(seed), METRIC, 9, seed=seed, space=space)
    whole = tune(plays(seed), METRIC, 9, seed=seed, space=space, stop_early=False)
    assert quick.best.settings == whole.best.settings
    assert quick.best.score == whole.best.score  # going on after the look gives the same bits
    assert not any(one.stopped for one in whole.trials)


def test_a_hopeless_trial_is_stopped_and_says_so(counts: Counts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "_LOOK", 3)
    monkeypatch.setattr(tuning, "_HOPELESS", 2.0)  # nobody has any hope
    found = tune(counts, METRIC, 3, space={"element": ("geometric", "raw")})
    assert [(one.stopped, one.iterations) for one in found.trials[1:]] == [(True, 3), (True, 3)]
    assert not found.trials[0].stopped
    assert "stopped early" in str(ranking(found).rows)
    assert "*" in what_mattered(found).notes[0]


def test_the_chosen_is_clearly_better_on_both_splits_or_else_the_default() -> None:
    best = made(0.4, 0.5, again=0.01)
    assert best.chosen == best.best.settings == DEFAULT.changed(n_components=20)
    assert best.verdict[-1] == "It is better on both. Use it."
    assert "optimistic, as it is the best of 2" in best.verdict[0]
    for doubtful in (made(0.4, 0.5, low=-0.1, again=0.01), made(0.4, 0.5, again=-0.001)):
        assert doubtful.chosen == DEFAULT
        assert doubtful.verdict[-1] == "It is not clearly better on both. Keep the default."
    worse = made(0.4, 0.3)
    assert worse.chosen == DEFAULT
    assert worse.verdict == ["No trial ranks better than the default (0.4000). Keep the default."]


def test_what_mattered_is_the_best_of_each_value() -> None:
    found = made(0.4, 0.5, 0.45, again=0.01)
    assert {K: one.score for K, one in found.by_value()["n_components"].items()} == {20: 0.5, 50: 0.4, 100: 0.45}
    row = next(row for row in what_mattered(found).rows if row[0].value == "components")
    assert row[1].value == pytest.approx(0.1)
    assert row[2].value == "20: 0.5000, 50: 0.4000, 100: 0.4500"
    assert {row[0].value: row[1].value for row in what_mattered(found).rows}["element"] == "not varied"
    assert [row[0].value for row in ranking(found).rows] == [0.5, 0.45, 0.4]
    assert json.loads(json.dumps(found.to_dict()))["chosen"]["n_components"] == 20


def test_settings_are_written_as_they_are_used() -> None:
    settings = TunedParameters(n_components=20, element="raw", neighbor_prior=80.0)
    text = as_python(settings, 3)
    assert text == "DCPF(n_components=20, element='raw', neighbor_prior=80.0, random_state=3)"
    assert eval(text).get_params().items() >= asdict(settings).items()
    command = as_command(settings, "my plays.csv", "m.safetensors", ["--seed", "3"])
    assert command == (
        "dcpf fit 'my plays.csv' -o m.safetensors --components 20 --element raw --neighbor-prior 80 --seed 3"
    )
    assert as_python(DEFAULT, 0) == "DCPF(random_state=0)"


def test_the_figure_has_a_panel_for_each_parameter() -> None:
    found = made(0.4, 0.5, 0.45, 0.1, again=0.01)
    axes = figures.what_mattered(found, title="Plays").axes
    assert [one.get_xlabel() for one in axes][:2] == ["neighbours", "neighbour prior"]
    last = axes[-1]
    assert [one.get_text() for one in last.get_xticklabels()] == ["20", "50", "100", "200"]
    assert any(np.asarray(line.get_ydata()).tolist() == [0.5, 0.4, 0.45] for line in last.lines)
    assert "v" in [line.get_marker() for line in last.lines]  # 0.1 is at the foot
