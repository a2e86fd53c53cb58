"""A model for outlines, in this process.

    import octavo.outlines
    model = octavo.outlines.from_octavo(octavo.LLM("model.gguf"))
    model("Who is it? Ann is 31.", Person, max_tokens=80)      # the JSON of a pydantic class, Literal, Regex, int, ...

The engine compiles output types itself and holds answers to them while it writes: none of outlines' own backends is
used.
"""
from __future__ import annotations

import json
from typing import Any, AsyncIterator, Dict, Iterator, List, Optional, Union

from outlines import grammars
from outlines.inputs import Chat
from outlines.models import VLLMOffline
from outlines.models.base import ModelTypeAdapter
from outlines.models.vllm import AsyncVLLM
from outlines.types.dsl import CFG, Alternatives, Choice, JsonSchema, String, Term, python_types_to_terms, to_regex

from . import _queue
from ._fields import CHAT, TEXT, check_names
from ._queue import Request
from .llm import LLM
from .sampling import checked_params

Prompt = Union[str, List[Dict[str, Any]]]


def _choice(term: Term) -> Optional[List[str]]:
    """The texts of which an answer is one; None where the term is something else."""
    if isinstance(term, Choice):
        return list(term.items) if all(isinstance(item, str) for item in term.items) else None
    terms = term.terms if isinstance(term, Alternatives) else []
    texts = [one.value for one in terms if isinstance(one, String)]
    return texts if texts and len(texts) == len(terms) else None


class OctavoTypeAdapter(ModelTypeAdapter):
    """Inputs and output types of outlines as fields of the engine's requests.

    has_chat_template: a text is a message of the user's; else it is continued.
    """

    def __init__(self, has_chat_template: bool = True) -> None:
        self.has_chat_template = has_chat_template

    def format_input(self, model_input: Union[Chat, str]) -> Prompt:
        """A text, or a list of messages. Raises TypeError for images and other inputs."""
        if isinstance(model_input, str):
            return [{"role": "user", "content": model_input}] if self.has_chat_template else model_input
        if not isinstance(model_input, Chat):
            raise TypeError(f"model_input: found {type(model_input).__name__}, expected a text or a Chat")
        for message in model_input.messages:
            if not isinstance(message.get("content"), str):
                raise TypeError(f"content: found {type(message.get('content')).__name__}, expected a text: models here "
                                "read no images")
        return [dict(message) for message in model_input.messages]

    def format_output_type(self, output_type: Optional[Any] = None) -> Dict[str, Any]:
        """The field `structured_outputs` for an output type; {} where there is none. A CFG is a grammar in GBNF."""
        if output_type is None:
            return {}
        term = python_types_to_terms(output_type)
        choice = _choice(term)
        form: Dict[str, Any]
        if choice is not None:
            form = {"choice": choice}
        elif isinstance(term, CFG):
            # what outlines has for `dict`, in a notation of its own
            form = {"json_object": True} if term.definition == grammars.json else {"grammar": term.definition}
        elif isinstance(term, JsonSchema) and term.whitespace_pattern is None:
            form = {"json": json.loads(term.schema)}
        else:
            form = {"regex": to_regex(term)}
        return {"structured_outputs": form}

    def request(self, model_input: Any, output_type: Any, kwargs: Dict[str, Any]) -> Request:
        """The request for an input. kwargs: `sampling_params`, and any field of the server's API."""
        fields = dict(kwargs)
        prompt = self.format_input(model_input)
        is_chat = not isinstance(prompt, str)
        params = checked_params(fields.pop("sampling_params", None), 1)[0].fields(is_chat)
        check_names("octavo.outlines", fields, CHAT if is_chat else TEXT)
        body = {**params, **fields, **self.format_output_type(output_type), "messages" if is_chat else "prompt": prompt}
        return Request("/v1/chat/completions" if is_chat else "/v1/completions", body)


def _texts(raw: Dict[str, Any]) -> Union[str, List[str]]:
    texts = [choice["message"]["content"] or "" if "message" in choice else choice["text"] for choice in raw["choices"]]
    return texts[0] if len(texts) == 1 else texts


# outlines takes models of the classes that it lists, and no others: these derive from the ones that are most alike.
class Octavo(VLLMOffline):
    """An octavo.LLM as a model of outlines. Answers are texts, and with n > 1 lists of texts."""

    def __init__(self, llm: LLM, chat: bool = True) -> None:
        self.llm = llm
        self.type_adapter = OctavoTypeAdapter(chat)

    def generate(self, model_input: Any, output_type: Optional[Any] = None, **inference_kwargs: Any) -> Any:
        """The answer to one input."""
        return self.generate_batch([model_input], output_type, **inference_kwargs)[0]

    def generate_batch(self, model_input: List[Any], output_type: Optional[Any] = None,
                       **inference_kwargs: Any) -> List[Any]:
        """The answers to all inputs, which the engine works on at once."""
        requests = [self.type_adapter.request(one, output_type, inference_kwargs) for one in model_input]
        return [_texts(answer.json()) for answer in _queue.run(self.llm.handle, requests)]

    def generate_stream(self, model_input: Any, output_type: Optional[Any] = None,
                        **inference_kwargs: Any) -> Iterator[str]:
        """The pieces of an answer, as they are made. A generator that is dropped cancels it."""
        request = self.type_adapter.request(model_input, output_type, inference_kwargs)
        prompt = request.body.pop("messages" if "messages" in request.body else "prompt")
        for piece in self.llm.stream(prompt, **request.body):
            if piece.text:
                yield piece.text


class AsyncOctavo(AsyncVLLM):
    """The same for asyncio."""

    def __init__(self, llm: LLM, chat: bool = True) -> None:
        self.llm = llm
        self.type_adapter = OctavoTypeAdapter(chat)

    async def generate(self, model_input: Any, output_type: Optional[Any] = None, **inference_kwargs: Any) -> Any:
        """The answer to one input."""
        return (await self.generate_batch([model_input], output_type, **inference_kwargs))[0]

    async def generate_batch(self, model_input: List[Any], output_type: Optional[Any] = None,
                             **inference_kwargs: Any) -> List[Any]:
        """The answers to all inputs, which the engine works on at once."""
        requests = [self.type_adapter.request(one, output_type, inference_kwargs) for one in model_input]
        return [_texts(answer.json()) for answer in await _queue.arun(self.llm.handle, requests)]

    async def generate_stream(self, model_input: Any, output_type: Optional[Any] = None,
                              **inference_kwargs: Any) -> AsyncIterator[str]:
        """The pieces of an answer, as they are made."""
        request = self.type_adapter.request(model_input, output_type, inference_kwargs)
        prompt = request.body.pop("messages" if "messages" in request.body else "prompt")
        async for piece in self.llm.astream(prompt, **request.body):
            if piece.text:
                yield piece.text


def from_octavo(llm: LLM, chat: bool = True, is_async: bool = False) -> Union[Octavo, AsyncOctavo]:
    """The model of outlines for an LLM. chat: a text is a message of the user's, else it is continued."""
    return AsyncOctavo(llm, chat) if is_async else Octavo(llm, chat)
