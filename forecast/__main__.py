"""``python -m forecast`` and the ``forecast`` command."""

from __future__ import annotations

import gc
import sys


def main() -> None:
    """Run the command line and exit with its code."""
    # a command imports and keeps up to 300,000 objects: each search among them for garbage is a fortieth of its CPU
    gc.set_threshold(300_000, 50, 100)
    from forecast.cli import main as run

    status = run()
    gc.freeze()  # the process ends: to look for garbage among all that is a seventh of its CPU
    sys.exit(status)


if __name__ == "__main__":
    main()
