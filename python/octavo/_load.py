"""Loading of a model, which Ctrl-C can leave."""
from __future__ import annotations

import ctypes
import os
import threading
from typing import Any, Dict, List, Mapping, Optional

from . import _library as lib
from ._json import json_bytes
from .errors import InvalidRequestError, ModelError

_LEAVE_S = 1.0  # the longest that a stopped load is waited for
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


class _Stop(lib.Handle):
    """A stop of loads: closing it ends those that have it."""

    def __init__(self) -> None:
        handle = ctypes.c_uint64()
        lib.library().call("octavo_stop_open", handle)
        self._handle = self.handle = handle.value


class _Load:
    """A load in a thread of its own, which whoever waits for it may leave: it is stopped then, and a model that is
    there all the same is closed."""

    def __init__(self, model: Optional[bytes], progress: bool, shares: int, options: List[str]) -> None:
        self.library = lib.library()
        self.model, self.progress, self.shares, self.options = model, progress, shares, options
        self.stop = _Stop()
        self.handle = 0
        self.error: Optional[BaseException] = None
        self.is_left = False
        self.lock, self.is_over = threading.Lock(), threading.Event()
        self.thread = threading.Thread(target=self._run, name="octavo-load", daemon=True)

    def _run(self) -> None:
        try:
            self._load()
        except InvalidRequestError as error:
            self.error = ModelError(str(error), error.field, error.code, error.http)
        except Exception as error:  # whoever waits raises it
            self.error = error
        finally:
            self.is_over.set()

    def _load(self) -> None:
        handle = ctypes.c_uint64()
        told = lib.LoadOptions(size=ctypes.sizeof(lib.LoadOptions),
                               model=self.model,
                               options=lib.words(self.options), num_options=len(self.options),
                               shows_progress=int(self.progress), shares=self.shares,
                               stop=self.stop.handle)
        self.library.call("octavo_load", told, handle)
        with self.lock:
            self.handle = handle.value
            if self.is_left and self.handle:
                self.library.close(self.handle)

    def wait(self) -> int:
        """The model's handle. Raises octavo.Error."""
        try:
            self.thread.start()
            while not self.is_over.wait(0.1):  # a join that is interrupted takes the thread for one that has ended
                pass
        except BaseException:
            self._leave()
            raise
        finally:
            self.stop.close()
        if self.error is not None:
            raise self.error
        return self.handle

    def _leave(self) -> None:
        self.stop.close()
        with self.lock:
            self.is_left = True
            if self.handle:
                self.library.close(self.handle)
        self.is_over.wait(_LEAVE_S)


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
    return _Load(path, progress, shares, words).wait()
