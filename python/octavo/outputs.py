"""What requests give."""
from __future__ import annotations

import dataclasses
import json
from typing import Any, Callable, Collection, Dict, Iterable, Iterator, List, Optional, Union


@dataclasses.dataclass
class Logprob:
    """The natural logarithm of a token's probability at temperature 1, before penalties and cuts."""

    logprob: float
    rank: Optional[int] = None  # 1: the likeliest; None: not told
    decoded_token: Optional[str] = None


Logprobs = Dict[int, Logprob]  # by token ids
Decode = Callable[[int, List[int]], List[str]]  # what each of some tokens adds to the one before


@dataclasses.dataclass
class CompletionOutput:
    """One answer to a prompt.

    token_ids: all that were generated, with those of a stop text and an end token, which `text` does not show.
    logprobs: for each token of the text, where SamplingParams.logprobs asks for them.
    finish_reason: "stop" or "length". stop_reason: the stop text that ended it, or the token of
    stop_token_ids; None for the model's own end.
    """

    index: int
    text: str
    token_ids: List[int]
    cumulative_logprob: Optional[float] = None
    logprobs: Optional[List[Logprobs]] = None
    finish_reason: Optional[str] = None
    stop_reason: Union[str, int, None] = None

    def tell_stop_token(self, stop_token_ids: Collection[int], end_tokens: Collection[int]) -> None:
        """Makes stop_reason the last token where it is one of stop_token_ids, and none of the model's own that end
        answers."""
        last = self.token_ids[-1] if self.token_ids else None
        if self.finish_reason == "stop" and self.stop_reason is None and last in stop_token_ids:
            self.stop_reason = None if last in end_tokens else last


