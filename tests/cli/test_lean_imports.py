"""What the process of a command does not import because it is installed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PLUGIN = """
import sys
import click
from forecast import CommandSpec, hookimpl
{before}
@click.command()
def seen():
    import pint, xarray
    print([name for name in ("dask", "pyarrow") if name in sys.modules])
    import dask.array, pyarrow
    ones = dask.array.ones(4)
    print(xarray.DataArray(ones, dims="x").chunk(2).mean().values if {chunks} else len(ones))

@hookimpl
def forecast_commands():
    yield CommandSpec(name="seen", target="seen:seen", title="What is imported", reference="none")
"""


@pytest.mark.parametrize(
    ("before", "says"),
    [("", ["[]", "4"]), ("import dask, pyarrow", ["['dask', 'pyarrow']", "1.0"])],
    ids=["imported later", "imported before"],
)
def test_dask_and_pyarrow_are_imported_only_by_who_wants_them(tmp_path: Path, before: str, says: list[str]) -> None:
    for name in ("dask", "pyarrow"):
        pytest.importorskip(name)
    plugin = tmp_path / "seen.py"
    plugin.write_text(PLUGIN.format(before=before, chunks=bool(before)), encoding="utf-8")
    words = [sys.executable, "-m", "forecast", "--plugin", str(plugin), "seen"]
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=env)
    assert done.stdout.split("\n")[:-1] == says, done.stderr


COPIED = """
import sys
import click
from forecast import CommandSpec, hookimpl
@click.command()
def seen():
    import numpy
    from scipy import special
    print([name for name in ("numpy.f2py", "numpy.testing") if name in sys.modules], special.ndtr(0.0))
    numpy.testing.assert_allclose(special.ndtri(0.5), 0.0)
    print(numpy.f2py.__name__, bool(numpy.f2py.get_include()))

@hookimpl
def forecast_commands():
    yield CommandSpec(name="seen", target="seen:seen", title="What is imported", reference="none")
"""


def test_the_tools_of_numpy_are_imported_only_by_who_wants_them(tmp_path: Path) -> None:
    plugin = tmp_path / "seen.py"
    plugin.write_text(COPIED, encoding="utf-8")
    words = [sys.executable, "-m", "forecast", "--plugin", str(plugin), "seen"]
    done = subprocess.run(
        words, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": str(tmp_path)}
    )
    assert done.stdout.split("\n")[:-1] == ["[] 0.5", "numpy.f2py True"], done.stderr
