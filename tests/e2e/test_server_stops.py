"""A server that is told to end does so, whatever it is at. Moments are random, from a fixed seed; what tells is that it
ends at all, where what it was at would have gone on for minutes: bytes that were not fetched, a model that was not
loaded, tokens that were not made. OCTAVO_STOPS=200 takes so many moments, and OCTAVO_STOP_S=5 makes one that takes
longer an error."""
import contextlib
import json
import os
import pathlib
import random
import signal
import subprocess
import tempfile
import time
import unittest

import hub_server
import support
from server_support import Server

NUM_MOMENTS = int(os.environ.get("OCTAVO_STOPS", "10"))
BOUND_S = float(os.environ.get("OCTAVO_STOP_S", "60"))
REPO, NAME = "test/slow", "slow-Q4_1.gguf"
WHOLE = 64 << 20  # bytes that take the local hub most of a minute
DRAIN = ("--drain-timeout", 1)
SLOW_PATTERN = r"[^qz\n]*[aeioubcd ][^qz\n]{80}"


def sparse_folder(folder, layers=32, width=4096, inner=14336, words=512):
    """A model of 14 GB that takes no room on a disk: zeros, which are quantized as they are loaded."""
    shapes = {"model.embed_tokens.weight": [words, width], "model.norm.weight": [width]}
    for i in range(layers):
        shapes |= {f"model.layers.{i}.{name}.weight": shape for name, shape in {
            "input_layernorm": [width], "post_attention_layernorm": [width], "self_attn.q_proj": [width, width],
            "self_attn.k_proj": [width // 4, width], "self_attn.v_proj": [width // 4, width],
            "self_attn.o_proj": [width, width], "mlp.gate_proj": [inner, width], "mlp.up_proj": [inner, width],
            "mlp.down_proj": [width, inner]}.items()}
    header, end = {}, 0
    for name, shape in shapes.items():
        size = 2 * shape[0] * (shape[1] if len(shape) == 2 else 1)
        header[name] = {"dtype": "F16", "shape": shape, "data_offsets": [end, end + size]}
        end += size
    text = json.dumps(header).encode()
    with open(folder / "model.safetensors", "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        file.truncate(8 + len(text) + end)
    (folder / "config.json").write_text(json.dumps({
        "architectures": ["LlamaForCausalLM"], "hidden_size": width, "num_hidden_layers": layers, "vocab_size": words,
        "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": inner, "rms_norm_eps": 1e-5,
        "max_position_embeddings": 2048, "rope_theta": 10000.0, "tie_word_embeddings": True}))
    seed = pathlib.Path(__file__).parents[2] / "fuzz/seeds/tokenizer_json/byte_level.json"
    (folder / "tokenizer.json").write_bytes(seed.read_bytes())


class Stops(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        sparse_folder(cls.folder)
        cls.content = os.urandom(1 << 20) * (WHOLE >> 20)
        cls.longest = (0.0, "")

    def setUp(self):
        self.rng = random.Random(46)

    def pause(self):
        time.sleep(self.rng.uniform(0, 0.5))

    def stop(self, process, *codes):
        """SIGTERM; the process ends with one of these exit codes."""
        begin = time.monotonic()
        process.send_signal(signal.SIGTERM)
        self.assertIn(process.wait(BOUND_S), codes)
        type(self).longest = max(self.longest, (time.monotonic() - begin, self.moment))

    def hub(self, home, faults=(), delay_s=0.05):
        hub = self.stack.enter_context(hub_server.Hub({REPO: {NAME: self.content}}, delay_s=delay_s))
        hub.faults += faults
        return hub, hub.environment(home)

    def wait_for(self, condition):
        end = time.monotonic() + support.TIMEOUT_S
        while not condition():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)

    def partial_file(self, home):
        return next(home.rglob("*.incomplete"))

    # One moment each.

    def starting(self):
        """Before its signals have handlers the system ends it."""
        process = self.stack.enter_context(
            subprocess.Popen([support.OCTAVO, "serve", "-m", support.SMOLLM2, "--port", "0", *map(str, DRAIN)],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        self.pause()
        self.stop(process, 0, -signal.SIGTERM)

    def fetching(self, faults=(), delay_s=0.05, least=0):
        home = pathlib.Path(self.stack.enter_context(tempfile.TemporaryDirectory()))
        hub, env = self.hub(home, faults, delay_s)
        server = self.stack.enter_context(Server(*DRAIN, model=f"{REPO}:Q4_1", wait_ready=False, env=env))
        self.wait_for(lambda: hub.fetched() and hub.sent_bytes >= least)
        self.pause()
        self.stop(server.process, 0)
        self.assertLess(hub.sent_bytes, WHOLE)
        self.assertLess(self.partial_file(home).stat().st_size, WHOLE)

    def waiting_to_try_again(self):
        self.fetching(["503"] * 5)

    def fetching_what_stands_still(self):
        self.fetching(["stall"] * 5, delay_s=0, least=WHOLE // 2)

    def fetching_for_several(self):
        """Before it listens it has no handlers."""
        home = pathlib.Path(self.stack.enter_context(tempfile.TemporaryDirectory()))
        hub, env = self.hub(home)
        process = self.stack.enter_context(
            subprocess.Popen([support.OCTAVO, "serve", "-m", f"{REPO}:Q4_1", "-m", support.SMOLLM2, "--port", "0"],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, **env}))
        self.wait_for(lambda: hub.sent_bytes > 0)
        self.pause()
        self.stop(process, -signal.SIGTERM)
        self.assertLess(hub.sent_bytes, WHOLE)

    def loading(self):
        server = self.stack.enter_context(
            Server("--quantize", "Q4_K_M", "--kv-memory", "64MiB", *DRAIN, model=self.folder, wait_ready=False))
        self.pause()
        self.stop(server.process, 0)
        self.assertNotIn("ready at", server.messages())

    def loading_beside_an_answer(self):
        config = self.folder / "octavo.toml"
        config.write_text(f'[model.large]\nmodel = "{self.folder}"\nquantize = "Q4_K_M"\n')
        server = self.stack.enter_context(
            Server("--config", config, "--kv-memory", "64MiB", "--models-memory", "64GiB", *DRAIN))
        self.stack.enter_context(server.open_stream("Once", max_tokens=2000))
        self.stack.enter_context(server.open_stream("Once", model="large"))
        self.wait_for(lambda: '"loading"' in server.get("/v1/models")[2])
        self.pause()
        self.stop(server.process, 0)

    def answering(self, prompt="Once upon a time", **fields):
        server = self.stack.enter_context(Server("--kv-memory", "512MiB", *DRAIN))
        client = self.stack.enter_context(server.open_stream(prompt, max_tokens=8000 - len(prompt) // 4, **fields))
        self.pause()
        self.stop(server.process, 0)
        client.settimeout(support.TIMEOUT_S)
        answer = b""
        with contextlib.suppress(ConnectionError):
            while piece := client.recv(1 << 16):
                answer += piece
        self.assertLess(answer.count(b"data: {"), 7000)

    def reading_a_prompt(self):
        self.answering("one two " * 3000)

    def compiling(self):
        self.answering(guided_regex=SLOW_PATTERN)

    def test_at_random_moments(self):
        moments = (self.fetching, self.loading, self.answering, self.compiling, self.loading_beside_an_answer,
                   self.fetching_for_several, self.starting, self.reading_a_prompt, self.waiting_to_try_again,
                   self.fetching_what_stands_still)
        for i in range(NUM_MOMENTS):
            moment = moments[i % len(moments)]
            self.moment = moment.__name__
            with self.subTest(moment=self.moment, number=i), contextlib.ExitStack() as self.stack:
                moment()
        print(f"{NUM_MOMENTS} moments; the longest from SIGTERM to the end: {self.longest[0]:.2f} s ({self.longest[1]})")


class Fetches(unittest.TestCase):
    def test_what_a_stop_or_ctrl_c_left_of_a_fetch_is_gone_on_with(self):
        content = os.urandom(4 << 20)
        with tempfile.TemporaryDirectory() as folder, hub_server.Hub({REPO: {NAME: content}}, delay_s=0.05) as hub:
            home = pathlib.Path(folder)
            env = {**os.environ, **hub.environment(home)}
            sizes = []
            for end in (signal.SIGTERM, signal.SIGINT):
                before = hub.sent_bytes
                with Server(*DRAIN, model=f"{REPO}:Q4_1", wait_ready=False, env=env) as server:
                    server.wait_until(lambda: hub.sent_bytes >= before + (1 << 20))
                    server.process.send_signal(end)
                    self.assertEqual(server.process.wait(60), 0)
                sizes.append(next(home.rglob("*.incomplete")).stat().st_size)
            before = hub.sent_bytes
            with subprocess.Popen([support.OCTAVO, "pull", f"{REPO}:Q4_1"], env=env, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL) as pull:
                while hub.sent_bytes < before + (1 << 19):
                    time.sleep(0.01)
                pull.send_signal(signal.SIGINT)
                self.assertEqual(pull.wait(60), -signal.SIGINT, "a shell reports 130")
            sizes.append(next(home.rglob("*.incomplete")).stat().st_size)
            hub.delay_s = 0
            done = support.octavo("pull", f"{REPO}:Q4_1", env=hub.environment(home))
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(pathlib.Path(done.stdout.strip()).read_bytes(), content)
            self.assertEqual([range_ for _, _, range_, _ in hub.fetched()],
                             [None, *(f"bytes={size}-" for size in sizes)])
            self.assertLess(0, sizes[0])
            self.assertLess(sizes[0], sizes[1])


if __name__ == "__main__":
    unittest.main()
