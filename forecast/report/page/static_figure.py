"""The figure of a page where no script draws one: an image that stands in the page."""

from __future__ import annotations

import base64
import io
import tempfile
from collections.abc import Callable
from pathlib import Path

__all__ = ["image_address"]

#: Colours of a line drawing; with as few it takes a third of the bytes.
_COLOURS = 64
#: Effort of the lossless encoder, 0 to 100; more takes seconds and saves nothing.
_EFFORT_PERCENT = 80


def image_address(draw: Callable[[Path], Path]) -> str:
    """Return a drawing as the address of an image.

    Parameters
    ----------
    draw : callable
        Draws into the path of a PNG file, and returns it.
    """
    from PIL import Image

    made = io.BytesIO()
    with tempfile.TemporaryDirectory() as folder, Image.open(draw(Path(folder) / "figure.png")) as drawn:
        few = drawn.convert("RGB").quantize(_COLOURS).convert("RGB")
        few.save(made, format="webp", lossless=True, quality=_EFFORT_PERCENT)
    return f"data:image/webp;base64,{base64.b64encode(made.getvalue()).decode('ascii')}"
