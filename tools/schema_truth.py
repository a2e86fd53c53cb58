#!/usr/bin/env python3
"""Compares what JSON schemas take with collections of schemas and instances.

    schema_truth.py --program build/release/recognise_json suite FOLDER      tests/draft2020-12 of JSON-Schema-Test-Suite
    schema_truth.py --program build/release/recognise_json maskbench FOLDER  maskbench/data of guidance-ai/jsonschemabench

Neither is part of the repository. Instances are written as one line, with a space behind commas and colons. A valid one
that is refused is tried again with its members in the order in which the schema names them, and with numbers that are
whole written without a fraction: the order and the form of numbers that docs/structured_output.md has.

Printed are: schemas that were taken and refused (with reasons), invalid instances that were accepted (there must be
none), valid ones that were refused. --list prints each of them. Exit code 1 if an invalid instance was accepted.
"""
import argparse
import collections
import json
import pathlib
import queue
import re
import subprocess
import sys
import threading

SECONDS_OF_A_SCHEMA = 60
NO_TEXT = "no text can fulfil"  # the error of a schema that takes nothing


class Recogniser:
    """The program, one question at a time; started anew if it does not answer."""

    def __init__(self, program):
        self.program = program
        self.start()

    def start(self):
        self.process = subprocess.Popen([self.program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        encoding="utf-8")
        self.answers = queue.Queue()
        threading.Thread(target=self.read, args=(self.process, self.answers), daemon=True).start()

    @staticmethod
    def read(process, answers):
        for line in process.stdout:
            answers.put(line)
        answers.put(None)

    def ask(self, schema, texts, strict, draws=0, seed=0):
        asked = {"schema": json.dumps(schema, ensure_ascii=False), "strict": strict, "texts": texts, "draws": draws, "seed": seed}
        self.process.stdin.write(json.dumps(asked, ensure_ascii=True) + "\n")
        self.process.stdin.flush()
        try:
            line = self.answers.get(timeout=SECONDS_OF_A_SCHEMA)
        except queue.Empty:
            line = None
        if line is None:
            self.process.kill()
            self.start()
            return {"error": "#: no answer in time, or the program ended"}
        return json.loads(line)


def as_text(instance):
    return json.dumps(instance, ensure_ascii=False, separators=(", ", ": "))


def orders_of_names(schema, orders):
    """The names of properties of each schema within it, in their order, then those that are required."""
    if isinstance(schema, dict):
        properties, required = schema.get("properties"), schema.get("required")
        names = list(properties) if isinstance(properties, dict) else []
        names += [name for name in (required if isinstance(required, list) else []) if isinstance(name, str)]
        if names:
            orders.append({name: i for i, name in reversed(list(enumerate(names)))})
        for value in schema.values():
            orders_of_names(value, orders)
    elif isinstance(schema, list):
        for value in schema:
            orders_of_names(value, orders)
    return orders


def in_order(instance, orders):
    """Each object in the order of the schema that names the most of its members."""
    if isinstance(instance, dict):
        order = max(orders, key=lambda names: sum(name in names for name in instance), default={})
        members = sorted(instance.items(), key=lambda member: order.get(member[0], len(order)))
        return {key: in_order(value, orders) for key, value in members}
    if isinstance(instance, list):
        return [in_order(value, orders) for value in instance]
    if isinstance(instance, float) and instance.is_integer():
        return int(instance)
    return instance


def suite_cases(folder):
    for path in sorted(pathlib.Path(folder).glob("*.json")):
        for group in json.loads(path.read_text(encoding="utf-8")):
            tests = [(test["data"], test["valid"]) for test in group["tests"]]
            yield f"{path.stem}: {group['description']}", group["schema"], tests


def maskbench_cases(folder):
    for path in sorted(pathlib.Path(folder).glob("*.json")):
        try:
            case = json.loads(path.read_text(encoding="utf-8"))
        except json.JSONDecodeError:
            continue
        yield path.stem, case["schema"], [(test["data"], test["valid"]) for test in case["tests"]]


class Count:
    def __init__(self, is_listed):
        self.is_listed = is_listed
        self.numbers = collections.Counter()
        self.reasons = collections.Counter()
        self.compiled = []  # seconds and name of each

    def add(self, kind, name, detail=""):
        self.numbers[kind] += 1
        if self.is_listed and kind not in ("schemas", "taken", "instances", "right"):
            print(f"{kind}\t{name}\t{detail[:300]}")

    def refused(self, name, error):
        self.add("refused", name, error)
        place, _, rest = error.partition(": ")
        keyword = [part for part in place.split("/") if not part.isdigit()][-1]
        summary = re.sub("[0-9]+|'[^']*'", "N", rest)[:60]
        self.reasons[f"{keyword}: {summary}"] += 1


def judge(recogniser, cases, strict, count):
    for name, schema, tests in cases:
        count.add("schemas", name)
        orders = orders_of_names(schema, [])
        texts = [as_text(data) for data, _ in tests] + [as_text(in_order(data, orders)) for data, _ in tests]
        answer = recogniser.ask(schema, texts, strict)
        if NO_TEXT in answer.get("error", "") and not any(is_valid for _, is_valid in tests):
            answer = {"accepted": [False] * len(texts), "warnings": [], "read": [0] * len(texts)}
        if "error" in answer:
            count.refused(name, answer["error"])
            continue
        count.compiled.append((answer.get("seconds", 0), name))
        wrong = False
        for i, (_, is_valid) in enumerate(tests):
            count.add("instances", name)
            as_it_is, ordered = answer["accepted"][i], answer["accepted"][i + len(tests)]
            if not is_valid and as_it_is:
                wrong = True
                count.add("invalid accepted", name, f"{texts[i]} {answer['warnings']}")
            elif is_valid and not as_it_is and not ordered:
                wrong = True
                best = max((i, i + len(tests)), key=lambda j: answer["read"][j])
                place, text = answer["read"][best], texts[best].encode()
                shown = (text[max(0, place - 80):place] + b" >>> " + text[place:place + 80]).decode(errors="replace")
                count.add("valid refused", name, f"{shown} {answer['warnings']}")
            else:
                count.add("right in order" if is_valid and not as_it_is else "right", name)
        count.add("taken, all right" if not wrong else "taken, some wrong", name)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--loose", action="store_true", help="schemas are not strict")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--only", default="", help="names that contain this")
    parser.add_argument("--every", type=int, default=1, help="each n-th schema")
    parser.add_argument("collection", choices=("suite", "maskbench"))
    parser.add_argument("folder")
    arguments = parser.parse_args()
    cases = suite_cases(arguments.folder) if arguments.collection == "suite" else maskbench_cases(arguments.folder)
    chosen = (case for i, case in enumerate(cases) if i % arguments.every == 0 and arguments.only in case[0])
    count = Count(arguments.list)
    judge(Recogniser(arguments.program), chosen, not arguments.loose, count)
    for kind, number in sorted(count.numbers.items()):
        print(f"{number:7} {kind}")
    slowest = sorted(count.compiled, reverse=True)
    for share, words in ((2, "half"), (100, "all but 1 %")):
        if slowest:
            print(f"{1000 * slowest[len(slowest) // share][0]:7.1f} ms at most to read {words} of the schemas")
    print(f"        the slowest: {', '.join(f'{name} {seconds:.2f} s' for seconds, name in slowest[:4])}")
    for reason, number in count.reasons.most_common(25):
        print(f"{number:7} refused for {reason}")
    return 1 if count.numbers["invalid accepted"] else 0


if __name__ == "__main__":
    sys.exit(main())
