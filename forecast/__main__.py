"""``python -m forecast`` and the ``forecast`` command."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line and exit with its code."""
    from forecast.cli import main as run

    sys.exit(run())


if __name__ == "__main__":
    main()
