"""Streams that survive the server which began them.

    client = octavo.resuming(openai.OpenAI(base_url=first), openai.OpenAI(base_url=second))
    for chunk in client.chat.completions.create(model="", messages=[...], stream=True): ...

docs/server/resuming.md says what servers and clients agree on. Needs: openai, or anthropic.
"""
from __future__ import annotations

import importlib
import itertools
import time
from typing import Any, Callable, Dict, Iterator, List, Optional, Set, Tuple

_LEAST_PAUSE_S, _MOST_PAUSE_S = 0.05, 2.0


def _extra(told: Any, name: str) -> Any:
    return (told.model_extra or {}).get(name)


class _Chunks:
    """How the events of chats and completions tell what they bring."""

    @staticmethod
    def told(event: Any) -> Any:
        """What has the answer's id, its seed and the fingerprints; None: not this event."""
        return event

    @staticmethod
    def ids(event: Any) -> List[int]:
        return [i for choice in event.choices for i in _extra(choice, "token_ids") or []]

    @staticmethod
    def head(event: Any) -> Optional[str]:
        """The name of an event that comes before all tokens, and is not to come again; None: it is another one."""
        return "role" if any(choice.delta.role for choice in event.choices if hasattr(choice, "delta")) else None

    @staticmethod
    def is_aside(event: Any) -> bool:
        """Whether it says nothing of the answer."""
        return _extra(event, "prompt_progress") is not None

    @staticmethod
    def is_last(event: Any) -> bool:
        return any(choice.finish_reason is not None for choice in event.choices)

    @staticmethod
    def join(event: Any, first: Any) -> None:
        event.id, event.created = first.id, first.created


class _Responses:
    """How the events of /v1/responses tell what they bring."""

    @staticmethod
    def told(event: Any) -> Any:
        return getattr(event, "response", None)

    @staticmethod
    def ids(event: Any) -> List[int]:
        return _extra(event, "token_ids") or []

    @staticmethod
    def head(event: Any) -> Optional[str]:
        return event.type if event.type in ("response.created", "response.in_progress") else None

    @staticmethod
    def is_aside(event: Any) -> bool:
        return False

    @staticmethod
    def is_last(event: Any) -> bool:
        return event.type in ("response.completed", "response.incomplete", "response.failed")

    @staticmethod
    def join(event: Any, first: Any) -> None:
        if hasattr(event, "response"):
            event.response.created_at = first.created_at


class _Messages:
    """How the events of /v1/messages tell what they bring."""

    ids, is_aside = _Responses.ids, _Responses.is_aside

    @staticmethod
    def told(event: Any) -> Any:
        return getattr(event, "message", None)

    @staticmethod
    def head(event: Any) -> Optional[str]:
        return event.type if event.type == "message_start" else None

    @staticmethod
    def is_last(event: Any) -> bool:
        return event.type == "message_stop"

    @staticmethod
    def join(event: Any, first: Any) -> None:
        pass


class _Answer:
    """What the streams of one answer have told so far."""

    def __init__(self, form: Any) -> None:
        self._form = form
        self.token_ids: List[int] = []
        self._heads: Set[str] = set()
        self._first: Any = None  # of form.told()

    def fields(self, asked: Dict[str, Any]) -> Dict[str, Any]:
        """The request, with what makes the answer go on."""
        more = dict(asked.get("extra_body") or {}, return_token_ids=True)
        if self._first is not None:
            told = dict(self._first.model_extra or {})
            told["system_fingerprint"] = getattr(self._first, "system_fingerprint", told.get("system_fingerprint"))
            more["resume_from"] = {"token_ids": self.token_ids, "id": self._first.id, **{
                name: told.get(name) for name in ("seed", "system_fingerprint", "settings_fingerprint")}}
        return dict(asked, extra_body=more)

    def events(self, stream: Any) -> Iterator[Any]:
        """Those that are new. Events whose tokens are not told yet are held back, since the next server tells them
        again, and so is the end until the stream has ended. Raises ConnectionError where it breaks off."""
        held: List[Any] = []
        is_over = False
        for event in stream:
            if self._first is None:
                self._first = self._form.told(event)
            self._form.join(event, self._first)
            head = self._form.head(event)
            if head is not None or self._form.is_aside(event):
                if head is None or head not in self._heads:
                    yield event
                self._heads |= {head} if head else set()
                continue
            held.append(event)
            is_over = is_over or self._form.is_last(event)
            ids = self._form.ids(event)
            if ids and not is_over:
                self.token_ids += ids
                yield from held
                held = []
        if not is_over:
            raise ConnectionError("the stream broke off")
        yield from held


def _passing_errors(client: Any) -> Tuple[type, ...]:
    """Those after which another server may answer, by the package that the client is of."""
    package = importlib.import_module(type(client).__module__.partition(".")[0])
    errors = [ConnectionError, package.APIConnectionError, package.InternalServerError, package.RateLimitError]
    for name in ("httpx", "httpx2"):  # whichever the package uses
        try:
            errors.append(importlib.import_module(name).TransportError)
        except ImportError:
            pass
    return tuple(errors)


class _Streams:
    def __init__(self, clients: List[Any], attempts: int, of: Callable[[Any], Any], form: Any) -> None:
        self._clients, self._attempts, self._of, self._form = clients, attempts, of, form

    def create(self, **fields: Any) -> Iterator[Any]:
        """The events of one stream, whichever servers make them. Takes what the client's create() takes, with
        `stream=True` and one answer. Raises ValueError; what the last client raised when the attempts are used up; at
        once what no other server would answer otherwise."""
        if not fields.get("stream"):
            raise ValueError("stream: expected True: an answer that comes whole is asked for again")
        if fields.get("n") not in (None, 1):
            raise ValueError(f"n: found {fields['n']!r}, expected 1")
        return self._events(fields)

    def _events(self, fields: Dict[str, Any]) -> Iterator[Any]:
        answer, pause = _Answer(self._form), _LEAST_PAUSE_S
        error: Optional[Exception] = None
        for client in itertools.islice(itertools.cycle(self._clients), self._attempts):
            if error is not None:
                time.sleep(pause)
                pause = min(2 * pause, _MOST_PAUSE_S)
            had = len(answer.token_ids)
            passing = _passing_errors(client)
            try:
                yield from answer.events(self._of(client).create(**answer.fields(fields)))
                return
            except passing as broken:
                error = broken
            if len(answer.token_ids) > had:
                pause = _LEAST_PAUSE_S
        assert error is not None
        raise error


class _Chat:
    def __init__(self, completions: _Streams) -> None:
        self.completions = completions


class Resuming:
    """`chat.completions`, `completions` and `responses` of clients of the package openai, or `messages` of anthropic's,
    whose streams go on at the next client when one breaks off."""

    def __init__(self, clients: List[Any], attempts: int) -> None:
        self.chat = _Chat(_Streams(clients, attempts, lambda client: client.chat.completions, _Chunks))
        self.completions = _Streams(clients, attempts, lambda client: client.completions, _Chunks)
        self.responses = _Streams(clients, attempts, lambda client: client.responses, _Responses)
        self.messages = _Streams(clients, attempts, lambda client: client.messages, _Messages)


def resuming(*clients: Any, attempts: int = 20) -> Resuming:
    """Clients of Octavo servers with the same model as one: a stream that breaks off goes on at the next of them, with
    the same words. attempts: requests for one answer, at most. Raises ValueError."""
    if not clients:
        raise ValueError("clients: found none, expected at least one")
    return Resuming(list(clients), attempts)
