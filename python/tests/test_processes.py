"""Tests of the package that need a process of their own, or look at this one's memory."""
import asyncio
import contextlib
import gc
import importlib.util
import json
import os
import pathlib
import pty
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

import numpy as np
from support import MODEL, PACKAGES, python, resident_kib

import octavo
from octavo import SamplingParams


def write_large_model(path, layers=8, width=4096, vocabulary=32000):
    """A model of a gigabyte of zeros, which takes no room on the disk."""
    import gguf
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(512)
    writer.add_embedding_length(width)
    writer.add_block_count(layers)
    writer.add_feed_forward_length(2 * width)
    writer.add_head_count(32)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(vocabulary)
    matrices = {"attn_q": (width, width), "attn_k": (width, width), "attn_v": (width, width),
                "attn_output": (width, width), "ffn_gate": (2 * width, width), "ffn_up": (2 * width, width),
                "ffn_down": (width, 2 * width)}
    shapes = {"token_embd.weight": (vocabulary, width), "output_norm.weight": (width,)}
    for layer in range(layers):
        shapes.update({f"blk.{layer}.{name}.weight": shape for name, shape in matrices.items()})
        shapes.update({f"blk.{layer}.{name}.weight": (width,) for name in ("attn_norm", "ffn_norm")})
    num_bytes = 0
    for name, shape in shapes.items():
        is_vector = len(shape) == 1
        size = 4 * shape[0] if is_vector else shape[0] * shape[1] // 32 * 34
        kind = gguf.GGMLQuantizationType.F32 if is_vector else gguf.GGMLQuantizationType.Q8_0
        writer.add_tensor_info(name, shape, np.dtype(np.float32), size, raw_dtype=kind)
        num_bytes += size
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    writer.close()
    os.truncate(path, os.path.getsize(path) + num_bytes + 4096)


SERVED = """
import sys, threading, time, urllib.request
import octavo
llm = octavo.LLM(sys.argv[1], progress=False, max_context=4096)
answered = threading.Event()
def ask(url):
    body = b'{"prompt": "1, 2,", "max_tokens": 4000, "ignore_eos": true}'
    try:
        urllib.request.urlopen(urllib.request.Request(url + "/v1/completions", body), timeout=600)
    except Exception as error:
        print(error, flush=True)
    answered.set()
server = octavo.serve(llm, drain_timeout=600)
threading.Thread(target=ask, args=(server.url,), daemon=True).start()
while not llm.stats()["running"]:
    time.sleep(0.01)
"""


class Serving(unittest.TestCase):
    def test_closing_a_model_ends_what_its_server_answers(self):
        process = python(SERVED + "llm.close(); answered.wait(); server.close(); print('closed')")
        self.assertRegex(process.communicate(timeout=120)[0], r"(?s)HTTP Error 503.*closed")

    def test_a_process_may_exit_while_its_server_answers(self):
        process = python(SERVED)
        process.communicate(timeout=120)
        self.assertEqual(process.returncode, 0)

    def test_a_second_interrupt_leaves_a_server_that_lets_requests_end(self):
        process = python(SERVED + "print('ready', flush=True)\nwith server: time.sleep(600)")
        self.assertEqual(process.stdout.readline(), "ready\n")
        for _ in range(240):
            process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=0.5)
                break
        self.assertIn("KeyboardInterrupt", process.communicate(timeout=5)[1])


