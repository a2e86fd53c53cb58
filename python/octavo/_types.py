"""Type hints of functions as JSON schemas, and a model's arguments as values of these types.

pydantic does both where it is installed. Without it the types are those of JSON, Literal, Enum, Union, lists, tuples,
sets and dicts; another type is an error.
"""
from __future__ import annotations

import collections.abc
import enum
import json
import typing
from typing import Any, Dict, List, Mapping, Tuple, Type, Union

_NAMES = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}
_UNIONS = [Union] + ([__import__("types").UnionType] if hasattr(__import__("types"), "UnionType") else [])
_SETS = {set: set, frozenset: frozenset, collections.abc.Set: set}
_LISTS = (list, collections.abc.Sequence, collections.abc.Iterable, collections.abc.Collection)
_DICTS = (dict, collections.abc.Mapping, collections.abc.MutableMapping)
Schemas = Tuple[Dict[str, Dict[str, Any]], Dict[str, Any]]


def _written(annotation: Any) -> str:
    return annotation.__name__ if isinstance(annotation, type) else str(annotation)


def _description(annotation: Any) -> Dict[str, str]:
    texts = [one for one in getattr(annotation, "__metadata__", ()) if isinstance(one, str)]
    return {"description": texts[0]} if texts else {}


class PlainTypes:
    """The types of a function's arguments, by the standard library alone. Raises TypeError for others."""

    def __init__(self, function: str, hints: Mapping[str, Any]) -> None:
        self.function, self.hints = function, hints

    def schemas(self) -> Schemas:
        """The JSON schema of each argument, and the schemas that they refer to."""
        found = {}
        for name, hint in self.hints.items():
            try:
                found[name] = {**plain_schema(hint), **_description(hint)}
            except TypeError as error:
                raise TypeError(f"{self.function}: found the type {error} of {name}, expected a type that JSON has a "
                                "form of; pydantic, which is not installed, knows more") from None
        return found, {}

    def converted(self, name: str, value: Any) -> Any:
        """The value of an argument that JSON has as `value`. Raises ValueError, which says what does not fit."""
        return plain_value(self.hints[name], value, name)

    def dumped(self, name: str, value: Any) -> Any:
        """The form that JSON has of an argument's value. Raises TypeError, ValueError where it has none."""
        if isinstance(value, enum.Enum):
            value = value.value
        return json.loads(json.dumps(value, allow_nan=False))


def plain_schema(kind: Any) -> Dict[str, Any]:
    """The JSON schema of a type hint. Raises TypeError, with the type alone, for a type that is not known."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if hasattr(kind, "__supertype__"):  # typing.NewType
        return plain_schema(kind.__supertype__)
    if hasattr(kind, "__metadata__"):  # typing.Annotated
        return plain_schema(kind.__origin__)
    if kind in (Any, object):
        return {}
    if kind is None or kind in _NAMES:
        return {"type": _NAMES[kind or type(None)]}
    if origin is typing.Literal:
        return {"enum": [one.value if isinstance(one, enum.Enum) else one for one in arguments]}
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return {"enum": [member.value for member in kind]}
    if origin in _UNIONS:
        return {"anyOf": [plain_schema(one) for one in arguments]}
    if (origin or kind) is tuple and arguments and arguments[-1] is not Ellipsis:
        items = [plain_schema(one) for one in arguments if one != ()]
        return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}
    if (origin or kind) in _LISTS or (origin or kind) in _SETS or (origin or kind) is tuple:
        element = plain_schema(arguments[0]) if arguments else {}
        return {"type": "array", **({"items": element} if element else {})}
    if (origin or kind) in _DICTS:
        if arguments and arguments[0] not in (str, Any):
            raise TypeError(_written(kind))
        values = plain_schema(arguments[1]) if arguments else {}
        return {"type": "object", **({"additionalProperties": values} if values else {})}
    raise TypeError(_written(kind))


def _misfit(place: str, value: Any, kind: Any) -> ValueError:
    return ValueError(f"{place}: found {json.dumps(value, ensure_ascii=False):.80}, expected {_written(kind)}")


def plain_value(kind: Any, value: Any, place: str) -> Any:
    """The value of a type that `plain_schema` knows. Raises ValueError."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if hasattr(kind, "__supertype__"):
        return plain_value(kind.__supertype__, value, place)
    if hasattr(kind, "__metadata__"):
        return plain_value(kind.__origin__, value, place)
    if kind in (Any, object):
        return value
    if kind is None or kind in _NAMES:
        return _scalar(kind or type(None), value, place)
    if origin is typing.Literal or isinstance(kind, type) and issubclass(kind, enum.Enum):
        for one in arguments if origin is typing.Literal else kind:
            told = one.value if isinstance(one, enum.Enum) else one
            if type(told) is type(value) and told == value:
                return one
        raise _misfit(place, value, kind)
    if origin in _UNIONS:
        return _one_of(kind, arguments, value, place)
    if (origin or kind) in _DICTS:
        if not isinstance(value, dict):
            raise _misfit(place, value, kind)
        inner = arguments[1] if arguments else Any
        return {name: plain_value(inner, one, f"{place}.{name}") for name, one in value.items()}
    return _elements(kind, value, place)


