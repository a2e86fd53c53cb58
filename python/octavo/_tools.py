"""Python functions as tools: their schemas, and calls of them with a model's arguments."""
from __future__ import annotations

import dataclasses
import functools
import inspect
import json
import re
import typing
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence

from ._docstring import read_docstring
from ._types import types_of

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def _unwrapped(function: Callable[..., Any]) -> Any:
    """The function of a partial."""
    inner: Any = function
    while isinstance(inner, functools.partial):
        inner = inner.func
    return inner


def _name_of(function: Callable[..., Any]) -> str:
    """A function's name; a partial has that of its function, and another object that can be called its class's."""
    inner = _unwrapped(function)
    name = getattr(inner, "__name__", None) or type(inner).__name__
    if not _NAME.fullmatch(name):
        raise TypeError(f"tools: found a function named {name!r}, expected a name of 1 to 64 letters, digits, _ and -")
    return str(name)


def _hints_of(function: Callable[..., Any], name: str) -> Dict[str, Any]:
    inner = _unwrapped(function)
    if isinstance(inner, type):
        inner = inner.__init__  # type: ignore[misc]
    elif not inspect.isroutine(inner):
        inner = type(inner).__call__
    try:
        return typing.get_type_hints(inner, include_extras=True)
    except NameError as error:
        raise TypeError(f"{name}: {error}, expected type hints that can be found") from None


class Tool:
    """A function that a model may call: its schema, and calls of it. Raises TypeError for one that has arguments
    without names, or of types that JSON has no form of."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function, self.name = function, _name_of(function)
        try:
            self.signature = inspect.signature(function)
        except ValueError:
            raise TypeError(f"{self.name}: found a function without a signature, expected one of Python's") from None
        hints = _hints_of(function, self.name)
        given: Dict[str, Any] = {}
        for name, parameter in self.signature.parameters.items():
            if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
                raise TypeError(f"{self.name}: found the argument {parameter}, expected arguments with names")
            annotation = Any if parameter.annotation is parameter.empty else parameter.annotation
            given[name] = hints.get(name, Any if isinstance(annotation, str) else annotation)
        self.types = types_of(self.name, given)

    def _doc(self) -> str:
        inner = _unwrapped(self.function)
        if not isinstance(inner, type) and not inspect.isroutine(inner):
            inner = type(inner).__call__ if inspect.getdoc(type(inner).__call__) else type(inner)
        return (inner.__dict__.get("__doc__") if isinstance(inner, type) else inspect.getdoc(inner)) or ""

    def schema(self) -> Dict[str, Any]:
        """The tool as OpenAI has it: name, description and parameters."""
        properties, shared = self.types.schemas()
        text, about = read_docstring(self._doc(), list(properties))
        required: List[str] = []
        for name, parameter in self.signature.parameters.items():
            if name in about:
                properties[name].setdefault("description", about[name])
            if parameter.default is parameter.empty:
                required.append(name)
                continue
            try:
                properties[name].setdefault("default", self.types.dumped(name, parameter.default))
            except (TypeError, ValueError):  # a default that JSON has no form of stands in the signature alone
                pass
        parameters = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
        if shared:
            parameters["$defs"] = shared
        return {"type": "function", "function": {"name": self.name, "description": text, "parameters": parameters}}

    def arguments(self, text: str) -> Dict[str, Any]:
        """The arguments of a call. Raises ValueError, TypeError for those that do not fit."""
        given = json.loads(text or "{}")
        if not isinstance(given, dict):
            raise ValueError(f"arguments: found {text:.80}, expected an object")
        self.signature.bind(**given)
        return {name: self.types.converted(name, value) for name, value in given.items()}


def schema_of_function(function: Callable[..., Any]) -> Dict[str, Any]:
    """The tool that a function is, as OpenAI has it. Raises TypeError."""
    return Tool(function).schema()


class Tools:
    """The tools of a conversation: functions that are called, and OpenAI's objects, which are shown alone."""

    def __init__(self, tools: Optional[Sequence[Any]]) -> None:
        self.functions: Dict[str, Tool] = {}
        self.shown: List[Dict[str, Any]] = []
        if tools is not None and not isinstance(tools, (list, tuple)):
            raise TypeError(f"tools: found {tools!r:.60} ({type(tools).__name__}), expected a list of functions and "
                            "dicts")
        for i, tool in enumerate(tools or ()):
            if isinstance(tool, Mapping):
                self.shown.append(dict(tool))
            elif callable(tool):
                known = Tool(tool)
                self.shown.append(known.schema())
                self.functions[known.name] = known
            else:
                raise TypeError(f"tools[{i}]: found {tool!r:.60} ({type(tool).__name__}), expected functions and dicts")
        names = [_shown_name(tool) for tool in self.shown]
        for name in self.functions:
            if names.count(name) > 1:
                raise ValueError(f"tools: found {names.count(name)} with the name {name!r}, expected a name of its own "
                                 "for each")

    def can_call(self, calls: Sequence[Mapping[str, Any]]) -> bool:
        """Whether there are calls, and all of functions that are here or of no tool at all."""
        shown_alone = {_shown_name(tool) for tool in self.shown} - set(self.functions)
        return bool(calls and self.functions) and not any(
            call.get("type") != "function" or call["function"]["name"] in shown_alone for call in calls)

    def call(self, call: Mapping[str, Any]) -> Any:
        """What a function gives for a model's call of it. A call that cannot be made gives a text that says why, for
        the model; an exception of the function itself is the caller's."""
        name = call["function"]["name"]
        tool = self.functions.get(name)
        if tool is None:
            return f"error: found the tool {name!r}, expected one of {', '.join(self.functions)}"
        try:
            arguments = tool.arguments(call["function"]["arguments"])
        except (ValueError, TypeError) as error:
            return f"error: {error}"
        return tool.function(**arguments)


def _shown_name(tool: Mapping[str, Any]) -> Any:
    function = tool.get("function")
    return function.get("name") if isinstance(function, Mapping) else None


def _jsonable(value: Any) -> Any:
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    if hasattr(value, "dtype") and hasattr(value, "tolist"):
        return value.tolist()
    return list(value) if isinstance(value, (set, frozenset)) else str(value)


def result_message(call: Mapping[str, Any], result: Any) -> Dict[str, Any]:
    """The message that gives a model the result of its call: a text as it is, all else as JSON. Raises TypeError for a
    result that JSON has no form of."""
    name = call["function"]["name"]
    try:
        content = result if isinstance(result, str) else json.dumps(result, ensure_ascii=False, default=_jsonable)
    except (TypeError, ValueError, RecursionError) as error:
        raise TypeError(f"{name}: found a result of {type(result).__name__} ({error}), expected a text or what JSON "
                        "can hold") from error
    return {"role": "tool", "tool_call_id": call["id"], "name": name, "content": content}
