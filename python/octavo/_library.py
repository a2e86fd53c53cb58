"""The C interface (`include/octavo.h`) by ctypes: structures, prototypes, and exceptions for its statuses."""
from __future__ import annotations

import array
import ctypes
import json
import os
import pathlib
import threading
from ctypes import POINTER, c_char_p, c_float, c_int, c_int32, c_size_t, c_uint32, c_uint64, c_void_p
from typing import Any, Dict, List, Optional, Sequence, Tuple, Type, TypeVar, Union

from ._json import utf8
from .errors import (BusyError, ClosedError, ContextLengthError, Error, ForkedError, InvalidRequestError,
                     OutOfMemoryError, StoppedError)

INTERFACE = 1

OK, INVALID, CLOSED, FORKED, NO_MEMORY, TOO_LONG, BUSY, STOPPED, FAILED = range(9)
TEXT, TOKEN, LOGITS, END = range(1, 5)
JSON, TOKENS = 0, 1
ADD_SPECIAL, PARSE_SPECIAL = 1, 2
_FIRST_ID, _LAST_ID = -2 ** 31, 2 ** 31 - 1

_CLASSES: Dict[int, Type[Error]] = {
    INVALID: InvalidRequestError,
    CLOSED: ClosedError,
    FORKED: ForkedError,
    NO_MEMORY: OutOfMemoryError,
    TOO_LONG: ContextLengthError,
    BUSY: BusyError,
    STOPPED: StoppedError,
}


class LastError(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("status", c_int32), ("http", c_int32), ("message", c_char_p),
                ("field", c_char_p), ("code", c_char_p)]


class Text(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("size", c_size_t)]


class LoadOptions(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("model", c_char_p), ("options", POINTER(c_char_p)), ("num_options", c_size_t),
                ("shows_progress", c_int32), ("is_driven", c_int32), ("shares", c_uint64), ("stop", c_uint64)]


_COUNTS = ("steps", "prompt_tokens", "cached_tokens", "generated_tokens", "finished", "preemptions", "drafted_tokens",
           "accepted_draft_tokens", "kv_bytes", "kv_budget_bytes")
_PRESENT_COUNTS = ("running", "waiting")
_LATER_COUNTS = ("pinned_bytes",)


class Counts(ctypes.Structure):
    _fields_ = ([("size", c_size_t)] + [(name, c_uint64) for name in _COUNTS] +
                [(name, c_int32) for name in _PRESENT_COUNTS] + [(name, c_uint64) for name in _LATER_COUNTS])


class CRequest(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("api", c_char_p), ("body", c_char_p), ("body_size", c_size_t),
                ("tokens", POINTER(c_int32)), ("num_tokens", c_size_t), ("form", c_uint32),
                ("wants_logits", c_int32), ("tag", c_uint64), ("pins", c_int32)]


class CEvent(ctypes.Structure):
    _fields_ = [("request", c_uint64), ("tag", c_uint64), ("kind", c_uint32), ("status", c_int32),
                ("prompt", c_uint32), ("choice", c_uint32), ("token", c_int32), ("logprob", c_float),
                ("finish", c_char_p), ("text", c_void_p), ("text_size", c_size_t), ("rows", c_void_p),
                ("num_rows", c_size_t), ("width", c_size_t), ("first_row", c_size_t), ("error", c_char_p)]


class CEvents(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("event_size", c_size_t), ("count", c_size_t), ("events", c_void_p)]