class Loading(unittest.TestCase):
    def test_interrupt(self):
        """Ctrl-C ends a load in its middle: within a second, with nothing left of it, and the next one works."""
        code = """
import json, octavo, os, signal, sys, threading, time
from support import resident_kib
octavo.LLM(sys.argv[2], progress=False).close()
before, descriptors, sent = resident_kib(), len(os.listdir("/proc/self/fd")), []
def interrupt():
    while resident_kib() < before + 100_000: time.sleep(0.001)
    sent.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=interrupt).start()
try:
    octavo.LLM(sys.argv[1], threads=1)
except KeyboardInterrupt:
    seconds = time.monotonic() - sent[0]
    time.sleep(0.2)
    print(json.dumps({"seconds": seconds, "threads": [one.name for one in threading.enumerate()],
                      "kib": resident_kib() - before, "files": len(os.listdir("/proc/self/fd")) - descriptors}))
print(len(octavo.LLM(sys.argv[2], progress=False).generate("Hi")))
"""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "large.gguf")
            write_large_model(path)
            process = python("import sys; sys.path.append(sys.argv[3])" + code, path, MODEL, os.path.dirname(__file__))
            out, errors = process.communicate(timeout=120)
        self.assertEqual((process.returncode, errors), (0, ""), out)
        interrupted, loaded = out.splitlines()
        told = json.loads(interrupted)
        self.assertNotIn("octavo-load", told["threads"])
        self.assertEqual((told["files"], loaded), (0, "1"))
        self.assertLess(told["seconds"], 2)
        self.assertLess(told["kib"], 50_000)

    def test_interrupt_of_a_hub_that_is_silent(self):
        code = """
import octavo, sys
try:
    octavo.LLM("maker/model:Q8_0")
except KeyboardInterrupt:
    print("interrupted", len(octavo.LLM(sys.argv[1], progress=False).generate("Hi")))
"""
        with socket.create_server(("127.0.0.1", 0)) as hub, tempfile.TemporaryDirectory() as folder:
            process = python(code, HF_ENDPOINT=f"http://127.0.0.1:{hub.getsockname()[1]}", HF_HUB_CACHE=folder)
            hub.settimeout(30)
            connection, _ = hub.accept()
            begin = time.monotonic()
            process.send_signal(signal.SIGINT)
            out, errors = process.communicate(timeout=60)
            connection.close()
        self.assertEqual((process.returncode, out, errors), (0, "interrupted 1\n", ""))
        self.assertLess(time.monotonic() - begin, 10)

    def test_bars_are_for_terminals(self):
        code = "import octavo, sys; octavo.LLM(sys.argv[1], progress=len(sys.argv) < 3).close()"
        for arguments, shows in (([MODEL], True), ([MODEL, "no progress"], False)):
            ours, theirs = pty.openpty()
            run = subprocess.run([sys.executable, "-c", code, *arguments], stderr=theirs, stdout=subprocess.PIPE,
                                 timeout=60, check=True)
            os.close(theirs)
            written = b""
            with contextlib.suppress(OSError):  # how the end of a terminal is told
                while piece := os.read(ours, 4096):
                    written += piece
            os.close(ours)
            self.assertEqual((b"loading SmolLM2" in written, run.stdout), (shows, b""), written)
            self.assertEqual(bool(written), shows)
        run = subprocess.run([sys.executable, "-c", code, MODEL], capture_output=True, timeout=60, check=True)
        self.assertEqual((run.stdout, run.stderr), (b"", b""))


INTERRUPTED = """
import octavo, os, signal, sys, threading, time
llm = octavo.LLM(sys.argv[1], progress=False)
text = "A word, and 1 more of them. " * 200_000
def is_under_way():
    return any(one.name == "octavo-call" for one in threading.enumerate())
def interrupt():
    while not is_under_way(): time.sleep(0)
    os.kill(os.getpid(), signal.SIGINT)
for call in (lambda: llm.tokenizer.encode(text),
             lambda: llm.tokenizer.apply_chat_template([{"role": "user", "content": text}], tokenize=False)):
    sender = threading.Thread(target=interrupt)
    sender.start()
    try:
        call()
        print("none")
    except KeyboardInterrupt:
        print("interrupted")
    sender.join()
    while is_under_way(): time.sleep(0)
print(len(llm.generate("Hi")))
"""

CHILDREN = """
import asyncio, multiprocessing, octavo, sys, threading
params = octavo.SamplingParams(max_tokens=2, temperature=0)
def own(ends):
    with octavo.LLM(sys.argv[1], progress=False, threads=1, max_context=64) as llm:
        ends.send((llm.generate("1, 2,", params)[0].text, asyncio.run(llm.agenerate("1, 2,", params))[0].text))
def parents(ends):
    try:
        llm.generate("1, 2,", params)
    except octavo.ForkedError as error:
        llm.close()
        own(ends)
def say(target):
    mine, ends = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(target=target, args=(ends,))
    process.start()
    print(mine.recv() if mine.poll(100) else None)
    process.join()
    print(process.exitcode)
octavo.version()
say(own)
with octavo.LLM(sys.argv[1], progress=False, max_context=64) as llm:
    say(parents)
    threading.Thread(target=say, args=(own,)).start()
    print((llm.generate("1, 2,", params)[0].text, asyncio.run(llm.agenerate("1, 2,", params))[0].text))
"""


