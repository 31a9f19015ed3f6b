"""``forecast quantities``: what is measured, what bounds it, and whose forecast answers."""

from __future__ import annotations

from forecast.api.catalogue_search import QUANTITY_COLUMNS, QUANTITY_VALUES, describe_quantity
from forecast.cli.catalogue.listing import catalogue

quantities = catalogue(
    "quantities", "quantity", columns=QUANTITY_COLUMNS, describe=describe_quantity, values=QUANTITY_VALUES
)
