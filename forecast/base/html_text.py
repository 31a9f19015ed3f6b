"""Text as HTML: what a notebook shows of an object that has a line of text."""

from __future__ import annotations

from html import escape

from forecast.errors import printable

__all__ = ["HtmlText"]

#: Characters that are shown.
_LONG = 2000


class HtmlText:
    """An object whose text a notebook shows as code, in the colours of its page."""

    def _repr_html_(self) -> str:
        return f"<code>{escape(printable(repr(self), _LONG))}</code>"
