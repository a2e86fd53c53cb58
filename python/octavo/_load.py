"""Loading of a model, which Ctrl-C can leave."""
from __future__ import annotations

import ctypes
import json
import os
import threading
from typing import Any, Dict, List, Mapping, Optional

from . import _library as lib
from .errors import Error, InvalidRequestError, ModelError

# Options that are on unless a word of their own turns them off.
_ON_UNLESS_TOLD = {"repack", "prefix_cache", "ui", "slots"}


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
            if value is True and name in _ON_UNLESS_TOLD or value is None:
                continue
            if value is True:
                words.append(flag)
            elif value is False:
                words += ["--no-" + flag[2:]] if name in _ON_UNLESS_TOLD else []
            elif isinstance(value, Mapping):
                words += [flag, json.dumps(value)]
            elif isinstance(value, (str, int, float, os.PathLike)):
                words += [flag, os.fspath(value) if isinstance(value, os.PathLike) else str(value)]
            else:
                raise TypeError(f"{name}: found {type(value).__name__}, expected a text, a number, True, False or None")
    return words


class _Load:
    """A load in a thread of its own; whoever does not wait for it says so, and the model is closed when it is there."""

    def __init__(self, model: Optional[str], progress: bool, shares: int, options: List[str]) -> None:
        self.library = lib.library()
        self.model, self.progress, self.shares, self.options = model, progress, shares, options
        self.handle = 0
        self.error: Optional[BaseException] = None
        self.is_left = False
        self.lock = threading.Lock()
        self.thread = threading.Thread(target=self._run, name="octavo-load", daemon=True)

    def _run(self) -> None:
        handle = ctypes.c_uint64()
        told = lib.LoadOptions(size=ctypes.sizeof(lib.LoadOptions),
                               model=None if self.model is None else self.model.encode("utf-8"),
                               options=lib.words(self.options), num_options=len(self.options),
                               shows_progress=int(self.progress), shares=self.shares)
        try:
            self.library.call("octavo_load", told, handle)
        except InvalidRequestError as error:
            self.error = ModelError(str(error), error.field, error.code, error.http)
        except Error as error:
            self.error = error
        with self.lock:
            self.handle = handle.value
            if self.is_left and self.handle:
                self.library.close(self.handle)

    def wait(self) -> int:
        """The model's handle. Raises octavo.Error."""
        self.thread.start()
        try:
            while self.thread.is_alive():
                self.thread.join(0.1)
        except BaseException:
            with self.lock:
                self.is_left = True
                if self.handle:
                    self.library.close(self.handle)
            raise
        if self.error is not None:
            raise self.error
        return self.handle


def load(model: Any, progress: bool, shares: int, options: Dict[str, Any]) -> int:
    """Loads a model; returns its handle. Raises octavo.ModelError, TypeError."""
    if model is not None and not isinstance(model, (str, os.PathLike)):
        raise TypeError(f"model: found {type(model).__name__}, expected a path, a hub's name, or None")
    path = None if model is None else os.fspath(model)
    return _Load(path, progress, shares, option_words(options)).wait()