def _scalar(kind: Type[Any], value: Any, place: str) -> Any:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if kind is float and is_number:
        return float(value)
    if kind is int and is_number and value == int(value):
        return int(value)
    if kind in (int, float) or not isinstance(value, kind):
        raise _misfit(place, value, kind)
    return value


def _one_of(kind: Any, kinds: Tuple[Any, ...], value: Any, place: str) -> Any:
    for one in sorted(kinds, key=lambda one: one is not type(value)):
        try:
            return plain_value(one, value, place)
        except ValueError:
            continue
    raise _misfit(place, value, kind)


def _elements(kind: Any, value: Any, place: str) -> Any:
    origin, arguments = typing.get_origin(kind) or kind, typing.get_args(kind)
    if not isinstance(value, list):
        raise _misfit(place, value, kind)
    kinds: List[Any] = [arguments[0] if arguments else Any] * len(value)
    if origin is tuple and arguments and arguments[-1] is not Ellipsis:
        kinds = [one for one in arguments if one != ()]
        if len(kinds) != len(value):
            raise _misfit(place, value, kind)
    elements = [plain_value(one, element, f"{place}[{i}]") for i, (one, element) in enumerate(zip(kinds, value))]
    make = _SETS.get(origin, tuple if origin is tuple else list)
    return make(elements)


def _with_members(kind: Any) -> Any:
    """A type hint for pydantic, in which a Literal of an Enum's member also takes the member's value."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Literal:
        import pydantic
        members = [one for one in arguments if isinstance(one, enum.Enum)]
        take = pydantic.BeforeValidator(lambda value: next(
            (one for one in members if type(one.value) is type(value) and one.value == value), value))
        return typing.Annotated[kind, take] if members else kind
    if hasattr(kind, "__metadata__"):
        inner = _with_members(kind.__origin__)
        return kind if inner is kind.__origin__ else typing.Annotated[(inner, *kind.__metadata__)]
    others = tuple(_with_members(one) if typing.get_origin(one) else one for one in arguments)
    if all(one is other for one, other in zip(arguments, others)):
        return kind
    if origin in _UNIONS:
        return Union[others]
    return kind.copy_with(others) if hasattr(kind, "copy_with") else origin[others]


class PydanticTypes:
    """The types of a function's arguments, by pydantic. Raises TypeError for those that it has no schema of."""

    def __init__(self, function: str, hints: Mapping[str, Any]) -> None:
        import pydantic
        self.function, self.hints = function, hints
        self.adapters = {}
        for name, hint in hints.items():
            try:
                self.adapters[name] = pydantic.TypeAdapter(_with_members(hint))
            except pydantic.errors.PydanticUserError as error:
                raise self._unknown(name, error) from None

    def _unknown(self, name: str, error: Any) -> TypeError:
        why = str(error.message).split("\n", maxsplit=1)[0]
        return TypeError(f"{self.function}: found the type {_written(self.hints[name])} of {name}, expected a type "
                         f"that pydantic has a JSON schema of: {why}")

    def schemas(self) -> Schemas:
        """The JSON schema of each argument, and those that they refer to as "#/$defs/NAME"."""
        import pydantic
        for name, adapter in self.adapters.items():
            try:
                adapter.json_schema()
            except pydantic.errors.PydanticUserError as error:
                raise self._unknown(name, error) from None
        inputs: List[Any] = [(name, "validation", adapter) for name, adapter in self.adapters.items()]
        found, shared = pydantic.TypeAdapter.json_schemas(inputs)
        schemas = {name: {**_description(self.hints[name]), **found[name, "validation"]} for name in self.hints}
        return schemas, shared.get("$defs", {})

    def converted(self, name: str, value: Any) -> Any:
        """The value of an argument that JSON has as `value`. Raises ValueError, which says what does not fit."""
        import pydantic
        try:
            return self.adapters[name].validate_json(json.dumps(value))
        except pydantic.ValidationError as error:
            faults = []
            for one in error.errors(include_url=False, include_context=False):
                place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in one["loc"])
                faults.append(f"{name}{place}: {one['msg']}, found {one['input']!r:.80}")
            raise ValueError("; ".join(faults)) from None

    def dumped(self, name: str, value: Any) -> Any:
        """The form that JSON has of an argument's value. Raises TypeError, ValueError where it has none."""
        return json.loads(json.dumps(self.adapters[name].dump_python(value, mode="json", warnings=False),
                                     allow_nan=False))


def types_of(function: str, hints: Mapping[str, Any]) -> Union[PlainTypes, PydanticTypes]:
    """The types of a function's arguments. Raises TypeError."""
    try:
        from pydantic import TypeAdapter  # noqa: F401: pydantic 1 has none
    except ImportError:
        return PlainTypes(function, hints)
    return PydanticTypes(function, hints)
