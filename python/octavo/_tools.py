"""Python functions as tools: their schemas, and calls of them with a model's arguments."""
from __future__ import annotations

import collections.abc
import enum
import inspect
import json
import re
import typing
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Union

_SCALARS = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}
_UNIONS = [Union] + ([__import__("types").UnionType] if hasattr(__import__("types"), "UnionType") else [])
_LISTS = (list, tuple, set, collections.abc.Sequence, collections.abc.Iterable)
_DICTS = (dict, Mapping, collections.abc.Mapping)


def schema_of_type(kind: Any) -> Dict[str, Any]:
    """The JSON schema of a type hint; {}, any value, for types that JSON has no form of."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if kind in _SCALARS:
        return {"type": _SCALARS[kind]}
    if hasattr(kind, "model_json_schema"):
        return kind.model_json_schema()
    if origin is typing.Literal:
        return {"enum": list(arguments)}
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return {"enum": [member.value for member in kind]}
    if origin in _UNIONS:
        return {"anyOf": [schema_of_type(one) for one in arguments]}
    if hasattr(kind, "__metadata__"):  # typing.Annotated
        return schema_of_type(kind.__origin__)
    if (origin or kind) in _LISTS:
        return {"type": "array", **({"items": schema_of_type(arguments[0])} if arguments else {})}
    if (origin or kind) in _DICTS:
        has_values = len(arguments) == 2
        return {"type": "object", **({"additionalProperties": schema_of_type(arguments[1])} if has_values else {})}
    return {}


def _descriptions(doc: str) -> Tuple[str, Dict[str, str]]:
    """A docstring's text up to its arguments, and what it says of each: lines such as `city: where`, also with a type
    in brackets, or `:param city: where`."""
    about: Dict[str, str] = {}
    for match in re.finditer(r"^\s*(?::param\s+)?(?:\w+\s+)??(\w+)(?:\s*\([^)]*\))?:[ \t]+(.+)$", doc, re.MULTILINE):
        about[match.group(1)] = match.group(2).strip()
    text = re.split(r"^\s*(?:Args|Arguments|Parameters|Returns|Raises):?\s*$|^\s*:(?:param|return)", doc, maxsplit=1,
                    flags=re.MULTILINE)[0]
    return text.strip(), about


def schema_of_function(function: Callable[..., Any]) -> Dict[str, Any]:
    """The tool that a function is, as OpenAI has it: name, description and parameters, of its signature, its type hints
    and its docstring. Raises TypeError for arguments that have no names."""
    hints = typing.get_type_hints(function)
    text, about = _descriptions(inspect.getdoc(function) or "")
    properties: Dict[str, Any] = {}
    required: List[str] = []
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise TypeError(f"{function.__name__}: found the argument {parameter}, expected arguments with names")
        properties[name] = schema_of_type(hints.get(name, Any))
        if name in about:
            properties[name] = dict(properties[name], description=about[name])
        if parameter.default is parameter.empty:
            required.append(name)
    parameters = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return {"type": "function",
            "function": {"name": function.__name__, "description": text, "parameters": parameters}}


def _converted(kind: Any, value: Any) -> Any:
    if hasattr(kind, "model_validate"):
        return kind.model_validate(value)
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return kind(value)
    return value


class Tools:
    """The tools of a conversation: functions that are called, and OpenAI's objects, which are shown alone."""

    def __init__(self, tools: Optional[Sequence[Any]]) -> None:
        self.functions: Dict[str, Callable[..., Any]] = {}
        self.shown: List[Dict[str, Any]] = []
        for tool in tools or ():
            if isinstance(tool, Mapping):
                self.shown.append(dict(tool))
            elif callable(tool):
                self.shown.append(schema_of_function(tool))
                self.functions[tool.__name__] = tool
            else:
                raise TypeError(f"tools: found {type(tool).__name__}, expected functions and dicts")

    def can_call(self, calls: Sequence[Mapping[str, Any]]) -> bool:
        """Whether there are calls, and all of functions that are here or of no tool at all."""
        shown_alone = {tool.get("function", {}).get("name") for tool in self.shown} - set(self.functions)
        return bool(calls and self.functions) and not any(
            call.get("type") != "function" or call["function"]["name"] in shown_alone for call in calls)

    def call(self, call: Mapping[str, Any]) -> Any:
        """What a function gives for a model's call of it. A call that cannot be made gives a text that says why, for
        the model; an exception of the function itself is the caller's."""
        name = call["function"]["name"]
        function = self.functions.get(name)
        if function is None:
            return f"error: found the tool {name!r}, expected one of {', '.join(self.functions)}"
        hints = typing.get_type_hints(function)
        try:
            arguments = json.loads(call["function"]["arguments"] or "{}")
            arguments = {key: _converted(hints.get(key), value) for key, value in arguments.items()}
            inspect.signature(function).bind(**arguments)
        except (ValueError, TypeError, AttributeError) as error:
            return f"error: {error}"
        return function(**arguments)


def result_message(call: Mapping[str, Any], result: Any) -> Dict[str, Any]:
    """The message that gives a model the result of its call: a text as it is, all else as JSON."""
    if hasattr(result, "model_dump_json"):
        result = result.model_dump_json()
    content = result if isinstance(result, str) else json.dumps(result, ensure_ascii=False, default=str)
    return {"role": "tool", "tool_call_id": call["id"], "name": call["function"]["name"], "content": content}
