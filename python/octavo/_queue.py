"""Requests and their events: a queue of the library for each call, and one for each event loop of asyncio.

Threads that call at once have a queue each, so none gets the events of another. A call that is left, by an exception,
an interrupt or a generator that is dropped, closes its queue, which cancels what it asked for.
"""
from __future__ import annotations

import asyncio
import ctypes
import dataclasses
import itertools
import json
import os
import threading
import time
from typing import Any, AsyncGenerator, Callable, Dict, Generator, List, Optional, Sequence

from . import _library as lib
from ._interrupt import DIRECT_BYTES, Stop, call
from ._json import json_bytes
from .errors import BusyError, Error

POLL_MS = 100  # between looks for Ctrl-C
RETRY_S = 0.02  # before a request is given again to a model whose queue is full


@dataclasses.dataclass
class Request:
    """A request as the library takes it."""

    api: str
    body: Dict[str, Any]
    tokens: Optional[Sequence[int]] = None
    wants_logits: bool = False
    pins: bool = False
    name: str = "prompt"  # of the prompt among several, for errors

    def told(self, error: Error) -> Error:
        """An error about the prompt, by its name."""
        message = str(error)
        if self.name == "prompt" or not error.field.startswith("prompt"):
            return error
        message = self.name + (message[len("prompt"):] if message.startswith("prompt") else f": {message}")
        return type(error)(message, self.name + error.field[len("prompt"):], error.code, error.http)

    def check_is_whole(self) -> None:
        """Raises TypeError where the answer would come in pieces."""
        if self.body.get("stream"):
            raise TypeError(f"stream: found {self.body['stream']!r}, expected `stream` or `astream` of the LLM for an "
                            "answer in pieces")


class Batch:
    """A batch of events of the library's, which is freed with this object."""

    def __init__(self, pointer: Any) -> None:
        self.pointer = pointer

    def __del__(self) -> None:
        pointer, self.pointer = self.pointer, None
        if pointer and lib is not None and lib._loaded is not None:
            lib._loaded.calls.octavo_events_free(pointer)


@dataclasses.dataclass
class Rows:
    """Rows of logits, float32 [num_rows, width], in the memory of a batch."""

    batch: Batch
    address: int
    num_rows: int
    width: int
    first_row: int

    def array(self) -> Any:
        """numpy float32 [num_rows, width]: a view, which keeps the batch alive."""
        import numpy as np
        memory: Any = (ctypes.c_float * (self.num_rows * self.width)).from_address(self.address)
        memory.batch = self.batch
        return np.frombuffer(memory, np.float32).reshape(self.num_rows, self.width)


@dataclasses.dataclass
class Event:
    """An event of the library, copied but for rows of logits."""

    tag: int
    kind: int
    text: bytes = b""
    rows: Optional[Rows] = None
    error: Optional[Error] = None  # of an end that is none of the answer


def _end_error(event: lib.CEvent, text: bytes) -> Optional[Error]:
    if event.status == lib.OK:
        return None
    try:
        told = json.loads(event.error or b"{}").get("error") or {}
    except (ValueError, AttributeError):
        told = {}
    if not isinstance(told, dict):
        told = {"message": str(told)}
    message = lib.text_of(text) or str(told.get("message") or "the request has failed")
    return lib.error_of(event.status, message, told.get("param") or "", told.get("code") or "")


def _read(batch: Batch) -> List[Event]:
    events = batch.pointer.contents
    read = []
    for i in range(events.count):
        event = lib.CEvent.from_address(events.events + i * events.event_size)
        text = ctypes.string_at(event.text, event.text_size) if event.text_size else b""
        rows = None
        if event.kind == lib.LOGITS:
            rows = Rows(batch, event.rows, event.num_rows, event.width, event.first_row)
        error = _end_error(event, text) if event.kind == lib.END else None
        read.append(Event(event.tag, event.kind, text, rows, error))
    return read


