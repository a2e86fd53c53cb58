"""The program by the name of llama.cpp's server, started, watched and asked as programs do that start that one."""
import json
import os
import pathlib
import re
import socket
import subprocess
import tempfile
import unittest

import support
from server_support import Server

LLAMA_SERVER = pathlib.Path(support.OCTAVO).parent / "llama-server"


def free_port():
    """As these programs look for one."""
    with socket.create_server(("127.0.0.1", 0)) as place:
        return place.getsockname()[1]


class LlamaServer(Server):
    """llama-server with these arguments; a context manager."""

    def __init__(self, *args, env=None, wait_ready=True):
        self.log, self.access = tempfile.TemporaryFile("w+"), tempfile.TemporaryFile("w+")
        self.host, self.port = "127.0.0.1", free_port()
        command = [LLAMA_SERVER, *map(str, args), "--port", str(self.port)]
        self.process = subprocess.Popen(command, stdout=self.access, stderr=self.log, env={**os.environ, **(env or {})})
        self.wait_for_line(r"(listening at)")
        if wait_ready:
            self.wait_for_line(r"(ready at)")

    def events(self, path, body):
        """The stream's objects, read as ollama reads them: line by line, without comments."""
        status, _, text = self.request("POST", path, {**body, "stream": True})
        if status != 200:
            raise AssertionError(f"{path}: status {status}: {text[:500]}")
        lines = [line.removeprefix("data: ") for line in text.splitlines() if line and not line.startswith(":")]
        return [json.loads(line) for line in lines if line != "[DONE]"]


def tiny():
    return support.tiny_model("tiny-qwen3")


def run(*args, env=None):
    return subprocess.run([LLAMA_SERVER, *map(str, args)], capture_output=True, text=True, timeout=support.TIMEOUT_S,
                          env={**os.environ, **(env or {})}, check=False)


# What ollama sends with a prompt that it has rendered itself (llm/llama_server.go), and with a conversation.
OLLAMA_OPTIONS = {"n_predict": 40960, "n_keep": 4, "temperature": 0.8, "top_k": 40, "top_p": 0.9, "min_p": 0, "stop": None,
                  "repeat_penalty": 1.1, "repeat_last_n": 64, "frequency_penalty": 0, "presence_penalty": 0, "typical_p": 1,
                  "seed": -1, "cache_prompt": True}


class Ollama(unittest.TestCase):
    def test_discovery_stops_it_at_the_line_about_the_system_and_lists_devices(self):
        with LlamaServer("--host", "127.0.0.1", "--no-webui", "--offline", "--verbose", "-m", tiny()) as server:
            self.assertIn("system_info:", server.messages().splitlines()[0])
        done = run("--list-devices", "--offline", "--verbose")
        self.assertEqual((done.returncode, done.stdout), (0, "Available devices:\n  (none)\n"))

    def test_a_blob_is_served_as_ollama_starts_it_and_asks_it(self):
        with tempfile.TemporaryDirectory() as folder:
            blob = pathlib.Path(folder, "sha256-123")
            blob.symlink_to(support.SMOLLM2)
            with LlamaServer("--model", blob, "--host", "127.0.0.1", "--no-webui", "--offline", "-c", 8192, "-np", 2,
                             "--log-verbosity", 4, "--no-log-prefix", "--no-log-timestamps", "--no-jinja",
                             "--chat-template", "chatml", "--mmproj", blob, "--no-mmproj-offload", "--flash-attn", "auto",
                             "-b", 512, "-ub", 512, "-ngl", 0, "--context-shift", "--keep", 4,
                             env={"LLAMA_MEDIA_MARKER": "<__x__>"}) as server:
                self.assertEqual(json.loads(server.get("/health")[2])["status"], "ok")
                # ollama's regular expression for the sizes of a model in memory
                sizes = re.findall(r"(?:^|\n)[^\n:]*?([A-Za-z_][A-Za-z0-9_]*):\s+(\S+)\s+(model|KV)\s+buffer size\s*=\s*"
                                   r"([\d.]+)\s*MiB", server.messages())
                self.assertEqual([(backend, kind) for _, backend, kind, _ in sizes], [("CPU", "model"), ("CPU", "KV")])
                self.assertGreater(float(sizes[0][3]), 50)
                props = json.loads(server.get("/props")[2])
                self.assertEqual(props["default_generation_settings"]["n_ctx"], 4096)
                self.assertEqual(props["total_slots"], 2)
                self.assertEqual(server.get("/")[0], 404)

                # As it cuts a prompt that is too long, and makes the context of its older API.
                tokens = server.post("/tokenize", {"content": "The capital of France is"})["tokens"]
                self.assertEqual(len(tokens), 5)
                events = server.events("/completion", {**OLLAMA_OPTIONS, "stop": [" "], "prompt": tokens})
                self.assertEqual(events[-1]["stop_type"], "word", "with a limit of ten contexts")

                events = server.events("/completion", {**OLLAMA_OPTIONS, "n_predict": 5, "temperature": 0,
                                                       "prompt": "The capital of France is", "preserved_tokens": ["<x>"]})
                self.assertTrue(events[-1]["stop"])
                self.assertEqual(events[-1]["stop_type"], "limit")
                timings = events[-1]["timings"]
                self.assertEqual((timings["cache_n"] + timings["prompt_n"], timings["predicted_n"]), (5, 5))
                self.assertGreater(timings["prompt_ms"], 0)

                messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Say hello."}]
                chat = {**OLLAMA_OPTIONS, "temperature": 0, "n_predict": 5, "messages": messages,
                        "chat_template_kwargs": {"enable_thinking": False}}
                last = server.events("/v1/chat/completions", chat)[-1]
                self.assertEqual(last["choices"][0]["finish_reason"], "length")
                self.assertEqual(last["timings"]["predicted_n"], 5)
                self.assertIn("<|im_start|>system\nBe brief.<|im_end|>",
                              server.post("/apply-template", {"messages": messages})["prompt"])
                self.assertEqual(server.stop(), 0)

    def test_why_it_ends_stands_behind_error(self):
        for args, reason in ((("-m", "/nothing-there"), "nothing-there"), (("-m", tiny(), "--lora", "x"), "no adapters"),
                             (("-m", tiny(), "--mmproj-url", "https://a/b"), "expected a file's address on the hub"),
                             (("-m", tiny(), "--ctx-sise", "1"), "did you mean --ctx-size?")):
            done = run(*args, "--port", "0")
            self.assertEqual(done.returncode, 1, args)
            self.assertRegex(done.stderr, f"(?m)^octavo: error: .*{re.escape(reason)}", args)