# name: what it returns, and its arguments
_PROTOTYPES: Dict[str, Tuple[Any, List[Any]]] = {
    "octavo_last_error": (None, [POINTER(LastError)]),
    "octavo_version": (c_char_p, []),
    "octavo_interface": (c_int, []),
    "octavo_text_free": (None, [POINTER(Text)]),
    "octavo_close": (c_int, [c_uint64]),
    "octavo_stop_open": (c_int, [POINTER(c_uint64)]),
    "octavo_stop_calls": (c_int, [c_uint64]),
    "octavo_load": (c_int, [POINTER(LoadOptions), POINTER(c_uint64)]),
    "octavo_info": (c_int, [c_uint64, POINTER(Text)]),
    "octavo_stats": (c_int, [c_uint64, POINTER(Counts)]),
    "octavo_release_memory": (c_int, [c_uint64, c_int32]),
    "octavo_tokenize": (c_int, [c_uint64, c_char_p, c_size_t, c_uint32, POINTER(c_int32), c_size_t,
                                POINTER(c_size_t)]),
    "octavo_detokenize": (c_int, [c_uint64, POINTER(c_int32), c_size_t, POINTER(Text)]),
    "octavo_answer": (c_int, [c_uint64, c_char_p, c_char_p, c_size_t, POINTER(Text)]),
    "octavo_submit": (c_int, [c_uint64, c_uint64, POINTER(CRequest), POINTER(c_uint64)]),
    "octavo_cancel": (c_int, [c_uint64, c_uint64]),
    "octavo_queue_open": (c_int, [c_void_p, POINTER(c_uint64)]),
    "octavo_queue_descriptor": (c_int, [c_uint64, POINTER(c_int32)]),
    "octavo_poll": (c_int, [c_uint64, c_int32, POINTER(POINTER(CEvents))]),
    "octavo_events_free": (None, [POINTER(CEvents)]),
    "octavo_constraint_open": (c_int, [c_uint64, c_char_p, c_char_p, c_size_t, POINTER(c_uint64)]),
    "octavo_mask": (c_int, [c_uint64, POINTER(c_int32), c_size_t, POINTER(c_uint32), c_size_t]),
    "octavo_serve": (c_int, [c_uint64, POINTER(c_char_p), c_size_t, POINTER(c_uint64), POINTER(Text)]),
    "octavo_main": (c_int, [c_int, POINTER(c_char_p)]),
}


def text_of(value: Optional[bytes]) -> str:
    """The text of bytes from the library, with U+FFFD for what is no UTF-8."""
    return (value or b"").decode("utf-8", "replace")


def error_of(status: int, message: str, field: str = "", code: str = "", http: int = 0) -> Error:
    """The exception for a status of the library."""
    return _CLASSES.get(status, Error)(message, field, code, http)


def c_string(field: str, value: Union[str, bytes]) -> bytes:
    """The bytes of a C string. Raises InvalidRequestError for a NUL, where it would end, and for a lone surrogate."""
    data = utf8(field, value) if isinstance(value, str) else value
    if b"\0" in data:
        raise InvalidRequestError(f"{field}: found a NUL at {data.index(0)}, expected a text without one", field)
    return data


def words(values: Sequence[Union[str, bytes]], field: str = "options") -> Any:
    """An array of C strings, with its own length. Raises InvalidRequestError for what none can hold."""
    strings = [c_string(field, value) for value in values]
    return (c_char_p * len(strings))(*strings)


def _bad_token(field: str, tokens: Any) -> TypeError:
    """The error for the first of some token ids that is none."""
    for i, token in enumerate(tokens):
        if isinstance(token, bool) or not hasattr(token, "__index__") or not _FIRST_ID <= int(token) <= _LAST_ID:
            return TypeError(f"{field}[{i}]: found {token!r:.60} ({type(token).__name__}), expected a token id of 32 "
                             "bits")
    return TypeError(f"{field}: found {type(tokens).__name__}, expected token ids")


def tokens_array(tokens: Any, field: str = "tokens") -> Any:
    """A C array of token ids, int32; its own length is that of what `tokens` gives, whatever `len` of these says.
    Raises TypeError for what is no id of 32 bits, with its place."""
    if hasattr(tokens, "dtype"):
        tokens = tokens.tolist()
    if not isinstance(tokens, (list, tuple, range, array.array)):
        raise TypeError(f"{field}: found {type(tokens).__name__}, expected a list of token ids")
    given = list(iter(tokens))
    try:
        values = array.array("i", given)
    except (TypeError, OverflowError, ValueError):
        raise _bad_token(field, given) from None
    if any(isinstance(token, bool) for token in given):
        raise _bad_token(field, given)
    return (c_int32 * len(values)).from_buffer(values) if len(values) else (c_int32 * 0)()


