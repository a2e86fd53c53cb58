"""Exceptions of the package. Each says what was found and what was expected, in its text."""
from __future__ import annotations


class Error(RuntimeError):
    """The base of all errors of the engine.

    `field`: the field of the request that is wrong, "" where it is none.
    `code`: a name for programs, such as "context_length_exceeded", or "".
    `http`: the status that the server would answer with; 0 where it is no error of a request.
    """

    def __init__(self, message: str, field: str = "", code: str = "", http: int = 0) -> None:
        super().__init__(message)
        self.field = field
        self.code = code
        self.http = http


class InvalidRequestError(Error, ValueError):
    """An argument, a field of a request or an option is wrong."""


class ContextLengthError(InvalidRequestError):
    """A prompt, or a prompt and its answer, is longer than the model's context."""


class ModelError(Error, ValueError):
    """A file is no model, or an option of loading is wrong."""


class ClosedError(Error):
    """The object was closed."""


class ForkedError(Error):
    """The object is that of a process that this one was forked from: threads do not cross a fork."""


class BusyError(Error):
    """The queue of requests is full: later there is room again."""


class StoppedError(Error):
    """The request was cancelled, its deadline is over, or the model was closed."""


class OutOfMemoryError(Error, MemoryError):
    """The system has too little memory."""
