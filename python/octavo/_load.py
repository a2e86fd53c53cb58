"""Loading of a model, which Ctrl-C can leave."""
from __future__ import annotations

import ctypes
import os
from typing import Any, Dict, List, Mapping, Optional

from . import _library as lib
from ._interrupt import Stop, leavable
from ._json import json_bytes
from .errors import InvalidRequestError, ModelError

# Options that are on unless a word of their own turns them off.
_ON_UNLESS_TOLD = {"repack", "prefix_cache", "ui", "slots"}
# Options without a word of their own behind them.
_FLAGS = _ON_UNLESS_TOLD | {"embedding", "offline", "shared_cache", "allow_pull", "log_prompts"}


def option_words(options: Mapping[str, Any]) -> List[str]:
    """The words of a command line for options by their names in Python.

    threads=4: "--threads 4"; embedding=True: "--embedding"; False: the word is left out, or "--no-repack" for what is
    on unless told; None: the default; lists: the option again for each element; dicts: JSON. Raises TypeError for
    others.
    """
    words: List[str] = []
    for name, given in options.items():
        flag = "--" + name.replace("_", "-")
        for value in given if isinstance(given, (list, tuple)) else [given]:
            if name in _FLAGS and not isinstance(value, (bool, type(None))):
                raise TypeError(f"{name}: found {value!r:.60} ({type(value).__name__}), expected True, False or None")
            if value is True and name in _ON_UNLESS_TOLD or value is None:
                continue
            if value is True:
                words.append(flag)
            elif value is False:
                words += ["--no-" + flag[2:]] if name in _ON_UNLESS_TOLD else []
            elif isinstance(value, Mapping):
                words += [flag, json_bytes(value, name).decode("utf-8")]
            elif isinstance(value, (str, int, float, os.PathLike)):
                word = os.fsdecode(value) if isinstance(value, os.PathLike) else str(value)
                lib.c_string(name, word)
                words += [flag, word]
            else:
                raise TypeError(f"{name}: found {type(value).__name__}, expected a text, a number, True, False or None")
    return words


def _load(model: Optional[bytes], progress: bool, shares: int, options: List[str], stop: Stop) -> int:
    handle = ctypes.c_uint64()
    told = lib.LoadOptions(size=ctypes.sizeof(lib.LoadOptions),
                           model=model,
                           options=lib.words(options), num_options=len(options),
                           shows_progress=int(progress), shares=shares,
                           stop=stop.handle)
    try:
        lib.library().call("octavo_load", told, handle)
    except InvalidRequestError as error:
        raise ModelError(str(error), error.field, error.code, error.http) from None
    return handle.value


def load(model: Any, progress: bool, shares: int, options: Dict[str, Any]) -> int:
    """Loads a model; returns its handle. Raises octavo.ModelError, TypeError."""
    if model is not None and not isinstance(model, (str, os.PathLike)):
        raise TypeError(f"model: found {type(model).__name__}, expected a path, a hub's name, or None")
    try:
        path = None if model is None else lib.c_string("model", os.fsencode(model))
        words = option_words(options)
    except InvalidRequestError as error:
        raise ModelError(str(error), error.field) from None
    if path == b"":
        raise ModelError("model: found an empty text, expected a path, a hub's name, or None for the default model",
                         "model")
    return leavable(lambda stop: _load(path, progress, shares, words, stop), lib.library().close, "octavo-load")
