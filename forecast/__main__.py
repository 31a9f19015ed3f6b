"""``python -m forecast`` and the ``forecast`` command: a process of our own, begun and ended here."""

from __future__ import annotations

import gc
import os
import sys


def main() -> None:
    """Run the command line and exit with its code."""
    # a command imports and keeps up to 300,000 objects: each search among them for garbage is a fortieth of its CPU
    gc.set_threshold(300_000, 50, 100)
    from forecast.cli.lean_imports import LeanImports

    sys.meta_path.insert(0, LeanImports())
    from forecast.cli import main as run
    from forecast.contract import plugin_calls

    supervised = False
    if os.environ.get("FORECAST_SUPERVISED"):
        from forecast.contract import supervision

        supervised = supervision.confined()
    plugin_calls.set_stdout_aside()
    status = run()
    plugin_calls.run_exit_functions()
    if supervised:
        supervision.done()
    plugin_calls.leave(status)


if __name__ == "__main__":
    main()
