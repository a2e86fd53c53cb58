"""Files that are no models are refused with one clear line and exit code 1, by every command."""
import json
import pathlib
import struct
import tempfile
import unittest

import support
from server_support import Server

COMMANDS = {
    "info": lambda model: ("info", model),
    "run": lambda model: ("run", "-m", model, "-p", "Hello"),
    "chat": lambda model: ("chat", "-m", model),
    "tokenize": lambda model: ("tokenize", "-m", model, "Hello"),
    "logits": lambda model: ("logits", "-m", model, "--ids", "1,2"),
    "logits from the map": lambda model: ("logits", "-m", model, "--ids", "1,2", "--no-repack"),
}


class BadFile(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def refuse(self, path, *words, commands=COMMANDS):
        for name in commands:
            with self.subTest(command=name):
                done = support.octavo(*COMMANDS[name](path), timeout=60)
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertEqual(done.stdout, "")
                self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
                self.assertIn(str(path), done.stderr)
                for word in words:
                    self.assertIn(word, done.stderr)

    def file(self, content):
        path = self.folder / "model.gguf"
        path.write_bytes(content)
        return path

    def test_missing_file(self):
        self.refuse(self.folder / "absent.gguf")

    def test_directory(self):
        self.refuse(self.folder)

    def test_empty_file(self):
        self.refuse(self.file(b""))

    def test_wrong_magic(self):
        self.refuse(self.file(b"GGML" + b"\0" * 4096), "GGML", "expected 'GGUF'")

    def test_another_format(self):
        self.refuse(self.file(b"PK\x03\x04" + bytes(range(256)) * 16), "expected 'GGUF'")

    def test_big_endian_or_unknown_version(self):
        self.refuse(self.file(b"GGUF" + struct.pack(">IQQ", 3, 0, 0)), "version")
        self.refuse(self.file(b"GGUF" + struct.pack("<IQQ", 99, 0, 0)), "version")

    def test_truncated_anywhere(self):
        content = support.SMOLLM2.read_bytes()
        for size in (1, 4, 23, 24, 100, 5000, 400_000, 1_500_000, len(content) // 2, len(content) - 1):
            with self.subTest(size=size):
                self.refuse(self.file(content[:size]), commands=("info", "logits", "logits from the map"))

    def test_counts_that_no_file_could_hold(self):
        for tensors, keys in ((1 << 62, 0), (0, 1 << 62), ((1 << 64) - 1, (1 << 64) - 1)):
            self.refuse(self.file(b"GGUF" + struct.pack("<IQQ", 3, tensors, keys) + b"\0" * 64), commands=("info",))

    def test_unsupported_architecture_is_named_with_those_that_are(self):
        model = self.patched(b"general.architecture" + struct.pack("<IQ", 8, 5) + b"llama", b"llama", b"mamba")
        self.refuse(model, "mamba", "llama", "qwen2", "qwen3", "gemma3", commands=("run", "logits", "logits from the map"))

    def test_missing_metadata_is_named(self):
        model = self.patched(b"llama.block_count", b"block_count", b"block_xxxxx")
        self.refuse(model, "llama.block_count", commands=("run", "logits", "logits from the map"))

    def patched(self, context, old, new):
        content = support.SMOLLM2.read_bytes()
        self.assertEqual(content.count(context), 1, context)
        return self.file(content.replace(context, context.replace(old, new)))


class WithoutWords(unittest.TestCase):
    """Words that are missing or of an unknown kind: the file is read for token ids, and text is refused."""

    IDS = ("--ids", "1,2,3,4", "--json")

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        content = support.SMOLLM2.read_bytes()
        cls.models = {}
        for name, old, new, words in (
            ("missing", b"tokenizer.ggml.model", b"tokenizer.ggml.xodel", ("tokenizer.ggml.model", "missing")),
            ("model", cls.text(b"tokenizer.ggml.model", b"gpt2"), cls.text(b"tokenizer.ggml.model", b"rune"),
             ("tokenizer.ggml.model", "rune", "gpt2")),
            ("pre", cls.text(b"tokenizer.ggml.pre", b"smollm"), cls.text(b"tokenizer.ggml.pre", b"quipus"),
             ("tokenizer.ggml.pre", "quipus", "smollm")),
        ):
            assert content.count(old) == 1, old
            path = pathlib.Path(folder.name) / f"{name}.gguf"
            path.write_bytes(content.replace(old, new))
            cls.models[path] = words

    @staticmethod
    def text(key, value):
        return key + struct.pack("<IQ", 8, len(value)) + value

    def test_commands_for_token_ids_work(self):
        expected = json.loads(support.octavo_ok("logits", "-m", support.SMOLLM2, *self.IDS))
        for model in self.models:
            with self.subTest(model=model.name):
                found = json.loads(support.octavo_ok("logits", "-m", model, *self.IDS))
                self.assertEqual(found["mean_nll"], expected["mean_nll"])
                self.assertIn("most likely", support.octavo_ok("logits", "-m", model, "--ids", "1,2"))
                self.assertIn("llama", support.octavo_ok("info", model))
                bench = support.octavo_ok("bench", "-m", model, "--prompt", 8, "--gen", 2, "--batch", 1, "--repeat", 1)
                self.assertIn("decode", bench)

    def test_commands_for_text_are_refused_with_the_key(self):
        for model, words in self.models.items():
            for command in (("run", "--raw", "-p", "Hello"), ("run", "-p", "Hello"), ("chat",), ("serve", "--port", 0),
                            ("tokenize", "Hello"), ("tokenize", "--decode", "1")):
                with self.subTest(model=model.name, command=command):
                    done = support.octavo(command[0], "-m", model, *command[1:], timeout=60)
                    self.assertEqual(done.returncode, 1, done.stderr)
                    self.assertEqual(done.stdout, "")
                    for word in (str(model), *words):
                        self.assertIn(word, done.stderr)


class BadArguments(unittest.TestCase):
    def test_tokens_outside_the_vocabulary(self):
        done = support.octavo("logits", "-m", support.SMOLLM2, "--ids", "1,999999")
        self.assertEqual(done.returncode, 1)
        self.assertIn("999999", done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1)

    def test_a_prompt_longer_than_the_context(self):
        done = support.octavo("run", "-m", support.SMOLLM2, "--raw", "--max-context", 16, "-p", "word " * 100)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(len(done.stderr.splitlines()), 1)
        self.assertIn("16", done.stderr)

    def test_a_kv_budget_too_small_for_one_block(self):
        done = support.octavo("run", "-m", support.SMOLLM2, "--kv-memory", "1KiB", "-p", "Hello")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(len(done.stderr.splitlines()), 1)

    def test_a_template_that_makes_no_text_is_an_error_of_a_request_and_of_a_command(self):
        template, said = "{% if false %}x{% endif %}", "the chat template makes no text of this conversation"
        done = support.octavo("run", "-m", support.SMOLLM2, "Hello", "--chat-template", template)
        self.assertEqual(done.returncode, 1)
        self.assertIn(said, done.stderr)
        chat = {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 2}
        with Server("--chat-template", template) as server:
            for path in ("/v1/chat/completions", "/v1/messages", "/api/chat"):
                status, _, text = server.request("POST", path, chat)
                self.assertEqual(status, 400, text)
                self.assertIn(said, text)
            self.assertEqual(server.complete("Hello", max_tokens=2)["usage"]["completion_tokens"], 2)

    def test_wrong_usage_is_exit_code_2(self):
        model = ("-m", support.SMOLLM2)
        for args in ([], ["frobnicate"], ["run", "--no-such-flag"], ["run", *model, "-p"],
                     ["run", *model, "-p", "x", "--temp", "warm"], ["run", *model, "-p", "x", "-n", "-3"],
                     ["run", *model, "-p", "x", "--top-p", "1.5"], ["run", *model, "-p", "x", "--kv-type", "f8"],
                     ["run", *model, "-p", "x", "--block-size", "3"], ["run", *model, "-p", "x", "--threads", "-1"],
                     ["run", *model, "-p", "x", "--isa", "mmx"], ["run", *model, "-p", "x", "--kv-memory", "lots"],
                     ["logits", *model], ["logits", *model, "--ids", "1,x"], ["logits", *model, "--ids", ""]):
            with self.subTest(args=args):
                done = support.octavo(*args, timeout=60)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertEqual(done.stdout, "")
                self.assertTrue(done.stderr.strip())

    def test_an_instruction_set_that_the_processor_lacks_is_an_error(self):
        lacking = [level for level in support.ISA_LEVELS if level not in support.supported_isa_levels()]
        self.assertTrue(lacking, "every processor lacks one: avx2 or neon")
        for level in lacking:
            done = support.octavo("run", "-m", support.SMOLLM2, "-p", "x", "--isa", level)
            self.assertIn(done.returncode, (1, 2))
            self.assertIn(level, done.stderr)
            self.assertEqual(done.stdout, "")


if __name__ == "__main__":
    unittest.main()
