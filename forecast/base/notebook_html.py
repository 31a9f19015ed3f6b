"""HTML for notebooks: the text of an object as code, or a page with a sentence, a small figure and a table."""

from __future__ import annotations

import base64
import functools
import html
import io
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from forecast.errors import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Most bytes of a page: a notebook keeps every output.
MAX_BYTES = 30_000
#: Most characters of an object's text.
_MAX_REPR_CHARACTERS = 2000
#: Most bytes of a figure, encoded as it is in the page.
_MAX_IMAGE_BYTES = 20_000
#: Dots per inch that are tried until a figure has no more bytes than that.
_RESOLUTIONS = (110, 80, 60)
_FIGURE_INCHES = (5.6, 3.0)
#: Most rows of a table, and most characters of a cell.
_MAX_TABLE_ROWS, _MAX_CELL = 16, 80


@functools.singledispatch
def to_html(result: object) -> str:
    """Return an object as HTML: its text as code, unless a room above registered a page for its class."""
    text = html.escape("\n".join(printable(line, _MAX_REPR_CHARACTERS) for line in repr(result).splitlines()))
    return f"<pre>{text}</pre>" if "\n" in text else f"<code>{text}</code>"


class HtmlText:
    """An object that a console shows by its class's ``__repr__``, records below it too, and a notebook by `to_html`."""

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if cls.__repr__ is not object.__repr__:
            cls.__repr__ = cls.__repr__  # type: ignore[method-assign]  # a dataclass writes one where its own is missing

    def _repr_html_(self) -> str:
        return to_html(self)


def _escape(text: object, most: int = 600) -> str:
    return html.escape(printable(text, most))


def page(
    sentence: str, figure: str, columns: Sequence[str], rows: Sequence[Sequence[str]], notes: Sequence[str]
) -> str:
    """Return a page of HTML: a sentence in bold, a figure, a table without empty columns, and notes."""
    used = [i for i in range(len(columns)) if any(row[i] for row in rows)]
    head = "".join(f"<th>{_escape(columns[i])}</th>" for i in used)
    body = [
        f"<tr>{''.join(f'<td>{_escape(row[i], _MAX_CELL)}</td>' for i in used)}</tr>" for row in rows[:_MAX_TABLE_ROWS]
    ]
    left = len(rows) - len(body)
    parts = [f"<p><strong>{_escape(sentence)}</strong></p>", figure]
    parts.append(f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>" if body else "")
    parts.append(f"<p>{left} more rows.</p>" if left > 0 else "")
    parts += [f"<p>{_escape(note, 300)}</p>" for note in notes[:8] if note]
    return "".join(parts)


def inline_image(draw: Callable[[Axes], object], description: str) -> str:
    """Return a figure as an image inside the page; an empty text if no resolution makes it small enough."""
    import matplotlib as mpl
    import numpy as np
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from PIL import Image  # matplotlib's own

    # names from data and plugins are no TeX; a figure of its own leaves those of the notebook alone
    with mpl.rc_context({"text.parse_math": False, "font.size": 8.0}):
        figure = Figure(figsize=_FIGURE_INCHES, layout="constrained")
        canvas = FigureCanvasAgg(figure)
        draw(figure.subplots())
        for resolution in _RESOLUTIONS:
            figure.set_dpi(resolution)
            canvas.draw()
            buffer = io.BytesIO()
            # so few colours are drawn that a palette holds them, in a third of the bytes
            Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB").quantize(32).save(
                buffer, "PNG", optimize=True
            )
            coded = base64.b64encode(buffer.getvalue()).decode("ascii")
            if len(coded) <= _MAX_IMAGE_BYTES:
                return f'<img alt="{_escape(description, 300)}" src="data:image/png;base64,{coded}">'
    return ""
