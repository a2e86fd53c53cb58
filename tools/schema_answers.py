#!/usr/bin/env python3
"""Lets a model answer under many JSON schemas at once, and validates each answer with `jsonschema`.

    schema_answers.py --url http://127.0.0.1:8080 --program build/release/recognise_json FOLDER
                      [--count 1000] [--clients 32] [--temperature 1.5] [--max-tokens 400] [--seed 1]

FOLDER is maskbench/data of guidance-ai/jsonschemabench, of which --count are drawn. A schema with a warning has a rule
that the answer cannot be held to (docs/structured_output.md): its answers are counted by themselves. An answer that
max_tokens cut must be a beginning of one that the schema takes. Printed are counts, and each answer that is neither.
Exit code 1 if there is one. Needs: jsonschema.
"""
import argparse
import collections
import decimal
import json
import pathlib
import queue
import random
import sys
import threading
import urllib.error
import urllib.request

import jsonschema

import schema_truth

PROMPT = "Write an example of what this JSON schema describes: "
MOST_OF_SCHEMA = 1500  # characters that the prompt has of it


def exact(text):
    """A JSON text with decimal numbers: as floats 33.33 is no multiple of 0.01."""
    return json.loads(text, parse_float=decimal.Decimal)


class Asker:
    """The answers of a server, each with what became of it."""

    def __init__(self, args):
        self.args = args
        self.recognisers = threading.local()

    def ask(self, schema, seed):
        """The server's answer, or the status and the text of its error."""
        text = json.dumps(schema, ensure_ascii=False)
        body = {"messages": [{"role": "user", "content": PROMPT + text[:MOST_OF_SCHEMA]}], "seed": seed,
                "temperature": self.args.temperature, "max_tokens": self.args.max_tokens,
                "response_format": {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}}
        request = urllib.request.Request(f"{self.args.url}/v1/chat/completions", json.dumps(body).encode(),
                                         {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=1200) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)["error"]["message"]

    def begins_one(self, schema, text):
        if not hasattr(self.recognisers, "own"):
            self.recognisers.own = schema_truth.Recogniser(self.args.program)
        answer = self.recognisers.own.ask(schema, [text], False)
        return answer.get("read") == [len(text.encode())]

    def outcome(self, schema, seed):
        """(the kind of outcome, what to print of it)"""
        answer = self.ask(schema, seed)
        if isinstance(answer, tuple):
            status, message = answer
            return ("refused", "") if status == 400 else (f"WRONG: status {status}", message)
        choice = answer["choices"][0]
        text = choice["message"]["content"]
        if choice["finish_reason"] == "length":
            is_right = self.begins_one(schema, text)
            return ("cut, a beginning of a valid one", "") if is_right else ("WRONG: cut", text)
        try:
            instance = exact(text)
        except ValueError as error:
            return "WRONG: no JSON", f"{error}: {text}"
        except decimal.InvalidOperation:
            return "whole, not judged: a number of more digits than decimals have", ""
        kind = "with a warning" if answer.get("warnings") else "whole"
        try:
            exactly = exact(json.dumps(schema))
            jsonschema.validators.validator_for(exactly, jsonschema.Draft202012Validator)(exactly).validate(instance)
        except jsonschema.ValidationError as error:
            return ("with a warning, invalid", "") if answer.get("warnings") else ("WRONG: invalid",
                                                                                   f"{error.message[:300]}: {text}")
        except Exception as error:  # a schema that `jsonschema` cannot work with
            return f"{kind}, not judged: {type(error).__name__}", ""
        return f"{kind}, valid", ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--url", required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--temperature", type=float, default=1.5)
    parser.add_argument("--max-tokens", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    paths = random.Random(args.seed).sample(sorted(pathlib.Path(args.folder).glob("*.json")), args.count)
    asker, waiting, counts = Asker(args), queue.Queue(), collections.Counter()
    for number, path in enumerate(paths):
        waiting.put((number, path))

    def work():
        while True:
            try:
                number, path = waiting.get_nowait()
            except queue.Empty:
                return
            kind, detail = asker.outcome(json.loads(path.read_text(encoding="utf-8"))["schema"], number)
            counts[kind] += 1
            if detail:
                print(f"{path.name}: {kind}: {detail}", flush=True)

    threads = [threading.Thread(target=work) for _ in range(args.clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for kind, count in counts.most_common():
        print(f"{count:6} {kind}")
    return 1 if any(kind.startswith("WRONG") for kind in counts) else 0


if __name__ == "__main__":
    sys.exit(main())
