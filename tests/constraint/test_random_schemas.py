#!/usr/bin/env python3
"""JSON schemas made at random, against jsonschema: every text that is drawn from a schema's grammar fulfils it, and every
random value that fulfils it is taken, with its members in some order.

    test_random_schemas.py PROGRAM [COUNT]     PROGRAM: recognise_json; COUNT schemas, by default 500
"""
import decimal
import itertools
import json
import pathlib
import random
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))

import jsonschema  # noqa: E402
from schema_truth import Recogniser, as_text  # noqa: E402

NAMES = ["a", "b", "ab", "c\"d", "é"]
PATTERNS = ["^a", "b$", "^[a-c]+$", "c|é", "^.{2}$"]
FORMATS = ["date", "ipv4", "uuid"]


class Maker:
    """Schemas, and values that have a chance to fulfil them."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.pick = self.random.choice

    def number(self):
        return self.pick([0, 1, -1, 2, 3, 7, 10, 12, -25, 100, 0.5, 1.5, -2.25, 99.9])

    def value(self, depth=0):
        kind = self.random.randrange(5 if depth > 2 else 7)
        if kind == 0:
            return self.pick([None, True, False])
        if kind <= 2:
            return self.number()
        if kind <= 4:
            return "".join(self.pick(["a", "b", "c", "é", "\t", "\"", "1"]) for _ in range(self.random.randrange(4)))
        if kind == 5:
            return [self.value(depth + 1) for _ in range(self.random.randrange(4))]
        return {name: self.value(depth + 1) for name in self.random.sample(NAMES, self.random.randrange(4))}

    def some(self, keywords):
        """A few of the keywords, each made by its function."""
        chosen = self.random.sample(sorted(keywords), self.random.randrange(min(3, len(keywords)) + 1))
        return {name: keywords[name]() for name in chosen}

    def count(self, most=4):
        return self.random.randrange(most)

    def of_number(self):
        return {"type": self.pick(["number", "integer"]),
                **self.some({"minimum": self.number, "maximum": self.number, "exclusiveMinimum": self.number,
                             "exclusiveMaximum": self.number, "multipleOf": lambda: self.pick([1, 2, 3, 0.5, 0.25])})}

    def of_string(self):
        return {"type": "string", **self.some({"minLength": self.count, "maxLength": self.count,
                                               "pattern": lambda: self.pick(PATTERNS)})}

    def of_array(self, depth):
        inner = lambda: self.schema(depth + 1)
        keywords = {"items": inner, "minItems": self.count, "maxItems": self.count,
                    "prefixItems": lambda: [inner() for _ in range(self.random.randrange(1, 3))], "contains": inner}
        return {"type": "array", **self.some(keywords)}

    def of_object(self, depth):
        inner = lambda: self.schema(depth + 1)
        names = lambda: self.random.sample(NAMES, self.random.randrange(1, 3))
        keywords = {"properties": lambda: {name: inner() for name in names()}, "required": names,
                    "additionalProperties": lambda: self.pick([False, inner()]),
                    "patternProperties": lambda: {self.pick(PATTERNS): inner()},
                    "propertyNames": lambda: {"pattern": self.pick(PATTERNS)}, "maxProperties": self.count,
                    "dependentRequired": lambda: {self.pick(NAMES): names()},
                    "dependentSchemas": lambda: {self.pick(NAMES): inner()}}
        return {"type": "object", **self.some(keywords)}

    def schema(self, depth=0):
        kind = self.random.randrange(8 if depth > 2 else 14)
        if kind == 0:
            return self.pick([True, {"type": "null"}, {"type": "boolean"}, {"type": ["null", "string"]}])
        if kind == 1:
            return {"enum": [self.value() for _ in range(self.random.randrange(1, 4))]}
        if kind <= 3:
            return self.of_number()
        if kind <= 5:
            return self.of_string()
        if kind == 6:
            return {"type": "string", "format": self.pick(FORMATS)}
        if kind == 7 or kind == 8:
            return self.of_array(depth)
        if kind <= 10:
            return self.of_object(depth)
        inner = lambda: self.schema(depth + 1)
        combined = {self.pick(["allOf", "anyOf", "oneOf"]): [inner() for _ in range(self.random.randrange(1, 4))]}
        if kind == 11:
            return {**self.pick([self.of_number(), self.of_string(), {}, {}]), **combined}
        if kind == 12:
            return {**self.pick([self.of_number(), self.of_string(), self.of_object(2)]), "not": inner()}
        return {"if": inner(), "then": inner(), "else": inner(), **self.of_object(2)}


def objects_in(value):
    """Objects of which the order of members could matter."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
    return (isinstance(value, dict) and len(value) > 1) + sum(objects_in(other) for other in inner)


def orders_of(value):
    """The value with its members in every order, as long as it has one such object; none where it has more."""
    if isinstance(value, list):
        for i, inner in enumerate(value):
            if objects_in(inner):
                return [[*value[:i], other, *value[i + 1:]] for other in orders_of(inner)]
    if isinstance(value, dict):
        for name, inner in value.items():
            if objects_in(inner):
                return [{**value, name: other} for other in orders_of(inner)]
        return [dict(members) for members in itertools.permutations(value.items())]
    return [value]


def exact(value):
    """The value with decimals in place of floats, which jsonschema would round."""
    return json.loads(json.dumps(value), parse_float=decimal.Decimal)


def check(recogniser, seed, counts):
    maker = Maker(seed)
    schema = maker.schema()
    validator = jsonschema.Draft202012Validator(exact(schema), format_checker=jsonschema.FormatChecker(FORMATS))
    values = [maker.value() for _ in range(30)] + [{name: maker.value(2) for name in NAMES} for _ in range(5)]
    fulfilling = [value for value in values if objects_in(value) <= 1 and validator.is_valid(exact(value))]
    forms = [[as_text(other) for other in orders_of(value)] for value in fulfilling]
    answer = recogniser.ask(schema, sum(forms, []), strict=True, draws=6, seed=seed)
    if "error" in answer:
        counts["refused"] += 1
        if "no text can fulfil" in answer["error"]:
            assert not fulfilling, f"seed {seed}: {schema} takes {fulfilling[0]!r}, but was found empty"
        return
    counts["taken"] += 1
    for text in answer["drawn"]:
        if re.search("[eE][+-]?[0-9]{4}", text):
            continue  # a number that Python cannot divide
        counts["drawn"] += 1
        value = json.loads(text, parse_float=decimal.Decimal)
        assert validator.is_valid(value), f"seed {seed}: {json.dumps(schema)} does not take the drawn {text}"
    if answer["warnings"]:
        return  # narrower, in words
    accepted = iter(answer["accepted"])
    for texts in forms:
        counts["values"] += 1
        assert any([next(accepted) for _ in texts]), f"seed {seed}: {json.dumps(schema)} takes {texts[0]}"


def main():
    decimal.getcontext().prec = 5000  # digits of numbers that are drawn
    recogniser = Recogniser(sys.argv[1])
    counts = {"taken": 0, "refused": 0, "drawn": 0, "values": 0}
    for seed in range(int(sys.argv[2]) if len(sys.argv) > 2 else 500):
        check(recogniser, seed, counts)
    print(counts)
    assert counts["taken"] > 3 * counts["refused"] and counts["drawn"] > 0 and counts["values"] > 0, counts


if __name__ == "__main__":
    main()
