"""``forecast plugins new``: a plugin to start from, written whole or not at all."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from pathlib import Path

from forecast.contract.registry import get_registry
from forecast.errors import ForecastError, UsageError, printable

#: What is written, each file at its place and with ``.txt`` behind its name; ``{module}`` is the name with underscores.
TEMPLATES = Path(__file__).parent / "templates" / "plugin"

#: A name of a plugin, a Python distribution and (with underscores) a module, all at once.
PLUGIN_NAME_PATTERN = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", re.ASCII)
MAX_PLUGIN_NAME = 40


def create(name: str, *, parent: Path | None = None) -> tuple[Path, list[str]]:
    """Write the folder ``forecast-NAME`` with a plugin that works as it stands.

    Parameters
    ----------
    name : str
        Lower case letters, digits and single hyphens; starts with a letter.
    parent : Path, optional
        Where the folder goes. Default: the current folder.

    Returns
    -------
    folder : Path
    files : list of str
        What was written, relative to it.

    Raises
    ------
    UsageError
        For a bad name, a name that an installed plugin has, or a folder that exists.
    ForecastError
        If the file system refuses; nothing is left behind.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder, files = create("demo", parent=pathlib.Path(tempfile.mkdtemp()))
    >>> folder.name, files[0]
    ('forecast-demo', '.gitignore')
    """
    shown = printable(name, 80)
    if len(name) > MAX_PLUGIN_NAME or not PLUGIN_NAME_PATTERN.fullmatch(name):
        raise UsageError(
            f"plugin name '{shown}': expected lower case letters, digits and single hyphens, starting with a letter, "
            f"at most {MAX_PLUGIN_NAME} characters"
        )
    if name == "none":
        raise UsageError(f"plugin name '{shown}': FORECAST_PLUGINS=none asks for no plugin at all; choose another name")
    for plugin in get_registry().plugins:
        if plugin.name == name and plugin.distribution != f"forecast-{name}":
            raise UsageError(f"plugin name '{shown}': {plugin.distribution} brings a plugin of that name")
    temporary: Path | None = None
    try:
        folder = (Path.cwd() if parent is None else parent) / f"forecast-{name}"
        if os.path.lexists(folder):
            raise UsageError(f"{folder.name}: exists already; nothing was written")
        # Beside its destination, so that the rename that ends the work cannot cross file systems.
        temporary = Path(tempfile.mkdtemp(prefix=".forecast-new-", dir=folder.parent))
        inner = temporary / folder.name
        files = _write_template(inner, name)
        inner.rename(folder)
    except OSError as problem:
        reason = (problem.strerror or type(problem).__name__).lower()
        raise ForecastError(f"forecast-{name}: cannot be written here: {reason}") from problem
    finally:
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)
    return folder, files


def _write_template(folder: Path, name: str) -> list[str]:
    module = name.replace("-", "_")
    csv = (TEMPLATES / "forecast_{module}" / "machines" / "machines.csv.txt").read_bytes()
    words = {
        "name": name,
        "module": module,
        "title": name.replace("-", " ").capitalize(),
        "hash": "sha256:" + hashlib.sha256(csv).hexdigest(),
    }
    written = []
    for template in sorted(TEMPLATES.rglob("*.txt")):
        text = template.read_text(encoding="utf-8")
        for word, value in words.items():
            text = text.replace("{{" + word + "}}", value)
        relative = template.relative_to(TEMPLATES).with_suffix("").as_posix().replace("{module}", module)
        path = folder / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
        written.append(relative)
    return written
