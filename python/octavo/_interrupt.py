"""Calls of the library that take long, which Ctrl-C can leave: a thread makes them, and is stopped."""
from __future__ import annotations

import contextlib
import ctypes
import threading
from typing import Callable, Generic, Iterator, Optional, TypeVar

from . import _library as lib

LOOK_S = 0.1  # a wait without a time would hear no Ctrl-C
LEAVE_S = 1.0  # the longest that a stopped call is waited for
DIRECT_BYTES = 16384  # texts of fewer bytes are read at once

_T = TypeVar("_T")


class Stop(lib.Handle):
    """A stop of calls: closing it ends those that have it."""

    def __init__(self) -> None:
        handle = ctypes.c_uint64()
        lib.library().call("octavo_stop_open", handle)
        self._handle = self.handle = handle.value

    @contextlib.contextmanager
    def of_thread(self) -> Iterator[None]:
        """The calls that this thread makes here end with StoppedError once the stop is closed."""
        lib.library().call("octavo_stop_calls", self.handle)
        try:
            yield
        finally:
            lib.library().call("octavo_stop_calls", 0)


class _Left(Generic[_T]):
    """Work in a thread of its own, which whoever waits for it may leave: it is stopped then, and what it makes all the
    same is dropped."""

    def __init__(self, work: Callable[[Stop], _T], drop: Callable[[_T], None], name: str) -> None:
        self.work, self.drop = work, drop
        self.stop = Stop()
        self.result: Optional[_T] = None
        self.error: Optional[BaseException] = None
        self.is_left = False
        self.lock, self.is_over = threading.Lock(), threading.Event()
        self.thread = threading.Thread(target=self._run, name=name, daemon=True)

    def _run(self) -> None:
        try:
            result = self.work(self.stop)
            with self.lock:
                self.result = result
                is_left = self.is_left
            if is_left:
                self.drop(result)
        except Exception as error:  # whoever waits raises it
            self.error = error
        finally:
            self.is_over.set()

    def wait(self) -> _T:
        """The work's result. Raises its error."""
        try:
            self.thread.start()
            while not self.is_over.wait(LOOK_S):  # a join that is interrupted takes the thread for one that has ended
                pass
        except BaseException:
            self._leave()
            raise
        finally:
            self.stop.close()
        if self.error is not None:
            raise self.error
        return self.result  # type: ignore[return-value]

    def _leave(self) -> None:
        self.stop.close()
        with self.lock:
            self.is_left = True
            result = self.result
        if result is not None:
            self.drop(result)
        self.is_over.wait(LEAVE_S)


def _nothing(_result: object) -> None:
    pass


def leavable(work: Callable[[Stop], _T], drop: Callable[[_T], None] = _nothing, name: str = "octavo-call") -> _T:
    """The result of work in a thread of its own, which gets a stop that ends it. Where Ctrl-C leaves it, its result is
    dropped. Raises the work's error."""
    return _Left(work, drop, name).wait()


def call(work: Callable[[], _T], is_long: bool, drop: Callable[[_T], None] = _nothing) -> _T:
    """The result of work, which Ctrl-C ends where it may be long. Threads other than the main one hear no Ctrl-C: they
    do it themselves. Raises the work's error."""
    if not is_long or threading.current_thread() is not threading.main_thread():
        return work()

    def stopped(stop: Stop) -> _T:
        with stop.of_thread():
            return work()
    return leavable(stopped, drop)
