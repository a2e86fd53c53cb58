"""docs/server/ says what is true: its examples run, and it names every route, option and metric."""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import support
import vector_folders
from server_support import noise, Server

DOCS = pathlib.Path(__file__).parents[2] / "docs"
TEXT = "\n".join(page.read_text(encoding="utf-8") for page in sorted((DOCS / "server").glob("*.md")))
URL = "http://127.0.0.1:8080"


def examples(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


class Docs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("--embedding", model=noise())  # vectors of the model that is there
        cls.addClassCleanup(cls.server.__exit__)

    def run_example(self, command, example):
        done = subprocess.run([*command, example.replace(URL, self.server.url)], capture_output=True, text=True,
                              timeout=support.TIMEOUT_S, check=False)
        self.assertEqual(done.returncode, 0, f"{example}\n{done.stdout}\n{done.stderr}")
        self.assertTrue(done.stdout.strip(), example)
        return done.stdout

    def test_the_python_examples_run(self):
        found = examples("python")
        self.assertGreaterEqual(len(found), 6)
        for example in found:
            self.run_example([sys.executable, "-c"], example)

    def test_the_curl_examples_run(self):
        found = [example for example in examples("sh") if "curl" in example]
        self.assertGreaterEqual(len(found), 3)
        for example in found:
            output = self.run_example(["bash", "-ec"], example)
            self.assertNotIn('"error"', output)

    def test_the_example_of_answers_with_sources_runs(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "facts.txt")
            path.write_text("The tower is 96 metres tall.\n\nBread is made of flour.\n\nThe sea is salty.\n\nCats sleep.",
                            encoding="utf-8")
            done = subprocess.run([sys.executable, DOCS.parent / "examples" / "answers_with_sources.py", self.server.url,
                                   "Bread is made of flour.", path], capture_output=True, text=True,
                                  timeout=support.TIMEOUT_S, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(re.findall(r"^\[(\d)\] .*facts.txt: ", done.stdout, re.MULTILINE), ["1", "2", "3"])
        # The model is not made for vectors: of these texts none but the same one is surely the nearest.
        self.assertRegex(done.stdout, r"(?m)^\[1\] .*'Bread is made of flour.'$")

    def test_the_example_of_answers_with_sources_runs_by_its_command_with_a_model_that_is_not_loaded_yet(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            vector_folders.write_folder("bert", folder / "vectors")
            (folder / "facts.txt").write_text("the sky is blue\n\nthe grass is green", encoding="utf-8")
            with Server("-m", folder / "vectors", "--kv-memory", "64MiB", model=noise()) as server:
                listed = {model["id"]: model for model in json.loads(server.get("/v1/models")[2])["data"]}
                unloaded = listed["vectors"]
                self.assertEqual(unloaded["status"]["value"], "unloaded")
                self.assertEqual(unloaded["capabilities"], ["embedding"])
                done = subprocess.run([sys.executable, DOCS.parent / "examples" / "answers_with_sources.py", server.url,
                                       "the grass is green", folder / "facts.txt"], capture_output=True, text=True,
                                      timeout=support.TIMEOUT_S, check=False)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertRegex(done.stdout, r"(?m)^\[1\] .*'the grass is green'$")
                loaded = json.loads(server.get("/v1/models/vectors")[2])
                self.assertEqual(loaded["status"]["value"], "loaded")
                for what in ("max_model_len", "capabilities"):
                    self.assertEqual(loaded[what], unloaded[what], what)

    def test_every_option_of_the_server_is_described(self):
        own = support.octavo_ok("serve", "--help")
        others = support.octavo_ok("run", "--help")
        options = set(re.findall(r"--[a-z][a-z-]+", own)) - set(re.findall(r"--[a-z][a-z-]+", others))
        self.assertGreater(len(options), 15)
        self.assertEqual(sorted(o for o in options if f"`{o}`" not in TEXT and f"`{o} " not in TEXT), [])

    def test_every_described_option_is_there(self):
        known = support.octavo_ok("serve", "--help")
        for option in set(re.findall(r"`(--[a-z][a-z-]+)", TEXT)) - {"--model"}:  # lm-evaluation-harness's
            self.assertIn(option, known)

    def test_every_described_route_is_there(self):
        routes = re.findall(r"`(GET|POST) (/[^`{]*)`", TEXT)
        self.assertGreaterEqual(len(routes), 30)
        for method, path in routes:
            status, _, _ = self.server.request(method, path, {} if method == "POST" else None)
            self.assertNotIn(status, (404, 405), path)

    def test_every_metric_is_described_and_drawn(self):
        self.server.complete("a b c", max_tokens=3)
        _, _, text = self.server.get("/metrics")
        names = set(re.findall(r"^# TYPE (\S+)", text, re.MULTILINE))
        self.assertGreater(len(names), 20)
        self.assertEqual(sorted(name for name in names if f"`{name}`" not in TEXT), [])
        self.assertEqual(sorted(set(re.findall(r"`(octavo:\w+)`", TEXT)) - names), [])
        dashboard = json.loads((DOCS / "grafana_dashboard.json").read_text(encoding="utf-8"))
        used = set(re.findall(r"octavo:\w+", json.dumps(dashboard)))
        self.assertGreater(len(used), 15)
        suffixed = {name + suffix for name in names for suffix in ("", "_bucket", "_sum", "_count")}
        self.assertEqual(sorted(used - suffixed), [])


if __name__ == "__main__":
    unittest.main()
