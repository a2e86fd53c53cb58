"""Tests of functions as tools: their schemas, and the arguments that a model gives them. Those of types that pydantic
alone knows are skipped without it."""
import dataclasses
import datetime
import enum
import functools
import json
import unittest
from typing import Any, Callable, Dict, FrozenSet, List, Literal, NewType, Optional, Tuple, Union

from octavo._docstring import read_docstring
from octavo._tools import Tools, result_message, schema_of_function
from octavo._types import PlainTypes, types_of

try:
    import pydantic
    from typing_extensions import Annotated, TypedDict
except ImportError:
    pydantic = None

UserId = NewType("UserId", int)


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0


def called(function, **arguments):
    """The message to a model that calls a function with these arguments."""
    tools = Tools([function])
    name = tools.shown[0]["function"]["name"]
    return tools.call({"id": "1", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}})


def properties(function):
    return schema_of_function(function)["function"]["parameters"]["properties"]


class TypesOfJson(unittest.TestCase):
    """Types that are known with pydantic and without it."""

    HINTS = {"a": int, "c": Optional[Color], "l": List[Color], "t": Tuple[int, str], "f": FrozenSet[int],
             "d": Dict[str, float], "r": Literal[Color.RED, 3], "o": Optional[List[Literal[Color.RED]]],
             "u": UserId, "v": Union[int, str], "x": Any}

    def each(self):
        return [PlainTypes("f", self.HINTS), types_of("f", self.HINTS)]

    def test_values_are_converted_at_each_depth(self):
        for types in self.each():
            with self.subTest(type(types).__name__):
                for name, given, expected in (
                        ("a", 3, 3), ("c", "red", Color.RED), ("c", None, None), ("l", ["blue"], [Color.BLUE]),
                        ("t", [1, "a"], (1, "a")), ("f", [1, 1], frozenset([1])), ("d", {"a": 1}, {"a": 1.0}),
                        ("r", "red", Color.RED), ("o", ["red"], [Color.RED]), ("u", 5, 5),
                        ("v", "a", "a"), ("v", 1, 1), ("x", [None], [None])):
                    found = types.converted(name, given)
                    self.assertEqual((found, type(found)), (expected, type(expected)))

    def test_misfits_name_their_place(self):
        for types in self.each():
            with self.subTest(type(types).__name__):
                for name, given in (("a", "notint"), ("a", 1.5), ("c", "green"), ("l", ["red", "green"]), ("t", [1]),
                                    ("t", ["x", "a"]), ("d", {"a": "x"}), ("r", "blue"), ("u", "x"), ("v", [1])):
                    with self.assertRaisesRegex(ValueError, rf"^{name}.*found"):
                        types.converted(name, given)

    def test_schemas(self):
        for types in self.each():
            with self.subTest(type(types).__name__):
                schemas, _ = types.schemas()
                self.assertEqual(schemas["t"], {"type": "array", "prefixItems": [{"type": "integer"},
                                                                                 {"type": "string"}],
                                                "minItems": 2, "maxItems": 2})
                self.assertEqual((schemas["u"], schemas["x"]), ({"type": "integer"}, {}))
                self.assertEqual(schemas["r"]["enum"], ["red", 3])

    def test_plain_types_refuse_others(self):
        for kind in (Point, datetime.date, Dict[int, str]):
            with self.assertRaisesRegex(TypeError, "f: found the type .* of p, expected a type that JSON has a form"):
                PlainTypes("f", {"p": kind}).schemas()


@unittest.skipIf(pydantic is None, "pydantic is not installed")
class TypesOfPydantic(unittest.TestCase):
    def test_nested_classes_are_referred_to(self):
        class Addr(pydantic.BaseModel):
            zip: int

        class Person(pydantic.BaseModel):
            addr: Addr
            friends: "List[Person]" = []
        Person.model_rebuild(_types_namespace={"List": List, "Person": Person})

        def find(person: Person, others: Optional[List[Person]] = None):
            return type(person.addr).__name__, [type(other).__name__ for other in others or []]
        parameters = schema_of_function(find)["function"]["parameters"]
        self.assertEqual(parameters["properties"]["person"], {"$ref": "#/$defs/Person"})
        self.assertEqual(set(parameters["$defs"]), {"Addr", "Person"})
        ann = {"addr": {"zip": 3}}
        self.assertEqual(called(find, person=ann, others=[ann]), ("Addr", ["Person"]))
        self.assertRegex(called(find, person={"addr": {}}), r"^error: person\.addr\.zip: Field required")

    def test_types_that_pydantic_knows(self):
        Place = TypedDict("Place", {"name": str})

        def find(point: Point, place: Place, day: datetime.date,
                 count: Annotated[int, pydantic.Field(ge=0, description="how many")] = 1, color: Color = Color.RED):
            return point, place, day, count
        self.assertEqual(called(find, point={"x": 1}, place={"name": "a"}, day="2026-01-02"),
                         (Point(1), {"name": "a"}, datetime.date(2026, 1, 2), 1))
        found = properties(find)
        self.assertEqual(found["count"], {"type": "integer", "minimum": 0, "description": "how many", "default": 1})
        self.assertEqual((found["day"], found["color"]["default"]), ({"type": "string", "format": "date"}, "red"))
        self.assertIn("error: count: ", called(find, point={"x": 1}, place={"name": "a"}, day="2026-01-02", count=-1))

    def test_types_without_a_schema(self):
        for kind in (Tools, List[Tools], Callable[[int], int]):
            def find(value: kind):
                pass
            with self.subTest(kind), self.assertRaisesRegex(TypeError, "find: found the type .* of value, expected"):
                schema_of_function(find)