class OtherPrograms(unittest.TestCase):
    def test_llama_swap_asks_for_health_until_it_is_a_200(self):
        with LlamaServer("-m", support.SMOLLM2, "--flash-attn", "on", "--metrics", "--slots", "--ctx-size", 100_000, "-ngl",
                         99, "--temp", 0.6, "--min-p", 0.01, "--top-k", 40, wait_ready=False) as server:
            codes = []
            while codes[-1:] != [200]:
                status, _, text = server.get("/health")
                self.assertIn(status, (200, 503))
                if status == 503:
                    self.assertEqual(json.loads(text)["error"],
                                     {"message": "Loading model", "type": "unavailable_error", "code": 503})
                codes.append(status)
            props = json.loads(server.get("/props")[2])["default_generation_settings"]
            self.assertEqual(props["n_ctx"], 8192)
            self.assertIn("a context of 100000 tokens is cut to the 8192 that the model was trained for", server.messages())
            self.assertAlmostEqual(props["params"]["temperature"], 0.6, places=5)
            self.assertEqual(props["params"]["top_k"], 40)
            answer = server.post("/v1/chat/completions", {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 3})
            self.assertEqual(answer["timings"]["predicted_n"], 3)
            self.assertGreater(answer["timings"]["predicted_per_second"], 0)

    def test_ramalama_looks_for_the_alias_among_the_models(self):
        with LlamaServer("--host", "127.0.0.1", "--log-file", "/dev/null", "--model", tiny(), "--no-warmup", "--reasoning",
                         "off", "--alias", "library/tiny:1", "--cache-reuse", 256, "--threads", 2) as server:
            self.assertEqual(server.get("/health")[0], 200)
            models = json.loads(server.get("/models")[2])
            self.assertEqual([model["id"] for model in models["data"]], ["library/tiny:1"])
            answer = server.complete("a b", model="file/other", max_tokens=1)  # what its chat calls it
            self.assertEqual(answer["model"], "library/tiny:1")

    def test_jan_waits_for_a_line_and_comes_with_a_key(self):
        with LlamaServer("--no-webui", "--jinja", "-m", tiny(), "-a", "tiny", "-ngl", -1, "--flash-attn", "auto",
                         "--cont-batching", "--parallel", 1, "-kvu", "--ctx-size", 64, "--fit", "off",
                         env={"LLAMA_API_KEY": "c2VjcmV0", "LLAMA_ARG_TIMEOUT": "600"}) as server:
            self.assertIn("server is listening on", server.messages().lower())
            self.assertEqual(server.get("/v1/models")[0], 401)
            key = {"Authorization": "Bearer c2VjcmV0"}
            self.assertEqual(server.get("/v1/models", headers=key)[0], 200)
            self.assertEqual(server.get("/slots")[0], 401)
            self.assertEqual(len(json.loads(server.get("/slots", headers=key)[2])), 1)

    def test_lemonade_sees_slots_fill_and_empty(self):
        with LlamaServer("-m", support.SMOLLM2, "--ctx-size", 4096, "--jinja", "--metrics") as server:
            def processing():
                return [slot for slot in json.loads(server.get("/slots")[2]) if slot["is_processing"]]

            self.assertEqual(processing(), [])
            seen = []

            def has_written():
                seen[:] = processing()
                return seen and seen[0]["next_token"][0]["n_decoded"] > 3

            with server.open_stream("Once upon a time", max_tokens=4000):
                server.wait_until(has_written)
                self.assertEqual([slot["n_prompt_tokens"] for slot in seen], [4])
            server.wait_until(lambda: not processing())

    def test_serve_takes_the_arguments_too(self):
        with Server("-np", 3, "-fa", "off", "--no-webui", model=tiny(), env={"LLAMA_ARG_ALIAS": "mine"}) as server:
            self.assertEqual(json.loads(server.get("/props")[2])["total_slots"], 3)
            self.assertEqual(json.loads(server.get("/v1/models")[2])["data"][0]["id"], "mine")
            self.assertIn("-fa off has no effect", server.messages())


if __name__ == "__main__":
    unittest.main()
