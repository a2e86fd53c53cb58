"""A conversation's request, and the rounds in which a model calls Python functions."""
from __future__ import annotations

import inspect
import json
from typing import Any, Dict, Generator, List, Mapping, Optional, Sequence, Tuple, Union

from ._fields import CHAT, check_names, checked_fields
from ._pictures import with_pictures
from ._queue import Request
from ._tools import Tools, result_message
from .outputs import ChatOutput
from .sampling import checked_integer, params_of_text

Messages = Union[str, Sequence[Mapping[str, Any]]]
_FORMATS = ("text", "json_object", "json_schema", "structural_tag")


def checked_messages(messages: Messages) -> List[Dict[str, Any]]:
    """A conversation; a text is one of the user's. Raises TypeError; for a picture also ValueError and OSError."""
    if isinstance(messages, str):
        return [{"role": "user", "content": messages}]
    if not isinstance(messages, (list, tuple)):
        raise TypeError(f"messages: found {type(messages).__name__}, expected a text or a list of dicts with a role "
                        "and content")
    for i, message in enumerate(messages):
        if not isinstance(message, Mapping):
            raise TypeError(f"messages[{i}]: found {message!r:.60} ({type(message).__name__}), expected a dict with a "
                            "role and content")
    return [with_pictures(message, f"messages[{i}]") for i, message in enumerate(messages)]


def is_conversations(messages: Any) -> bool:
    """Whether messages are several conversations, each of them a list of messages."""
    return (isinstance(messages, (list, tuple)) and len(messages) > 0
            and all(isinstance(one, (list, tuple)) for one in messages))


def checked_rounds(max_tool_rounds: Any) -> int:
    """The rounds in which functions may be called. Raises TypeError, ValueError."""
    rounds = checked_integer("max_tool_rounds", max_tool_rounds)
    if rounds is None:
        raise TypeError("max_tool_rounds: found None, expected an integer from 0")
    if rounds < 0:
        raise ValueError(f"max_tool_rounds: found {rounds}, expected an integer from 0")
    return rounds


def format_fields(response_format: Any) -> Tuple[Dict[str, Any], Any]:
    """The field of a body for a pydantic class, a JSON schema or OpenAI's object, and what reads an answer."""
    if response_format is None:
        return {}, None
    is_class = isinstance(response_format, type)
    if is_class and hasattr(response_format, "model_json_schema"):
        schema = {"name": response_format.__name__, "schema": response_format.model_json_schema()}
        return ({"response_format": {"type": "json_schema", "json_schema": schema}},
                response_format.model_validate_json)
    if not isinstance(response_format, Mapping):
        found = response_format.__name__ if is_class else f"{response_format!r:.60} ({type(response_format).__name__})"
        raise TypeError(f"response_format: found {found}, expected a pydantic class or a dict")
    if response_format.get("type") in _FORMATS:
        return {"response_format": dict(response_format)}, json.loads
    schema = {"name": "answer", "schema": dict(response_format)}
    return {"response_format": {"type": "json_schema", "json_schema": schema}}, json.loads


def chat_body(function: str, messages: List[Dict[str, Any]], tools: Tools, response_format: Any, sampling_params: Any,
              fields: Mapping[str, Any]) -> Tuple[Dict[str, Any], Any]:
    """The body of a request for a conversation, and what reads its answer. `function` is what errors name."""
    body: Dict[str, Any] = {"messages": messages}
    if tools.shown:
        body["tools"] = tools.shown
    params = params_of_text(sampling_params)
    check_names("SamplingParams.extra of " + function, params.extra, CHAT)
    body.update(params.fields(is_chat=True))
    form, parser = format_fields(response_format)
    body.update(form)
    body.update(checked_fields(function, fields, CHAT))
    return body, parser


Step = Union[Request, Any]  # a request, or something to await


def chat_rounds(messages: Messages, tools: Optional[Sequence[Any]], response_format: Any, sampling_params: Any,
                max_tool_rounds: Any, fields: Mapping[str, Any]) -> Generator[Step, Any, ChatOutput]:
    """Yields requests, and results of functions that are to be awaited; is sent their answers."""
    conversation = checked_messages(messages)
    known = Tools(tools)
    max_tool_rounds = checked_rounds(max_tool_rounds)
    body, parser = chat_body("chat", conversation, known, response_format, sampling_params, fields)
    if known.functions and body.get("n", 1) != 1:
        raise ValueError(f"n: found {body['n']} beside functions as tools, expected 1")
    for num_rounds in range(max_tool_rounds + 1):
        if num_rounds > 0:
            body["tool_choice"] = "auto" if num_rounds < max_tool_rounds else "none"
        raw = yield Request("/v1/chat/completions", dict(body, messages=list(conversation)))
        output = ChatOutput(raw, list(conversation), parser)
        if max_tool_rounds == 0 or not known.can_call(output.tool_calls):
            break
        conversation.append({name: value for name, value in output.message.items() if value is not None})
        for call in output.tool_calls:
            result = known.call(call)
            if inspect.isawaitable(result):
                result = yield result
            conversation.append(result_message(call, result))
    return output
