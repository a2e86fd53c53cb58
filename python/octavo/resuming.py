"""Streams that survive the server which began them.

    client = octavo.resuming(openai.OpenAI(base_url=first), openai.OpenAI(base_url=second))
    for chunk in client.chat.completions.create(model="", messages=[...], stream=True): ...

docs/server/resuming.md says what servers and clients agree on. Needs: openai.
"""
from __future__ import annotations

import itertools
import time
from typing import Any, Callable, Dict, Iterator, List, Optional

_LEAST_PAUSE_S, _MOST_PAUSE_S = 0.05, 2.0


class _Answer:
    """What the streams of one answer have told so far."""

    def __init__(self) -> None:
        self.token_ids: List[int] = []
        self.first: Any = None  # chunk
        self.is_over = False

    def fields(self, asked: Dict[str, Any]) -> Dict[str, Any]:
        """The request, with what makes the answer go on."""
        more = dict(asked.get("extra_body") or {}, return_token_ids=True)
        if self.first is not None:
            told = self.first.model_extra or {}
            more["resume_from"] = {"token_ids": self.token_ids, "seed": told.get("seed"),
                                   "system_fingerprint": self.first.system_fingerprint,
                                   "settings_fingerprint": told.get("settings_fingerprint")}
        return dict(asked, extra_body=more)

    def take(self, chunk: Any) -> bool:
        """Whether the chunk says something new."""
        is_first = self.first is None
        if is_first:
            self.first = chunk
        chunk.id, chunk.created = self.first.id, self.first.created
        for choice in chunk.choices:
            ids = (choice.model_extra or {}).get("token_ids") or []
            self.token_ids += ids
            self.is_over = self.is_over or choice.finish_reason is not None
            if not is_first and not ids and choice.finish_reason is None:
                return False  # who speaks, once more
        return True


class _Completions:
    def __init__(self, clients: List[Any], attempts: int, of: Callable[[Any], Any]) -> None:
        self._clients, self._attempts, self._of = clients, attempts, of

    def create(self, **fields: Any) -> Iterator[Any]:
        """The chunks of one stream, whichever servers make them. Takes what the client's create() takes, with
        `stream=True` and one answer. Raises ValueError; what the last client raised when the attempts are used up; at
        once what no other server would answer otherwise."""
        if not fields.get("stream"):
            raise ValueError("stream: expected True: an answer that comes whole is asked for again")
        if fields.get("n") not in (None, 1):
            raise ValueError(f"n: found {fields['n']!r}, expected 1")
        return self._chunks(fields)

    def _chunks(self, fields: Dict[str, Any]) -> Iterator[Any]:
        import httpx
        import openai
        answer, pause = _Answer(), _LEAST_PAUSE_S
        error: Optional[Exception] = None
        for client in itertools.islice(itertools.cycle(self._clients), self._attempts):
            if error is not None:
                time.sleep(pause)
                pause = min(2 * pause, _MOST_PAUSE_S)
            had = len(answer.token_ids)
            try:
                for chunk in self._of(client).create(**answer.fields(fields)):
                    if answer.take(chunk):
                        yield chunk
                if answer.is_over:
                    return
                error = ConnectionError("the stream broke off")
            except (httpx.TransportError, openai.APIConnectionError, openai.InternalServerError,
                    openai.RateLimitError) as broken:
                error = broken
            if answer.is_over:
                return
            if len(answer.token_ids) > had:
                pause = _LEAST_PAUSE_S
        assert error is not None
        raise error


class _Chat:
    def __init__(self, clients: List[Any], attempts: int) -> None:
        self.completions = _Completions(clients, attempts, lambda client: client.chat.completions)


class Resuming:
    """`chat.completions` and `completions` of clients of the package openai, whose streams go on at the next client
    when one breaks off."""

    def __init__(self, clients: List[Any], attempts: int) -> None:
        self.chat = _Chat(clients, attempts)
        self.completions = _Completions(clients, attempts, lambda client: client.completions)


def resuming(*clients: Any, attempts: int = 20) -> Resuming:
    """Clients of Octavo servers with the same model as one: a stream that breaks off goes on at the next of them, with
    the same words. attempts: requests for one answer, at most. Raises ValueError."""
    if not clients:
        raise ValueError("clients: found none, expected at least one")
    return Resuming(list(clients), attempts)
