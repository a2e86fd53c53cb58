"""/openapi.json: schemathesis sends what the description says may be sent, and more, and looks whether the answers are those
that it says there are; and each field that it has is in the table of wrong values."""
import copy
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import support
from server_support import in_threads, Server
from wrong_values import BODIES, WrongValues

TEMPLATE = support.TEST_DATA / "templates" / "Qwen-Qwen2.5-7B-Instruct.jinja"
# Random bodies of each operation: what they alone find is several fields that do not go together. One costs what twenty
# of the others do, each of which has one field at its bounds or behind them.
NUM_EXAMPLES = 4
# A body of /tokenize has a text or a conversation, and of a text nothing is read that belongs to conversations. Of the
# parts of a history in `input` nothing is refused that is not read, and who counts its tokens wants nothing else to be
# right.
CONFIGURATION = """
[checks]
enabled = false
not_a_server_error.enabled = true
status_code_conformance.enabled = true
content_type_conformance.enabled = true
response_schema_conformance.enabled = true
unsupported_method.enabled = true
allow_header_conformance.enabled = true
negative_data_rejection.enabled = true

[[operations]]
include-path = ["/tokenize", "/v1/responses/input_tokens"]
checks.negative_data_rejection.enabled = false
"""

# What the description leaves open: the elements of lists of tokens.
TOKEN_LISTS = ("tokens", "allowed_token_ids", "stop_token_ids")


class Description(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # Fills gaps, calls tools, makes vectors, ranks, answers to any name, and has room for few words.
        model = support.ranking_model(support.tiny_model("tiny-llama", support.TEST_DATA / "ggml-vocab-deepseek-coder.gguf"))
        cls.server = Server("--served-model-name", "*", "--chat-template", TEMPLATE, "--threads", 1, "--kv-memory", "64MiB",
                            "--max-context", 256, "--max-tokens", 2, "--embedding", model=model)
        cls.addClassCleanup(cls.server.__exit__)
        cls.document = json.loads(cls.server.get("/openapi.json")[2])

    def test_schemathesis_finds_no_answer_outside_of_it(self):
        for schema in self.document["components"]["schemas"].values():
            for name in TOKEN_LISTS:
                if name in schema.get("properties", {}):
                    schema["properties"][name]["items"] = {"type": "integer", "minimum": 0}
        runs = (("examples,fuzzing", self.document), ("coverage", without_repetitions(self.document)))
        for run, (phases, document) in zip(in_threads(self.schemathesis, runs), runs):
            with self.subTest(phases):
                self.assertEqual(run.returncode, 0, run.stdout[-20000:] + run.stderr)
                self.assertRegex(run.stdout, r"Tested: +%d\n" % len(list(operations(document))))
        self.assertIsNone(self.server.process.poll())
        # What is sent comes as far as an answer, and not only to the check of its fields.
        answered = {record["path"] for record in self.server.access_log() if record["status"] == 200}
        of_apis = {path for path, operation in operations(self.document) if operation["tags"] != ["server"]}
        self.assertEqual(of_apis - answered, set())

    def schemathesis(self, run):
        phases, document = run
        with tempfile.TemporaryDirectory() as folder:
            configuration, description = pathlib.Path(folder, "schemathesis.toml"), pathlib.Path(folder, "openapi.json")
            configuration.write_text(CONFIGURATION, encoding="utf-8")
            description.write_text(json.dumps(document), encoding="utf-8")
            command = [sys.executable, "-m", "schemathesis.cli", "--config-file", str(configuration), "run",
                       str(description), "--url", self.server.url, "--phases", phases,
                       "--max-examples", str(NUM_EXAMPLES), "--seed", "1", "--generation-database", "none",
                       "--continue-on-failure", "--warnings", "off", "--suppress-health-check", "all", "--no-color"]
            return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False,
                                  timeout=support.TIMEOUT_S)

    def test_every_field_is_in_the_table_of_wrong_values(self):
        tried = {}
        for row in WrongValues().rows:
            path = BODIES[row.api][1].split(" ")[1].split("?")[0].replace("/slots/0", "/slots/{id}")
            tried.setdefault(path, set()).add(row.path)
        described = {}  # two paths of one API have one body
        for path, operation in operations(self.document):
            if "requestBody" in operation:
                reference = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"]
                described.setdefault(reference.rsplit("/", 1)[1], path)
        missing = [f"{path}: {field}" for name, path in described.items()
                   for field in fields_of(self.document["components"]["schemas"][name])
                   if not any(is_at_or_in(place, field) for place in tried.get(path, ()))]
        self.assertEqual(missing, [])


def operations(document):
    for path, methods in document["paths"].items():
        for operation in methods.values():
            yield path, operation


def without_repetitions(document):
    """The description with each field once: of the paths that have the same body and the same answers one has the body,
    and of the bodies that have the same field in the same words the first has it. What must be there stays, unless it is
    all that would. Each field of each body is tried in test_server_record.py, with the values of the table."""
    document = copy.deepcopy(document)
    fields, bodies = set(), {}  # what was seen; name of a schema -> whether it has a field that was not
    tried = set()
    for _, operation in operations(document):
        if "requestBody" not in operation:
            continue
        name = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"].rsplit("/", 1)[1]
        if name not in bodies:
            bodies[name] = has_own_fields(document["components"]["schemas"][name], fields)
        said = json.dumps([name, operation["responses"]])
        if said in tried or not bodies[name]:
            del operation["requestBody"]
        tried.add(said)
    return document


def has_own_fields(schema, known):
    """Takes away the fields that are known, and adds the others to them."""
    properties = schema.get("properties", {})
    said = {name: json.dumps([name, member]) for name, member in properties.items()}
    for name in [name for name in said if said[name] in known and name not in schema.get("required", ())]:
        del properties[name]
    is_new = bool(set(said.values()) - known)
    known |= set(said.values())
    return is_new


def fields_of(schema, before=""):
    """The paths of the fields that a row describes, the names of each joined by dots; "[0]" stands behind a list."""
    for name, member in schema.get("properties", {}).items():
        if "x-octavo-use" in member:
            yield before + name
        yield from fields_of(member, f"{before}{name}.")
        yield from fields_of(member.get("items", {}), f"{before}{name}[0].")


def is_at_or_in(place, field):
    place = re.sub(r"\[\d+\]", "[0]", place)
    return place == field or place.startswith((field + ".", field + "["))


if __name__ == "__main__":
    unittest.main()