@dataclasses.dataclass
class RequestOutput:
    """The answers to one prompt.

    prompt: its text, None where token ids were given. prompt_logprobs: None for the first token, then one for each.
    usage: {"prompt_tokens", "completion_tokens", ...}; metrics: times in milliseconds, as the server's `timings`.
    """

    request_id: str
    prompt: Optional[str]
    prompt_token_ids: List[int]
    outputs: List[CompletionOutput]
    finished: bool = True
    prompt_logprobs: Optional[List[Optional[Logprobs]]] = None
    usage: Dict[str, Any] = dataclasses.field(default_factory=dict)
    metrics: Dict[str, Any] = dataclasses.field(default_factory=dict)
    warnings: List[str] = dataclasses.field(default_factory=list)

    @property
    def text(self) -> str:
        """The text of the first answer."""
        return self.outputs[0].text

    @property
    def cached_tokens(self) -> int:
        """Tokens of the prompt that were found computed."""
        return int((self.usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0)


@dataclasses.dataclass
class ChatOutput:
    """An answer to a conversation: OpenAI's object in `raw`, and its parts.

    messages: the conversation, with the calls of tools and their results that came before this answer.
    """

    raw: Dict[str, Any]
    messages: List[Dict[str, Any]] = dataclasses.field(default_factory=list)
    parser: Optional[Callable[[str], Any]] = dataclasses.field(default=None, repr=False)

    @property
    def message(self) -> Dict[str, Any]:
        """The message of the first choice."""
        return self.raw["choices"][0]["message"]

    @property
    def text(self) -> str:
        """Its content; "" where it has nothing but calls of tools."""
        return self.message.get("content") or ""

    @property
    def reasoning(self) -> str:
        """What it has thought before, "" where that is nothing."""
        return self.message.get("reasoning_content") or ""

    @property
    def tool_calls(self) -> List[Dict[str, Any]]:
        """Its calls of tools, as OpenAI has them."""
        return self.message.get("tool_calls") or []

    @property
    def finish_reason(self) -> str:
        """"stop", "length" or "tool_calls"."""
        return self.raw["choices"][0]["finish_reason"]

    @property
    def usage(self) -> Dict[str, Any]:
        """Tokens of the prompt and of the answer."""
        return self.raw.get("usage") or {}

    @property
    def parsed(self) -> Any:
        """The content as `response_format` says: an object of the pydantic class, or a value of JSON. Raises ValueError
        where the content is not whole, as when max_tokens has cut it."""
        parser = self.parser or json.loads
        try:
            return parser(self.text)
        except ValueError as error:
            if self.finish_reason != "length":
                raise
            raise ValueError(f"the answer was cut at its limit of tokens, expected a whole one: {self.text!r}"
                             ) from error


@dataclasses.dataclass
class StreamPiece:
    """A piece of a streamed answer.

    tool_calls: pieces of calls, as OpenAI's deltas. finish_reason: in the last piece of a choice, else None.
    usage: in the last piece of all, else None.
    """

    text: str
    reasoning: str = ""
    tool_calls: List[Dict[str, Any]] = dataclasses.field(default_factory=list)
    finish_reason: Optional[str] = None
    index: int = 0
    usage: Optional[Dict[str, Any]] = None
    raw: Dict[str, Any] = dataclasses.field(default_factory=dict, repr=False)


@dataclasses.dataclass
class ScoreOutput:
    """A document's score for a query; `index` is its place in the documents that were given."""

    index: int
    score: float
    document: str


def server_events(pieces: Iterable[bytes]) -> Iterator[Dict[str, Any]]:
    """The objects of server-sent events, up to "[DONE]"."""
    reader = EventReader()
    for piece in pieces:
        yield from reader.read(piece)


class EventReader:
    """Cuts bytes into server-sent events, wherever they were parted. Comments are skipped."""

    def __init__(self) -> None:
        self.rest = b""

    def read(self, piece: bytes) -> List[Dict[str, Any]]:
        """The objects of the events that are whole with this piece."""
        *whole, self.rest = (self.rest + piece).split(b"\n\n")
        lines = [line[5:].strip() for event in whole for line in event.split(b"\n") if line.startswith(b"data:")]
        return [json.loads(line) for line in lines if line != b"[DONE]"]


def piece_of(chunk: Dict[str, Any]) -> Optional[StreamPiece]:
    """The piece that a chunk of a stream is; None where it says nothing."""
    if not chunk.get("choices"):
        usage = chunk.get("usage")
        return StreamPiece("", usage=usage, raw=chunk) if usage else None
    choice = chunk["choices"][0]
    delta = choice.get("delta") or {}
    text = choice.get("text") or delta.get("content") or ""
    piece = StreamPiece(text, delta.get("reasoning_content") or "", delta.get("tool_calls") or [],
                        choice.get("finish_reason"), choice.get("index", 0), chunk.get("usage"), chunk)
    says_something = piece.text or piece.reasoning or piece.tool_calls or piece.finish_reason
    return piece if says_something else None


def _logprobs_of(choice: Dict[str, Any], previous: int, num_logprobs: int, decode: Decode) -> Optional[List[Logprobs]]:
    told = choice.get("logprobs")
    if not told:
        return None
    read: List[Logprobs] = []
    for name, logprob, others in zip(told["tokens"], told["token_logprobs"], told["top_logprobs"]):
        drawn = _id_of(name)
        values = {_id_of(one): value for one, value in (others or {}).items()}
        values.setdefault(drawn, logprob)
        texts = decode(previous, list(values))
        # The likeliest come first; a drawn token that is none of them stands behind.
        row = {token: Logprob(value, rank if rank <= num_logprobs or token != drawn else None, text)
               for rank, ((token, value), text) in enumerate(zip(values.items(), texts), 1)}
        read.append(row)
        previous = drawn
    return read


def _id_of(name: str) -> int:
    """The id in "token_id:123"."""
    return int(name.partition(":")[2])


def _prompt_logprobs_of(told: Any) -> Optional[List[Optional[Logprobs]]]:
    if told is None:
        return None
    return [row and {int(token): Logprob(one["logprob"], one["rank"], one["decoded_token"])
                     for token, one in row.items()} for row in told]


def request_output(raw: Dict[str, Any], prompt: Optional[str], num_logprobs: int, decode: Decode) -> RequestOutput:
    """The object for an answer of /v1/completions with `return_token_ids` and `return_tokens_as_token_ids` to one
    prompt, where so many alternatives were asked for."""
    first = raw["choices"][0]
    outputs = []
    for choice in raw["choices"]:
        logprobs = _logprobs_of(choice, first["prompt_token_ids"][-1], num_logprobs, decode)
        total = sum(choice["logprobs"]["token_logprobs"]) if logprobs is not None else None
        outputs.append(CompletionOutput(choice["index"], choice["text"], choice["token_ids"], total, logprobs,
                                        choice["finish_reason"], choice.get("stop_reason")))
    return RequestOutput(raw["id"], prompt, first["prompt_token_ids"], outputs, True,
                         _prompt_logprobs_of(first.get("prompt_logprobs")), raw.get("usage") or {},
                         raw.get("timings") or {}, raw.get("warnings") or [])