class Queue(lib.Handle):
    """A queue of the library's. Closing it cancels what was submitted with it."""

    def __init__(self) -> None:
        self.library = lib.library()
        handle = ctypes.c_uint64()
        self.library.call("octavo_queue_open", None, handle)
        self._handle = handle.value

    def descriptor(self) -> int:
        """The file descriptor that is readable while events wait."""
        descriptor = ctypes.c_int32()
        self.library.call("octavo_queue_descriptor", self._handle, descriptor)
        return descriptor.value

    def submit(self, model: int, request: Request, tag: int) -> int:
        """Hands a request to a model; returns its id. Raises octavo.Error."""
        body = json_bytes(request.body)
        told = lib.CRequest(size=ctypes.sizeof(lib.CRequest), api=lib.c_string("api", request.api), body=body,
                            body_size=len(body), form=lib.TOKENS if request.wants_logits or request.pins else lib.JSON,
                            wants_logits=int(request.wants_logits), tag=tag, pins=int(request.pins))
        if request.tokens is not None:
            tokens = lib.tokens_array(request.tokens)
            told.tokens = ctypes.cast(tokens, ctypes.POINTER(ctypes.c_int32))
            told.num_tokens = len(tokens)

        def submit() -> int:
            number = ctypes.c_uint64()
            self.library.call("octavo_submit", model, self._handle, told, number)
            return number.value
        try:
            return call(submit, is_long=len(body) >= DIRECT_BYTES or _is_held(request),
                        drop=lambda submitted: cancel(model, submitted))
        except Error as error:
            raise request.told(error) from None

    def poll(self, timeout_ms: int) -> List[Event]:
        """The events that wait; with none it waits so many milliseconds. Raises octavo.ClosedError."""
        pointer = ctypes.POINTER(lib.CEvents)()
        self.library.call("octavo_poll", self._handle, timeout_ms, pointer)
        return _read(Batch(pointer)) if pointer else []


class Answer:
    """The events of a request, gathered."""

    def __init__(self) -> None:
        self.number = 0  # of the request
        self.pieces: List[bytes] = []
        self.rows: List[Rows] = []

    def add(self, event: Event) -> bool:
        """Takes an event; whether it was the last. Raises the request's error."""
        if event.kind == lib.TEXT:
            self.pieces.append(event.text)
        elif event.rows is not None:
            self.rows.append(event.rows)
        elif event.error is not None:
            raise event.error
        return event.kind == lib.END

    def json(self) -> Any:
        """The value of the answer."""
        return json.loads(b"".join(self.pieces))

    def logits(self) -> Any:
        """numpy float32 [rows, width]; a read-only view of the library's memory where they came at once."""
        import numpy as np
        rows = sorted(self.rows, key=lambda part: part.first_row)
        if not rows:
            return np.zeros((0, 0), np.float32)
        if len(rows) > 1:
            return np.concatenate([part.array() for part in rows])
        array = rows[0].array()
        array.flags.writeable = False
        return array


def run(model: int, requests: Sequence[Request], on_end: Optional[Callable[[], None]] = None) -> List[Answer]:
    """Submits all requests at once and waits for their answers, in the same order. Where the model's queue is full,
    the next ones wait for room. The first error ends all. on_end: called for each that has ended. Raises
    octavo.Error."""
    for request in requests:
        request.check_is_whole()
    answers = [Answer() for _ in requests]
    num_submitted = num_ended = 0
    full_until = 0.0
    with Queue() as queue:
        while num_ended < len(requests):
            try:
                while num_submitted < len(requests) and time.monotonic() >= full_until:
                    answer = answers[num_submitted]
                    answer.number = queue.submit(model, requests[num_submitted], tag=num_submitted)
                    num_submitted += 1
            except BusyError:
                full_until = time.monotonic() + RETRY_S
            is_full = num_submitted < len(requests)
            for event in queue.poll(int(1000 * RETRY_S) if is_full else POLL_MS):
                if answers[event.tag].add(event):
                    num_ended += 1
                    if on_end is not None:
                        on_end()
                    full_until = 0.0  # there may be room
    return answers


def stream(model: int, request: Request) -> Generator[bytes, None, None]:
    """The bytes of a streamed answer, as they come. Raises octavo.Error."""
    with Queue() as queue:
        while True:
            try:
                queue.submit(model, request, tag=0)
                break
            except BusyError:
                time.sleep(RETRY_S)
        while True:
            for event in queue.poll(POLL_MS):
                if event.error is not None:
                    raise event.error
                if event.text and event.kind == lib.TEXT:
                    yield event.text
                if event.kind == lib.END:
                    return


class Sink:
    """Where the events of a request wait for its task."""

    def __init__(self, tag: int) -> None:
        self.tag = tag
        self.events: "asyncio.Queue[Event]" = asyncio.Queue()


