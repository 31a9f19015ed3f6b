"""Another edition of a table in the place of its own, for as long as a block lasts."""

import contextlib

import numpy as np
import pytest

from forecast import tables
from forecast.errors import DataError, TableError, UnknownNameError, UsageError
from forecast.tables import editions
from forecast.tables.schema import descriptor
from toolkit import package, resource

FIELDS = [{"name": "run", "type": "string"}, {"name": "loss", "type": "number", "unit": ""}]
ONE, TWO = "run,loss\na,2.5\nb,2.25\n", "run,loss\na,2.5\nb,2.0\nc,1.5\n"


@pytest.fixture
def path(tmp_path):
    return package(tmp_path, "runs", resource(tmp_path, "runs", ONE, FIELDS, "run"))


@pytest.fixture
def other(tmp_path, path):
    (tmp_path / "new.csv").write_text(TWO, encoding="utf-8")
    return editions.try_file(descriptor.read_descriptor(path), str(tmp_path / "new.csv"), where="--file")


def loss(path):
    """Read the table in the three ways in which it is read."""
    table, shared, columns = tables.table(path), tables.look(path), tables.to_columns(str(path))
    np.testing.assert_array_equal(table["loss"].values, shared["loss"].values)
    np.testing.assert_array_equal(table["loss"].values, columns.numeric("loss"))
    return table["loss"].values.tolist()


def test_it_stands_in_the_place_of_the_table_inside_the_block_alone(path, other):
    for _ in range(2):  # what was read is kept, of either edition
        assert loss(path) == [2.5, 2.25]
        with editions.use_editions({path: other}):
            assert loss(path) == [2.5, 2.0, 1.5]
            assert tables.table(path).attrs["hash"] == other.hash
    assert tables.table(path).attrs["name"] == "runs"


def test_rows_without_the_key_of_the_table_stand_beside_its_own(path, tmp_path):
    (tmp_path / "mine.csv").write_text("loss\n1.75\n", encoding="utf-8")
    mine = editions.try_file(descriptor.read_descriptor(path), str(tmp_path / "mine.csv"), where="--file")
    with editions.use_editions({path: mine}):
        assert loss(path) == [2.5, 2.25, 1.75]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("run;loss\na;2,5\nb;1,25\n", [2.5, 1.25]),
        ("Our runs\n\nrun\tloss\na\t2.5\nb\tTBD\n", [2.5, np.nan]),
        ('run,loss\na,"1,200"\nb,250 %\n', TableError),
    ],
)
def test_a_file_in_its_place_may_be_of_any_form(path, tmp_path, text, expected):
    (tmp_path / "mine.csv").write_text(text, encoding="utf-8")
    mine = editions.try_file(descriptor.read_descriptor(path), str(tmp_path / "mine.csv"), where="--file")
    with editions.use_editions({path: mine}):
        if expected is TableError:
            with pytest.raises(DataError, match=r"mine\.csv:2:loss"):
                loss(path)
        else:
            np.testing.assert_array_equal(loss(path), expected)


def test_blocks_stand_in_one_another_and_an_error_ends_them(path, other):
    with editions.use_editions({path: other}):
        with editions.use_editions({}) as read:
            assert len(loss(path)) == 3
        assert read == {path}
        own = {path: editions.Edition(package=descriptor.read_descriptor(path))}
        with contextlib.suppress(ZeroDivisionError), editions.use_editions(own):
            assert len(loss(path)) == 2
            _ = 1 / 0
        assert len(loss(path)) == 3
    assert len(loss(path)) == 2


def test_what_was_read_is_noted_whether_or_not_it_is_kept_already(path, other, tmp_path):
    loss(path)
    with editions.use_editions({path: other}) as read:
        assert read == set()
        tables.look(path)
        assert read == {path}
    with editions.use_editions({}) as around:
        with editions.use_editions({path: other}) as read:
            tables.look(path)
        assert around == read == {path}


def test_another_description_of_the_same_file_is_another_edition(path, tmp_path):
    (tmp_path / "b").mkdir()
    fields = [FIELDS[0], {**FIELDS[1], "unit": "percent"}]
    package(tmp_path / "b", "runs", resource(tmp_path / "b", "runs", ONE, fields, "run"))
    edition = editions.try_file(descriptor.read_descriptor(path), str(tmp_path / "b"), where="--file")
    assert tables.look(path)["loss"].attrs["unit"] == ""
    with editions.use_editions({path: edition}):
        assert tables.look(path)["loss"].attrs["unit"] == "percent"


def test_a_file_that_is_not_this_table_is_refused(path, tmp_path):
    (tmp_path / "bad.csv").write_text("run,cost\na,1\n", encoding="utf-8")
    edition = editions.try_file(descriptor.read_descriptor(path), str(tmp_path / "bad.csv"), where="--file")
    with editions.use_editions({path: edition}), pytest.raises(TableError, match=r"bad\.csv"):
        tables.table(path)
    with pytest.raises(UsageError, match="describes a whole table: expected one file"):
        editions.try_file(descriptor.read_descriptor(path), str(path), "runs", where="--file")


# --- editions that a table holds itself -------------------------------------------------------------------------------

HELD = [{"name": "edition", "type": "string"}, *FIELDS, {"name": "loss_old", "type": "number", "unit": ""}]
BOTH = "edition,run,loss,loss_old\n1,a,2.5,3\n1,b,2.25,\n2,a,2.0,9\n"


def holding(tmp_path, key, **schema):
    return package(tmp_path, "held", resource(tmp_path, "held", BOTH, HELD, key, separate=["edition"], **schema))


@pytest.mark.parametrize("key", [["edition", "run"], []])
def test_rows_of_another_edition_stand_under_either_name(tmp_path, key):
    path = holding(tmp_path, key)
    held = editions.substitute_edition(descriptor.read_descriptor(path), "1", "2", where="--edition")
    with editions.use_editions({path: held}):
        rows = tables.to_columns(str(path))
        kept = {(rows.column("edition")[i], rows.column("run")[i]): rows.numeric("loss")[i] for i in range(rows.rows)}
    assert {k: v for k, v in kept.items() if np.isfinite(v)} == {("1", "a"): 2.0, ("2", "a"): 2.0}
    own = tables.to_columns(str(path)).numeric("loss").tolist()
    assert [loss for loss in own if np.isfinite(loss)] == [2.5, 2.25, 2.0]
    assert held.hash.endswith("(2 in the place of 1)")


def test_a_column_has_the_values_of_the_other(tmp_path):
    path = holding(tmp_path, ["edition", "run"])
    with editions.use_editions(
        {path: editions.substitute_edition(descriptor.read_descriptor(path), "loss", "loss_old", where="--edition")}
    ):
        ds = tables.table(path)
    assert ds["loss"].sel(edition="1", run="a") == ds["loss_old"].sel(edition="1", run="a") == 3
    assert np.isnan(ds["loss"].sel(edition="1", run="b"))


def test_what_is_no_edition_is_refused(tmp_path):
    path = holding(tmp_path, ["edition", "run"])
    described = descriptor.read_descriptor(path)
    with pytest.raises(UsageError, match="the columns 'run' and 'loss' differ in type, unit or qualifiers"):
        editions.substitute_edition(described, "run", "loss", where="--edition")
    with pytest.raises(UsageError, match="'1' stands in its own place already"):
        editions.substitute_edition(described, "1", "1", where="--edition")
    with (
        editions.use_editions({path: editions.substitute_edition(described, "1", "3", where="--edition")}),
        pytest.raises(UnknownNameError, match="table 'held': unknown edition '3'; known: 1, 2, "),
    ):
        tables.table(path)
