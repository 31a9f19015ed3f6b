"""JSON text, strictly: RFC 8259 in both directions."""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Mapping
from typing import Any

from forecast.errors import DataError, ForecastError, ResultError, printable


def strict_json(text: str | bytes, *, where: str, error: type[ForecastError] = DataError) -> Any:
    """Read JSON text, refusing what RFC 8259 does not have or leaves open.

    Refused: NaN and Infinity, a key given twice, text that is not UTF-8 or holds lone surrogates, nesting beyond
    Python's depth, integers of thousands of digits.

    Examples
    --------
    >>> strict_json('{"a": 1}', where="demo")
    {'a': 1}
    >>> strict_json('{"a": NaN}', where="demo")
    Traceback (most recent call last):
    forecast.errors.DataError: demo: NaN is not JSON
    """

    def constant(name: str) -> Any:
        raise error(f"{where}: {name} is not JSON")

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        members: dict[str, Any] = {}
        for key, value in items:
            if key in members:
                raise error(f"{where}: the key '{printable(key, 80)}' is given twice")
            members[key] = value
        return members

    def real(digits: str) -> float:
        value = float(digits)
        if math.isinf(value):
            raise error(f"{where}: the number {printable(digits, 40)} is outside the range of double precision")
        return value

    try:
        plain = text.decode("utf-8-sig") if isinstance(text, bytes) else text
        value = json.loads(plain, parse_constant=constant, object_pairs_hook=pairs, parse_float=real)
        json.dumps(value, ensure_ascii=False).encode("utf-8")  # finds lone surrogates written as \uD800
    except UnicodeDecodeError:
        raise error(f"{where}: not UTF-8 text") from None
    except UnicodeEncodeError:
        raise error(f"{where}: text with a lone surrogate") from None
    except json.JSONDecodeError as fault:
        raise error(f"{where}:{fault.lineno}:{fault.colno}: not JSON: {fault.msg}") from fault
    except RecursionError:
        raise error(f"{where}: nested too deeply") from None
    except ValueError as fault:  # an integer of more digits than Python converts
        raise error(f"{where}: a number that is too long") from fault
    return value


def to_json(value: object, *, indent: int | None = None, compact: bool = False) -> str:
    """Return `value` as JSON text: RFC 8259, ASCII, the same for equal input.

    Mappings keep their order. NaN, NaT and infinity become ``null``; dates become ISO text (without the time at
    midnight); numpy scalars and arrays, xarray objects (their values) and tuples become numbers, lists and objects.
    `compact` text has no blanks.

    Raises
    ------
    ResultError
        For keys that are not text and for objects that JSON has no form for.

    Examples
    --------
    >>> import datetime
    >>> to_json({"p50": float("nan"), "when": datetime.date(2040, 1, 1)})
    '{"p50": null, "when": "2040-01-01"}'
    """
    try:
        separators = (",", ":") if compact else None
        return json.dumps(_to_json(value, ""), allow_nan=False, ensure_ascii=True, indent=indent, separators=separators)
    except RecursionError:
        raise ResultError("json: nested too deeply, or in itself") from None


def none_if_not_finite(value: Any) -> Any:
    """Return the value, or None for a float that is NaN or infinite, which JSON does not have.

    Examples
    --------
    >>> none_if_not_finite(0.5), none_if_not_finite(float("inf")), none_if_not_finite("text")
    (0.5, None, 'text')
    """
    return None if isinstance(value, float) and not math.isfinite(value) else value


def nan_if_none(value: float | None) -> float:
    """Return the number, or NaN for None: the way back from JSON.

    Examples
    --------
    >>> nan_if_none(2), nan_if_none(None)
    (2.0, nan)
    """
    return math.nan if value is None else float(value)


def _to_json(value: object, at: str) -> Any:
    # bool before int: True is an int.
    if value is None or isinstance(value, (bool, str)):
        return str(value) if isinstance(value, str) else value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, (datetime.datetime, datetime.date)):
        return _stamp(str(value.isoformat()))
    if isinstance(value, Mapping):
        return {_key(k, at): _to_json(v, f"{at}.{printable(k, 40)}") for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_to_json(v, f"{at}[{i}]") for i, v in enumerate(value)]
    return _numpy_to_json(value, at)


def _key(key: object, at: str) -> str:
    if not isinstance(key, str):
        raise ResultError(f"json: {at or 'the top'}: expected text as key, got {type(key).__name__}")
    return str(key)


def _stamp(text: str) -> str | None:
    return None if text == "NaT" else text.removesuffix("T00:00:00")


def _numpy_to_json(value: object, at: str) -> Any:
    """Numpy and xarray, known by what they are once numpy is loaded; importing it here would cost who has none."""
    import numpy as np

    if isinstance(value, np.datetime64):
        return _stamp(str(value.astype("datetime64[s]")))
    if isinstance(value, np.generic) and value.dtype.kind in "biufU":
        return _to_json(value.item(), at)
    if isinstance(value, np.ndarray):
        if value.ndim == 0:
            return _to_json(value[()], at)
        return [_to_json(v, f"{at}[{i}]") for i, v in enumerate(value)]
    if hasattr(value, "data_vars"):
        return {_key(k, at): _numpy_to_json(v.values, f"{at}.{k}") for k, v in value.variables.items()}  # type: ignore[attr-defined]
    if hasattr(value, "values") and hasattr(value, "dims"):
        return _numpy_to_json(value.values, at)
    raise ResultError(f"json: {at or 'the top'}: a {type(value).__name__} has no JSON form")
