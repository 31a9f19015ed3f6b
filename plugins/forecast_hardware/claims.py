"""Claims come here."""

from __future__ import annotations

from forecast import ClaimSpec

CLAIMS: tuple[ClaimSpec, ...] = ()