class Library:
    """The loaded library. Calls by `call` raise the exception of a status that is not OK."""

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            self.calls = ctypes.CDLL(path)
            for name, (result, arguments) in _PROTOTYPES.items():
                function = getattr(self.calls, name)
                function.restype, function.argtypes = result, arguments
        except (OSError, AttributeError) as error:
            raise ImportError(f"{path}: it is no library of Octavo that can be loaded here: {error}") from None
        found = self.calls.octavo_interface()
        if found < INTERFACE:
            raise ImportError(f"{path}: found interface {found}, expected {INTERFACE} or a later one")

    def call(self, name: str, *arguments: Any) -> None:
        """Calls a function that gives a status. Raises octavo.Error."""
        status = getattr(self.calls, name)(*arguments)
        if status != OK:
            raise self.last_error(status)

    def last_error(self, status: int) -> Error:
        """The exception for what the calling thread's last call has told."""
        told = LastError(size=ctypes.sizeof(LastError))
        self.calls.octavo_last_error(told)
        return error_of(status, text_of(told.message), text_of(told.field), text_of(told.code), told.http)

    def take(self, text: Text) -> bytes:
        """The bytes of a text of the library's, which gets it back."""
        try:
            return ctypes.string_at(text.data, text.size) if text.data else b""
        finally:
            self.calls.octavo_text_free(text)

    def text(self, name: str, *arguments: Any) -> bytes:
        """The bytes that a call gives by its last argument."""
        text = Text()
        self.call(name, *arguments, text)
        return self.take(text)

    def json(self, name: str, *arguments: Any) -> Any:
        """The value of the JSON that a call gives by its last argument."""
        return json.loads(self.text(name, *arguments))

    def counts(self, model: int) -> Dict[str, int]:
        """The counters of a model, by their names in the header."""
        counts = Counts(size=ctypes.sizeof(Counts))
        self.call("octavo_stats", model, counts)
        return {name: getattr(counts, name) for name in _COUNTS + _PRESENT_COUNTS + _LATER_COUNTS}

    def close(self, handle: int) -> None:
        """Closes a handle. One that is closed already, or is the parent process's, is left as it is."""
        self.calls.octavo_close(handle)


class Uncopied:
    """An object that holds something of the library's: a copy would close what the first one goes on with."""

    def __reduce_ex__(self, _protocol: Any) -> Any:
        name = type(self).__name__
        article = "an" if name == "LLM" or name[0] in "AEIOU" else "a"
        raise TypeError(f"{article} {name} cannot be copied or pickled, expected the object itself in this process, "
                        "and one of its own in another")


class Handle(Uncopied):
    """An object of the library's, by its handle. It is closed once, by `close` or at the end of a `with`."""

    _handle = 0

    def close(self) -> None:
        """Closes it; a second call does nothing."""
        handle, self._handle = self._handle, 0
        if handle and _loaded is not None:
            _loaded.close(handle)

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


_Self = TypeVar("_Self", bound=Handle)
_loaded: Optional[Library] = None
_lock = threading.Lock()


def _begin_in_child() -> None:
    """A lock that another thread held at the fork is nobody's here."""
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_begin_in_child)


def library_path() -> str:
    """The library's file: $OCTAVO_LIBRARY, else liboctavo.so beside the package."""
    named = os.environ.get("OCTAVO_LIBRARY")
    return named if named else str(pathlib.Path(__file__).parent / "liboctavo.so")


def library() -> Library:
    """The library, loaded when it is first asked for. Raises ImportError."""
    global _loaded
    with _lock:
        if _loaded is None:
            _loaded = Library(library_path())
        return _loaded
