"""Masks of the tokens that a constraint allows, for those who draw tokens themselves."""
from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Mapping, Sequence

from . import _library as lib
from ._interrupt import call
from ._json import json_bytes, utf8
from .errors import ClosedError

if TYPE_CHECKING:
    from .llm import LLM

_KINDS = ("regex", "grammar", "json_schema", "json_object", "choice")


def _source(kind: str, source: Any) -> bytes:
    """The bytes of a constraint's source. Raises TypeError, ValueError."""
    expected = "a text"
    if kind == "json_schema":
        if isinstance(source, type) and hasattr(source, "model_json_schema"):
            source = source.model_json_schema()
        expected = "a JSON schema, its text, or a pydantic class"
        is_right = isinstance(source, (str, bool, Mapping))
    elif kind == "choice":
        expected = "a list of at least one text"
        source = list(source) if isinstance(source, (list, tuple)) else source
        is_right = isinstance(source, (str, list)) and len(source) > 0
    else:
        is_right = isinstance(source, str)
    if not is_right:
        raise TypeError(f"source: found {source!r:.60} ({type(source).__name__}), expected {expected}")
    return utf8("source", source) if isinstance(source, str) else json_bytes(source, "source")


class Constraint(lib.Handle):
    """What an answer must look like, compiled for a model's vocabulary.

        with llm.constraint("regex", "[0-9]{4}") as digits:
            row[~digits.mask(answer)] = -np.inf

    kind: "regex", "grammar" (GBNF), "json_schema" (a dict, its JSON, or a pydantic class), "json_object" or
    "choice" (a list of texts).

    Raises InvalidRequestError for a source that cannot be compiled, with the place.
    """

    def __init__(self, llm: "LLM", kind: str, source: Any = "") -> None:
        if kind not in _KINDS:
            raise ValueError(f"kind: found {kind!r}, expected one of {', '.join(_KINDS)}")
        data = _source(kind, source)
        self._library = lib.library()
        self._num_words = (llm.info["vocab_size"] + 31) // 32
        self._vocab_size = llm.info["vocab_size"]
        model = llm.handle

        def open_it() -> int:
            handle = ctypes.c_uint64()
            self._library.call("octavo_constraint_open", model, kind.encode(), data, len(data), handle)
            return handle.value
        self._handle = call(open_it, is_long=True, drop=self._library.close)

    def mask(self, tokens: Sequence[int] = ()) -> Any:
        """The tokens that may follow `tokens`, end tokens included: numpy bool [vocab_size]. A call whose tokens go on
        from those of the last one is quick. Raises InvalidRequestError where one of the tokens is not allowed."""
        import numpy as np
        if not self._handle:
            raise ClosedError("found a constraint that was closed, expected an open one")
        array = lib.tokens_array(tokens)
        words = np.empty(self._num_words, np.uint32)
        self._library.call("octavo_mask", self._handle, array, len(array),
                           words.ctypes.data_as(ctypes.POINTER(ctypes.c_uint32)), len(words))
        bits = np.unpackbits(words.astype("<u4").view(np.uint8), bitorder="little")
        return bits[:self._vocab_size].astype(bool)

    def __del__(self) -> None:
        self.close()
