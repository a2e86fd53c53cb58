"""One server of several models: they are loaded when they are asked for, take turns where memory is for one, and give
every client the answer that it gets alone."""
import concurrent.futures
import datetime
import functools
import json
import pathlib
import signal
import tempfile
import time
import unittest

import ollama
import openai

import support
import vector_folders
from server_support import Server

NUM_CLIENTS = 16  # of each model
QUESTIONS = [f"Count to {i} and say why." for i in range(NUM_CLIENTS)]
KV = ("--kv-memory", "64MiB", "--max-context", "1024")


def ask(server, model, question, max_tokens=24):
    body = {"model": model, "messages": [{"role": "user", "content": question}], "temperature": 0,
            "max_tokens": max_tokens}
    answer = server.post("/v1/chat/completions", body)
    return answer["model"], answer["choices"][0]["message"]["content"]


@functools.cache
def other_model():
    """A file that is made once for all classes."""
    path = pathlib.Path(unittest.enterModuleContext(tempfile.TemporaryDirectory())) / "other.gguf"
    support.octavo_ok("quantize", support.float_model(support.SMOLLM2), path, "Q4_0")
    return path


class Folder(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.small, cls.other = cls.folder / "small.gguf", cls.folder / "other.gguf"
        cls.small.symlink_to(support.SMOLLM2)
        cls.other.symlink_to(other_model())
        cls.weights = support.SMOLLM2.stat().st_size

    def status(self, server):
        models = server.get("/v1/models")[2]
        return {m["id"]: m["status"]["value"] for m in json.loads(models)["data"]}


class Turns(Folder):
    def test_clients_of_two_models_get_their_answers_where_one_and_a_half_fit(self):
        alone = {}
        for model in (self.small, self.other):
            with Server(*KV, model=model) as server:
                for question in QUESTIONS:
                    alone[model.stem, question] = ask(server, model.stem, question)[1]
        self.assertNotEqual([alone["small", q] for q in QUESTIONS], [alone["other", q] for q in QUESTIONS])
        limit = int(1.5 * (self.weights + (64 << 20)))
        with Server(*KV, "-m", self.other, "--models-memory", limit, "--model-turn", "1", model=self.small) as server:
            self.assertEqual(self.status(server), {"small": "loaded", "other": "unloaded"})

            def talk(model, number):
                for i in range(3):
                    question = QUESTIONS[(number + i) % NUM_CLIENTS]
                    self.assertEqual(ask(server, model, question), (model, alone[model, question]))

            with concurrent.futures.ThreadPoolExecutor(2 * NUM_CLIENTS) as pool:
                talks = [pool.submit(talk, model, i) for i in range(NUM_CLIENTS) for model in ("small", "other")]
                for one in talks:
                    one.result(support.TIMEOUT_S)
            self.assertEqual(sum(value == "loaded" for value in self.status(server).values()), 1)
            metrics = server.get("/metrics")[2]
            self.assertIn('octavo:model_loads_total{model_name="other"}', metrics)
            self.assertEqual(server.stop(), 0)

    def test_where_both_fit_both_stay(self):
        with Server(*KV, "-m", self.other, "--models-memory", "4GiB", model=self.small) as server:
            for model in ("small", "other", "small"):
                self.assertEqual(ask(server, model, "Hi", 4)[0], model)
            self.assertEqual(self.status(server), {"small": "loaded", "other": "loaded"})

    def test_the_openai_package_finds_and_names_them(self):
        with Server(*KV, "-m", self.other, model=self.small) as server:
            client = openai.OpenAI(base_url=f"{server.url}/v1", api_key="none")
            ids = [model.id for model in client.models.list()]
            self.assertEqual(ids, ["small", "other"])
            for name in (*ids, "other.gguf"):
                answer = client.chat.completions.create(
                    model=name, messages=[{"role": "user", "content": "Hi"}], max_tokens=2)
                self.assertEqual(answer.model, name.removesuffix(".gguf"))
            with self.assertRaises(openai.NotFoundError) as caught:
                client.chat.completions.create(model="third", messages=[{"role": "user", "content": "Hi"}])
            self.assertIn("'small', 'other'", caught.exception.message)


class Configured(Folder):
    def test_a_folder_is_served_and_what_cannot_be_is_said(self):
        models = self.folder / "models"
        models.mkdir(exist_ok=True)
        for file in (self.small, self.other):
            if not (models / file.name).exists():
                (models / file.name).symlink_to(file)
        (models / "broken.gguf").write_bytes(b"GGUF and nothing else")
        with Server(*KV, "--models-dir", models, model=self.small, start_new_session=True) as server:
            self.assertEqual(set(self.status(server)), {"small", "small-2", "other"})
            self.assertIn("octavo: not served: ", server.messages())
            self.assertEqual(ask(server, "other", "Hi", 2)[0], "other")

            moved = models.rename(self.folder / "moved")
            models.symlink_to(models)  # a link to itself cannot be looked at
            server.process.send_signal(signal.SIGHUP)
            server.wait_for_line(r"(--models-dir: found no folder)")
            self.assertEqual(ask(server, "other", "Hi", 2)[0], "other")
            models.unlink()
            moved.rename(models)
            (models / "other.gguf").unlink()
            server.process.send_signal(signal.SIGHUP)
            server.wait_until(lambda: "other" not in self.status(server))

    def test_sections_set_defaults_and_are_read_again_on_sighup_without_touching_streams(self):
        config = self.folder / "config.toml"
        text = (f'[model.chat]\nmodel = "{self.small}"\nalias = ["gpt-4o", "default"]\ntemperature = 0.25\n'
                f'[model.code]\nmodel = "{self.other}"\nctx-size = 512\n')
        config.write_text(text, encoding="utf-8")
        with Server(*KV, "--config", config, model=self.small, start_new_session=True) as server:
            self.assertEqual(self.status(server), {"chat": "loaded", "code": "unloaded"})
            self.assertEqual(ask(server, "gpt-4o", "Hi", 2)[0], "chat")
            ask(server, "code", "Hi", 2)
            data = {m["id"]: m for m in json.loads(server.get("/v1/models")[2])["data"]}
            self.assertEqual((data["chat"]["max_model_len"], data["code"]["max_model_len"]), (1024, 512))
            self.assertEqual(self.temperature(server), 0.25)

            stream = server.stream("Once", model="chat", max_tokens=400, ignore_eos=True)
            next(stream)
            config.write_text(text.replace("0.25", "0.75").replace("[model.code]", "[model.coder]"), encoding="utf-8")
            server.process.send_signal(signal.SIGHUP)
            server.wait_until(lambda: "coder" in self.status(server))
            self.assertEqual(self.temperature(server), 0.75)
            self.assertEqual(server.metrics()["octavo:num_requests_running"], 1)
            self.assertGreaterEqual(len(list(stream)), 300)
            self.assertEqual(server.request("POST", "/v1/completions", {"model": "code", "prompt": "x"})[0], 404)
            self.assertEqual(ask(server, "coder", "Hi", 2)[0], "coder")

            config.write_text("[model.chat]\nwarmth = 3\n", encoding="utf-8")
            server.process.send_signal(signal.SIGHUP)
            server.wait_for_line(r"(model.chat.warmth: there is no such option)")
            self.assertEqual(set(self.status(server)), {"chat", "coder"})

    def temperature(self, server):
        props = json.loads(server.get("/props")[2])
        return props["default_generation_settings"]["params"]["temperature"]

    def test_wrong_sections_end_the_program_with_a_line(self):
        for text, message in (("[model.x]\nport = 3\n", "model.x.port: there is no such option"),
                              ("[model.x]\ntop-k = 3\n", "[model.x]: found no such model among -m and --models-dir"),
                              ("[model.x]\nmodel = 'nowhere.gguf'\n", "nowhere.gguf")):
            config = self.folder / "wrong.toml"
            config.write_text(text, encoding="utf-8")
            result = support.octavo("serve", "--port", "0", "-m", self.small, "--config", config, timeout=60)
            self.assertNotEqual(result.returncode, 0)
            self.assertIn(message, result.stderr)


class Idle(Folder):
    def test_a_model_without_requests_leaves_the_memory_and_comes_back(self):
        with Server(*KV, "--idle-unload", "1", model=self.small) as server:
            with_model = server.resident_bytes()
            server.wait_until(lambda: self.status(server)["small"] == "unloaded")
            server.wait_until(lambda: server.resident_bytes() < with_model - self.weights // 2)
            begin = time.monotonic()
            self.assertEqual(ask(server, "small", "Hi", 2)[0], "small")
            print(f"loaded again and answered in {time.monotonic() - begin:.2f} s")
            self.assertEqual(server.get("/ready")[0], 200)


class AsClientsSay(Folder):
    def expiries(self, client):
        return {model.model: model.expires_at for model in client.ps().models}

    def test_keep_alive_of_ollamas_package_loads_keeps_and_unloads(self):
        with Server(*KV, "-m", self.other, model=self.small) as server:
            client = ollama.Client(host=server.url)
            self.assertEqual(client.generate("other", keep_alive="1h").done_reason, "load")
            self.assertEqual(self.status(server), {"small": "loaded", "other": "loaded"})
            client.generate("small", "Hi", options={"num_predict": 2}, keep_alive=-1)
            expiries = self.expiries(client)
            now = datetime.datetime.now(datetime.timezone.utc)
            self.assertTrue(3000 < (expiries["other"] - now).total_seconds() <= 3600, expiries)
            self.assertEqual(expiries["small"].year, 9999)
            self.assertEqual(client.chat("other", [], keep_alive=0).done_reason, "unload")
            server.wait_until(lambda: self.status(server) == {"small": "loaded", "other": "unloaded"})
            client.generate("other", "Hi", options={"num_predict": 2}, keep_alive="100ms")
            server.wait_until(lambda: self.status(server) == {"small": "loaded", "other": "unloaded"})
            self.assertEqual(ask(server, "other", "Hi", 2)[0], "other")

    def test_routes_of_llama_cpps_router_load_and_unload(self):
        with Server(*KV, "-m", self.other, model=self.small) as server:
            def post(route, name):
                return server.request("POST", f"/models/{route}", {"model": name})

            self.assertEqual(json.loads(post("load", "other")[2]), {"success": True})
            server.wait_until(lambda: self.status(server)["other"] == "loaded")
            stream = server.stream("Once", model="other", max_tokens=200, ignore_eos=True)
            next(stream)
            self.assertEqual(json.loads(post("unload", "other")[2]), {"success": True})
            self.assertGreater(len(list(stream)), 100)
            server.wait_until(lambda: self.status(server)["other"] == "unloaded")
            self.assertEqual(post("unload", "other")[0], 400)
            self.assertEqual(post("load", "third")[0], 404)

    def test_reranking_is_about_those_that_have_a_head(self):
        ranker = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())) / "ranker"
        vector_folders.write_folder("qwen3-classifier", ranker)
        with Server(*KV[:2], "-m", ranker, "--reranking", model=self.small) as server:
            self.assertEqual(self.status(server), {"small": "loaded", "ranker": "unloaded"})
            self.assertEqual(ask(server, "small", "Hello")[0], "small")
            ranks = server.post("/v1/rerank", {"query": "sky", "documents": ["the sky is blue", "a"]})
            self.assertEqual(ranks["model"], "ranker")  # nobody named it
            self.assertEqual(len(ranks["results"]), 2)
        for others in ((), ("-m", self.other)):
            done = support.octavo("serve", "-m", self.small, *others, "--reranking", "--port", 0)
            self.assertNotEqual(done.returncode, 0)
            self.assertRegex(done.stderr, "ranking head")

    def test_a_server_of_one_model_keeps_it(self):
        with Server(*KV, model=self.small) as server:
            client = ollama.Client(host=server.url)
            client.generate("small", "Hi", options={"num_predict": 2}, keep_alive=0)
            self.assertEqual(self.expiries(client)["small"].year, 9999)
            for route, body in (("/models/unload", {"model": "small"}), ("/api/generate", {"model": "small", "keep_alive": 0})):
                code, _, text = server.request("POST", route, body)
                self.assertEqual(code, 400, text)
                self.assertIn("keeps its model", text)
            self.assertEqual(self.status(server), {"small": "loaded"})


if __name__ == "__main__":
    unittest.main()