class LoopQueue:
    """The queue of an event loop, which is open while the loop has requests. All but `of` runs in the loop's thread."""

    _open: Dict[Any, "LoopQueue"] = {}
    _lock = threading.Lock()

    @classmethod
    def begin_in_child(cls) -> None:
        """The loops of a parent process are nobody's here, nor is a lock that another of its threads held."""
        cls._open, cls._lock = {}, threading.Lock()

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.queue = Queue()
        self.sinks: Dict[int, Sink] = {}
        self.tags = itertools.count(1)
        try:
            self.descriptor = self.queue.descriptor()
            loop.add_reader(self.descriptor, self._read)
        except BaseException:
            self.queue.close()
            raise

    @classmethod
    def of(cls, loop: asyncio.AbstractEventLoop) -> "LoopQueue":
        """The queue of a loop, opened if it has none."""
        with cls._lock:
            for other in [other for other in cls._open if other.is_closed()]:
                cls._open.pop(other).queue.close()
            if loop not in cls._open:
                cls._open[loop] = cls(loop)
            return cls._open[loop]

    def _read(self) -> None:
        try:
            events = self.queue.poll(0)
        except Error as error:
            self.loop.remove_reader(self.descriptor)
            events = [Event(tag, lib.END, error=error) for tag in self.sinks]
        for event in events:
            sink = self.sinks.get(event.tag)
            if sink is not None:
                sink.events.put_nowait(event)

    def add(self) -> "Sink":
        """A place for the events of a request."""
        sink = Sink(next(self.tags))
        self.sinks[sink.tag] = sink
        return sink

    def remove(self, sink: "Sink") -> None:
        """Drops a request's events; with the last request the queue is closed."""
        del self.sinks[sink.tag]
        if self.sinks:
            return
        with self._lock:
            if self._open.get(self.loop) is self:
                del self._open[self.loop]
        if not self.loop.is_closed():
            self.loop.remove_reader(self.descriptor)
        self.queue.close()

    async def submit(self, model: int, request: Request, sink: "Sink") -> int:
        """As Queue.submit; bodies whose reading takes long are read by another thread. Where the model's queue is
        full, it waits for room."""
        while True:
            try:
                if _is_quick(request):
                    return self.queue.submit(model, request, sink.tag)
                return await self._submit_elsewhere(model, request, sink.tag)
            except BusyError:
                await asyncio.sleep(RETRY_S)

    async def _submit_elsewhere(self, model: int, request: Request, tag: int) -> int:
        stop = Stop()

        def submit() -> int:
            with stop.of_thread():
                return self.queue.submit(model, request, tag)
        submitted = self.loop.run_in_executor(None, submit)
        try:
            return await asyncio.shield(submitted)
        except asyncio.CancelledError:
            submitted.add_done_callback(
                lambda done: None if done.cancelled() or done.exception() else cancel(model, done.result()))
            raise
        finally:
            stop.close()


os.register_at_fork(after_in_child=LoopQueue.begin_in_child)


def _is_held(request: Request) -> bool:
    """Whether the answer has a form, which is compiled before the request begins."""
    names = ("structured_outputs", "response_format", "tools", "guided_json", "guided_regex", "guided_grammar",
             "guided_choice", "grammar", "json_schema")
    return any(name in request.body for name in names)


def _is_quick(request: Request) -> bool:
    texts = [request.body.get("prompt"), request.body.get("messages"), request.body.get("input")]
    return not _is_held(request) and sum(len(str(text)) for text in texts) < DIRECT_BYTES


def cancel(model: int, number: int) -> None:
    """Ends a request, or gives back what an ended one has pinned; others are left as they are."""
    if lib is not None and lib._loaded is not None:
        lib._loaded.calls.octavo_cancel(model, number)


async def events(model: int, request: Request) -> AsyncGenerator[Event, None]:
    """The events of a request up to its end, in the running loop. Raises octavo.Error."""
    queue = LoopQueue.of(asyncio.get_running_loop())
    sink = queue.add()
    number = None
    try:
        number = await queue.submit(model, request, sink)
        while True:
            event = await sink.events.get()
            if event.kind == lib.END:
                number = None
            if event.error is not None:
                raise event.error
            yield event
            if event.kind == lib.END:
                return
    finally:
        if number is not None:
            cancel(model, number)
        queue.remove(sink)


async def answer(model: int, request: Request) -> Answer:
    """The answer of a request. Raises octavo.Error."""
    request.check_is_whole()
    gathered = Answer()
    told = events(model, request)
    try:
        async for event in told:
            gathered.add(event)
    finally:
        await told.aclose()
    return gathered


async def arun(model: int, requests: Sequence[Request]) -> List[Answer]:
    """As `run`, in the running loop. The first error cancels the others."""
    tasks = [asyncio.ensure_future(answer(model, request)) for request in requests]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