class Functions(unittest.TestCase):
    def test_all_that_can_be_called(self):
        class Finder:
            """Finds."""

            def __call__(self, a: int, b: int = 2):
                return a + b

            def method(self, a: int):
                """A method."""
                return a

        def add(a: int, b: int):
            """Adds."""
            return a + b
        for function, name, text, found in ((Finder(), "Finder", "Finds.", 3),
                                            (Finder().method, "method", "A method.", 1),
                                            (functools.partial(add, b=5), "add", "Adds.", 6)):
            with self.subTest(name):
                tool = schema_of_function(function)["function"]
                self.assertEqual((tool["name"], properties(function)["a"]), (name, {"type": "integer"}))
                self.assertEqual(called(function, a=1), found)
                if name != "Finder":
                    self.assertEqual(tool["description"], text)

    def test_tools_that_are_refused(self):
        def find(a):
            pass

        def lost(a: "Nowhere"):  # noqa: F821
            pass
        shown = {"type": "function", "function": {"name": "find"}}
        for tools, error, text in ((find, TypeError, "tools: found <function .*expected a list"),
                                   ([find, find], ValueError, "found 2 with the name 'find'"),
                                   ([find, shown], ValueError, "found 2 with the name 'find'"),
                                   ([lambda a: a], TypeError, "found a function named '<lambda>'"),
                                   ([lost], TypeError, "lost: name 'Nowhere'"),
                                   ([3], TypeError, r"tools\[0\]: found 3"),
                                   ([print], TypeError, "expected arguments with names")):
            with self.subTest(text), self.assertRaisesRegex(error, text):
                Tools(tools)

    def test_arguments_that_are_no_object(self):
        def find(a: int = 1):
            return a
        tools = Tools([find])
        for text, found in (("[1]", "expected an object"), ("null", "expected an object"), ('{"b": 1}', "'b'"),
                            ("{", "error: "), ("", "1")):
            call = {"id": "1", "type": "function", "function": {"name": "find", "arguments": text}}
            self.assertIn(found, str(tools.call(call)))

    def test_results_become_texts(self):
        call = {"id": "1", "function": {"name": "find"}}
        for result, content in ((Point(1), '{"x": 1, "y": 0}'), ({1}, "[1]"), (None, "null"), ("a", "a")):
            self.assertEqual(result_message(call, result)["content"], content)
        circle: List[Any] = []
        circle.append(circle)
        with self.assertRaisesRegex(TypeError, "find: found a result of list"):
            result_message(call, circle)


class Docstrings(unittest.TestCase):
    def test_styles(self):
        about = {"city": "where: e.g. Rome", "count": "how many, over two lines"}
        google = """Finds a city.

        Args:
            city (str): where: e.g. Rome
            count (int, optional): how many,
                over two lines

        Returns:
            city: what it is

        Raises:
            ValueError: never
        """
        numpy = """Finds a city.

        Parameters
        ----------
        city : str
            where: e.g. Rome
        count : int
            how many,
            over two lines

        Returns
        -------
        city
            what it is
        """
        sphinx = """Finds a city.

        :param str city: where: e.g. Rome
        :param count: how many,
            over two lines
        :type count: int
        :return: what it is
        """
        lines = """Finds a city.

        city: where: e.g. Rome
        count: how many,
          over two lines
        """
        for doc in (google, numpy, sphinx, lines):
            self.assertEqual(read_docstring(doc, ["city", "count"]), ("Finds a city.", about))

    def test_lines_about_nothing_stay(self):
        doc = "Finds. Note: in Europe.\nWarning: slow\n\ncity: where"
        self.assertEqual(read_docstring(doc, ["city"]), ("Finds. Note: in Europe.\nWarning: slow", {"city": "where"}))
