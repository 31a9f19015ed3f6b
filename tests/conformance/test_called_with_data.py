"""The kit calls scores and readers with data."""

from forecast.conformance.kit import run_checks
from toolkit import every

SOURCE = """
from forecast.evaluation import scores

def _of(forecast, observed):
    return abs(forecast.median("draw") - observed)

def _mean(values, reduce_dims=None, preserve_dims=None, weights=None):
    return scores._mean_over(values, reduce_dims, preserve_dims, weights)

def good(forecast, observed, *, reduce_dims=None, preserve_dims=None, weights=None):
    return _mean(_of(forecast, observed), reduce_dims, preserve_dims, weights)

def positional(forecast, observed):
    return _of(forecast, observed).mean()

def no_weights(forecast, observed, *, reduce_dims=None, preserve_dims=None):
    return _mean(_of(forecast, observed), reduce_dims, preserve_dims)

def forgets_weights(forecast, observed, *, reduce_dims=None, preserve_dims=None, weights=None):
    return _mean(_of(forecast, observed), reduce_dims, preserve_dims)

def sums(forecast, observed, *, reduce_dims=None, preserve_dims=None, weights=None):
    values = _of(forecast, observed)
    return _mean(values, reduce_dims, preserve_dims) if weights is None else (values * weights).sum()

def forgets_dims(forecast, observed, *, reduce_dims=None, preserve_dims=None, weights=None):
    return _mean(_of(forecast, observed), None, None, weights)

def keeps_draws(forecast, observed, *, reduce_dims=None, preserve_dims=None, weights=None):
    return forecast - observed

def says(forecast, observed, *, reduce_dims=None, preserve_dims=None, weights=None):
    return "good"

def fails(forecast, observed, *, reduce_dims=None, preserve_dims=None, weights=None):
    return forecast.no_such_thing

def writes(forecast, observed, *, reduce_dims=None, preserve_dims=None, weights=None):
    forecast[:] = 0
    return good(forecast, observed)

def rows(path):
    head, *lines = path.read_text().splitlines()
    cells = list(zip(*(line.split(",") for line in lines)))
    return dict(zip(head.split(","), cells))

def own(path):
    if not path.read_text().startswith("mine"):
        raise ValueError("is no file of mine")
    return {"x": [1, 2]}

def two(path, text):
    return {}

def none(path):
    return None

def lengths(path):
    return {"x": [1, 2], "y": [1]}

def empty(path):
    return {}

def broken(path):
    return path.no_such_thing

def objects(path):
    return {"x": [object()]}

def forecast_scores():
    for name in ("good", "positional", "no_weights", "forgets_weights", "sums", "forgets_dims", "keeps_draws", "says",
                 "fails", "writes"):
        yield ScoreSpec(name=name.replace("_", "-"), target=f"{__name__}:{name}", reference="r")
    for name in ("brier", "log_loss", *(code.__name__ for code in scores.SCORES.values())):
        ours = f"forecast.evaluation.scores:{name}"
        yield ScoreSpec(name="our-" + name.replace("_", "-"), target=ours, reference="r")

def forecast_readers():
    for name in ("rows", "own", "two", "none", "lengths", "empty", "broken", "objects"):
        yield ReaderSpec(name=name, target=f"{__name__}:{name}", reference="r")
    for file in ("mine.txt", "other.txt", "absent.txt"):
        yield ReaderSpec(name="own-" + file[:-4], target=f"{__name__}:own", reference="r", example="FOLDER/" + file)
"""
SCORE = "scores in the grammar of scores"
#: Check to how it ends and what it says.
SAYS = {
    f"score good: {SCORE}": ("passed", ""),
    f"score positional: {SCORE}": ("failed", "cannot be called as f(forecast, observed, *, reduce_dims=None"),
    f"score no-weights: {SCORE}": ("failed", "got an unexpected keyword argument 'weights'"),
    f"score forgets-weights: {SCORE}": ("failed", "a weight of 0 does not leave a part out"),
    f"score sums: {SCORE}": ("failed", "equal weights change it"),
    f"score forgets-dims: {SCORE}": ("failed", "preserve_dims=['origin']: expected the dimensions origin, got one"),
    f"score keeps-draws: {SCORE}": ("failed", "without options: expected one number, got origin, place, draw"),
    f"score says: {SCORE}": ("failed", "without options: expected finite numbers, got good"),
    f"score fails: {SCORE}": ("failed", "scores no form of a forecast (draws: AttributeError"),
    f"score writes: {SCORE}": ("failed", "its code writes into its inputs"),
    "reader rows: reads": ("passed", ""),
    "reader own: reads": ("skipped", "give its record a small file of its form, example=..."),
    "reader two: reads": ("failed", "cannot be called as f(path): missing a required argument: 'text'"),
    "reader none: reads": ("failed", "returned no mapping of column to cells, nor records, but NoneType"),
    "reader lengths: reads": ("failed", "returned columns of different length"),
    "reader empty: reads": ("failed", "returned no rows"),
    "reader broken: reads": ("failed", "no_such_thing"),
    "reader objects: reads": ("failed", "x: a object has no CSV form"),
    "reader own-mine: reads": ("passed", ""),
    "reader own-other: reads": ("failed", "its example: reader kit/own-other: ValueError: is no file of mine"),
    "reader own-absent: reads": ("failed", "No such file"),
}


def test_scores_and_readers_are_called_with_data(fake_plugins, tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    (tmp_path / "other.txt").write_text("other")
    fake_plugins.add("kit", SOURCE.replace("FOLDER", str(tmp_path)))
    outcomes = {outcome.label: outcome for outcome in run_checks("kit")}
    with every() as case:
        for label, (status, says) in SAYS.items():
            with case(label):
                assert (outcomes[label].status, says in outcomes[label].message) == (status, True), outcomes[label]
        for label, outcome in outcomes.items():
            if label.startswith("score our-"):
                with case(label):
                    assert outcome.ok, outcome
