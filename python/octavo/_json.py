"""JSON of requests: what it cannot hold is an error that names the place."""
from __future__ import annotations

import json
from typing import Any, Mapping, Optional, Tuple

from .errors import InvalidRequestError

_INFINITE = (float("inf"), float("-inf"))


def checked_text(field: str, text: str) -> str:
    """The text. Raises InvalidRequestError for a lone surrogate, which UTF-8 has no bytes for."""
    for i, character in enumerate(text):
        if "\ud800" <= character <= "\udfff":
            raise InvalidRequestError(f"{field}: found the lone surrogate {character!r} at {i}, expected a text that "
                                      "UTF-8 can hold", field, http=400)
    return text


def utf8(field: str, text: str) -> bytes:
    """The bytes of a text. Raises InvalidRequestError for a lone surrogate."""
    try:
        return str.encode(text, "utf-8")  # a class of its own may tell something else
    except UnicodeEncodeError:
        return str.encode(checked_text(field, text), "utf-8")


def _plain(value: Any) -> Any:
    """A value of numpy's as JSON has it. Raises TypeError for others."""
    if hasattr(value, "dtype") and hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(type(value).__name__)


def _fault(value: Any, path: str) -> Optional[Tuple[str, Any]]:
    """The first place in a value that JSON has no form of, and what stands there."""
    if isinstance(value, str):
        checked_text(path, value)
    elif isinstance(value, float) and (value != value or value in _INFINITE):
        return path, value
    elif isinstance(value, Mapping):
        for name, element in value.items():
            place = f"{path}.{name}" if path else str(name)
            found = _fault(element, place)
            if found is not None:
                return found
            if isinstance(name, str):
                checked_text(place, name)
    elif isinstance(value, (list, tuple)):
        for i, element in enumerate(value):
            found = _fault(element, f"{path}[{i}]")
            if found is not None:
                return found
    elif value is not None and not isinstance(value, (bool, int, float)):
        try:
            return _fault(_plain(value), path)
        except TypeError:
            return path, value
    return None


def json_bytes(value: Any, field: str = "") -> bytes:
    """The JSON of a value, in UTF-8. Raises InvalidRequestError for lone surrogates, numbers that are not finite and
    values that hold themselves, and TypeError for what JSON has no form of; both name the field."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, default=_plain).encode("utf-8")
    except (ValueError, TypeError, RecursionError) as error:
        try:
            found = _fault(value, field)
        except RecursionError:
            raise InvalidRequestError(f"{field or 'body'}: found a value that holds itself or is nested too deeply, "
                                      "expected one that JSON can hold", field, http=400) from None
        if found is None:
            raise TypeError(f"{field or 'body'}: {error}, expected a value that JSON can hold") from None
        place, what = found
        if isinstance(what, float):
            raise InvalidRequestError(f"{place}: found {what}, expected a finite number", place, http=400) from None
        raise TypeError(f"{place}: found {what!r:.60} ({type(what).__name__}), expected a value that JSON can hold"
                        ) from None
