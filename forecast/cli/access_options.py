"""Options that say what scenarios and tables may reach beyond their own folders (`forecast.base.access`)."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

from forecast.base import access

__all__ = ["access_options"]


def access_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--allow-path``, ``--allow-download`` and ``--allow-host`` to a command; they hold while it runs."""

    @click.option("--allow-path", multiple=True, metavar="DIR", help="Let files name files in this folder too.")
    @click.option("--allow-download", is_flag=True, help="Download tables that are needed and not here yet.")
    @click.option("--allow-host", multiple=True, metavar="HOST", help="Download from this host, even a private one.")
    @functools.wraps(command)
    def allowed(
        *args: Any, allow_path: tuple[str, ...], allow_download: bool, allow_host: tuple[str, ...], **options: Any
    ) -> Any:
        with access.allow(paths=allow_path, downloads=allow_download, hosts=allow_host):
            return command(*args, **options)

    return allowed
