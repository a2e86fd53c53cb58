"""A server for a model of this process."""
from __future__ import annotations

import ctypes
import threading
from typing import TYPE_CHECKING, Any, Optional, Set

from . import _library as lib
from ._load import option_words

if TYPE_CHECKING:
    from .llm import LLM

_LOOK_S = 0.1
_open: Set["Server"] = set()  # servers run on, and their models with them, where nobody holds the object


class Server(lib.Handle):
    """A server that runs until it is closed, which lets what runs end; `url` is where it listens."""

    def __init__(self, llm: "LLM", options: Any) -> None:
        from .llm import LLM
        if not isinstance(llm, LLM):
            raise TypeError(f"llm: found {llm!r:.60} ({type(llm).__name__}), expected an LLM")
        told = option_words(options)
        handle, url = ctypes.c_uint64(), lib.Text()
        library = lib.library()
        library.call("octavo_serve", llm.handle, lib.words(told), len(told), handle, url)
        self._handle = handle.value
        self.url = lib.text_of(library.take(url)).rstrip("/")
        self._llm: Optional["LLM"] = llm
        _open.add(self)

    def close(self) -> None:
        """Takes no further requests, and waits for those that run, as long as `drain_timeout` says (30 s unless told).

        Ctrl-C leaves it; the server ends behind it then. Closing the model ends what runs at once.
        """
        _open.discard(self)
        closing = threading.Thread(target=super().close, name="octavo-close", daemon=True)
        closing.start()
        while closing.is_alive():
            closing.join(_LOOK_S)  # without a time it would hear no Ctrl-C
        self._llm = None


def serve(llm: "LLM", host: str = "127.0.0.1", port: int = 0, **options: Any) -> Server:
    """Serves a model over HTTP, as `octavo serve` does, while this process goes on with it.

        with octavo.serve(llm, port=8080) as server: print(server.url)

    port: 0 takes a free one. options: those of `octavo serve` (docs/server/operation.md), by their names with
    underscores. Raises InvalidRequestError.
    """
    return Server(llm, dict(options, host=host, port=port))