class Processes(unittest.TestCase):
    def test_interrupt_of_texts_that_are_read(self):
        out, errors = python(INTERRUPTED).communicate(timeout=120)
        self.assertEqual((out, errors), ("interrupted\n" * 2 + "1\n", ""))

    def test_forked_children_load_models_of_their_own(self):
        out, errors = python(CHILDREN).communicate(timeout=120)
        self.assertEqual(errors, "")
        lines = out.splitlines()
        self.assertEqual(len(lines), 7, out)
        self.assertEqual(lines.count("0"), 3, out)
        self.assertEqual(len(set(lines) - {"0"}), 1, out)

    def test_exit_while_a_stream_runs(self):
        code = """
import octavo, sys, threading
llm = octavo.LLM(sys.argv[1], progress=False)
stream = llm.stream("Once", octavo.SamplingParams(max_tokens=5000, ignore_eos=True))
print(next(stream).text)
def read():
    for piece in llm.stream("Once", octavo.SamplingParams(max_tokens=5000, ignore_eos=True)): begun.set()
begun = threading.Event()
threading.Thread(target=read, daemon=True).start()
begun.wait()
"""
        process = python(code)
        _, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, errors)
        self.assertNotIn("Fatal", errors)

    def test_interrupt(self):
        code = """
import octavo, sys
llm = octavo.LLM(sys.argv[1], progress=False)
print("ready", flush=True)
try:
    llm.generate("Once", octavo.SamplingParams(max_tokens=8000, ignore_eos=True))
except KeyboardInterrupt:
    print("interrupted", llm.generate("The sky is", octavo.SamplingParams(max_tokens=3, temperature=0))[0].text)
"""
        process = python(code)
        self.assertEqual(process.stdout.readline(), "ready\n")
        time.sleep(0.5)
        begin = time.monotonic()
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=30)
        self.assertTrue(out.startswith("interrupted "), out + errors)
        self.assertLess(time.monotonic() - begin, 5)

    def test_program(self):
        run = subprocess.run([sys.executable, "-m", "octavo", "--version"], capture_output=True, text=True, timeout=30)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn(octavo.version(), run.stdout)
        process = subprocess.Popen([sys.executable, "-m", "octavo", "serve", MODEL, "--port", "0"],
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        time.sleep(1.5)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
        self.assertIn(process.returncode, (0, -signal.SIGINT))

    def test_memory_of_many_requests(self):
        params = SamplingParams(max_tokens=1)
        for generate in (lambda: self.llm.generate(["a"] * 200, params),
                         lambda: [self.llm.generate("a", params) for _ in range(100)]):
            sizes = []
            for _ in range(6):
                generate()
                gc.collect()
                sizes.append(resident_kib())
            # A step with more sequences than ever takes memory once; a leak takes some every time.
            self.assertLess(min(after - before for before, after in zip(sizes, sizes[1:])), 256, sizes)
        descriptors = len(os.listdir("/proc/self/fd"))
        asyncio.run(self.llm.agenerate(["a"] * 20, params))
        list(self.llm.stream("a", params))
        end = time.monotonic() + 10
        while len(os.listdir("/proc/self/fd")) > descriptors and time.monotonic() < end:
            time.sleep(0.01)  # the engine lets go of a queue behind its last event
        self.assertEqual(len(os.listdir("/proc/self/fd")), descriptors)

    def test_page(self):
        """The programs of docs/python.md and docs/python_packages.md run, one after the other."""
        docs = pathlib.Path(__file__).parents[2] / "docs"
        pages = "".join((docs / name).read_text(encoding="utf-8") for name in ("python.md", "python_packages.md"))
        programs = re.findall(r"^```python\n(.*?)^```$", pages, re.MULTILINE | re.DOTALL)
        self.assertGreater(len(programs), 8)
        if importlib.util.find_spec("pydantic") is None:
            programs = [program for program in programs if "pydantic" not in program]
        with tempfile.TemporaryDirectory() as folder:
            os.symlink(MODEL, pathlib.Path(folder) / "model.gguf")
            run = subprocess.run([sys.executable, "-c", "\n".join(programs)], cwd=folder, capture_output=True,
                                 text=True, timeout=120, check=False, env=dict(os.environ, PYTHONPATH=PACKAGES))
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("http://127.0.0.1:", run.stdout)

    def test_examples(self):
        folder = pathlib.Path(__file__).parents[2] / "examples" / "python"
        scripts = sorted(folder.glob("*.py"))
        self.assertEqual(len(scripts), 5)
        for script in scripts:
            run = subprocess.run([sys.executable, script, MODEL], capture_output=True, text=True, timeout=60)
            self.assertEqual(run.returncode, 0, f"{script.name}: {run.stderr}")
            self.assertTrue(run.stdout.strip(), script.name)
