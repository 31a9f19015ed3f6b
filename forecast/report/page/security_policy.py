"""The Content-Security-Policy of a page: what may run, style and connect is named by its hash, and nothing else may."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

__all__ = ["policy", "style"]


def style() -> str:
    """Return the style of every page."""
    return Path(__file__).with_name("page.css").read_text(encoding="utf-8")


def policy(script: str = "", *, asks: bool = False) -> str:
    """Return the Content-Security-Policy of a page.

    Parameters
    ----------
    script : str
        The one that may run; none by default.
    asks : bool
        It may ask the server that it came from.
    """
    runs = f"script-src {_hash_source(script)}; " if script else ""
    connects = "connect-src 'self'; " if asks else ""
    return (
        f"default-src 'none'; {runs}style-src {_hash_source(style())}; img-src data:; {connects}base-uri 'none'; "
        "form-action 'none'"
    )


def _hash_source(text: str) -> str:
    """Return the source of a policy that lets this text be; those of the page's own files end no element."""
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")
    return f"'sha256-{digest}'"
