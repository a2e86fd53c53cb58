"""Prefixes on disk: a server that was killed answers what it had computed before without computing it again, with the
same bits; so does one whose model was out of memory meanwhile."""
import json
import os
import pathlib
import tempfile
import unittest

import support
from server_support import Server, noise

SHAPES = ("tiny-llama", "tiny-gemma3", "tiny-qwen35", "tiny-qwen3moe")  # of them one with windows, a hybrid, a mixture
TURNS = 6


def words(first, count):
    return [3 + (first * 31 + i * 7) % 400 for i in range(count)]


class Stored(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.store = self.folder / "store"

    def server(self, *args, model, **options):
        return Server("--kv-store", self.store, "--kv-store-min", "0", "--kv-memory", "64MiB", *args, model=model,
                      **options)

    def ask(self, server, tokens, count=12, **fields):
        """(the bits of the answer, its tokens, usage)."""
        answer = server.complete(tokens, max_tokens=count, ignore_eos=True, logprobs=1, return_tokens=True, **fields)
        choice = answer["choices"][0]
        return (choice["text"], choice["logprobs"]["token_logprobs"]), answer["usage"]

    def stored(self, usage):
        return usage["prompt_tokens_details"].get("stored_tokens", 0)

    def wait_for_writes(self, server, count):
        server.wait_until(lambda: server.metrics()["octavo:kv_store_writes_total"] >= count)


class Killed(Stored):
    def test_the_same_bits_come_from_disk(self):
        for shape in SHAPES:
            with self.subTest(shape):
                model, prompt = support.few_words_model(shape), words(1, 100)
                with self.server(model=model) as server:
                    bits, usage = self.ask(server, prompt)
                    self.assertEqual(self.stored(usage), 0)
                    self.wait_for_writes(server, 1)
                    server.process.kill()
                with self.server(model=model) as server:
                    again, usage = self.ask(server, prompt)
                    self.assertEqual(again, bits)
                    self.assertGreaterEqual(self.stored(usage), 80)
                    self.assertEqual(server.metrics()["octavo:kv_store_hits_total"], 1)
                    self.assertEqual(server.access_log(1)[0]["stored_tokens"], self.stored(usage))
                with Server("--kv-memory", "64MiB", model=model) as server:
                    self.assertEqual(self.ask(server, prompt)[0], bits)

    def test_a_conversation_computes_its_new_tokens_alone_though_each_turn_has_a_server_of_its_own(self):
        for shape in ("tiny-llama", "tiny-qwen35"):
            with self.subTest(shape):
                model, said, computed, added = support.few_words_model(shape), words(2, 64), 0, 64
                for turn in range(TURNS):
                    with self.server(model=model) as server:
                        self.ask(server, said, count=1)
                        computed += server.metrics()["octavo:computed_tokens_total"]
                        self.assertEqual(server.stop(), 0)  # what is being written is
                    said = said + words(3 + turn, 32)
                    added += 32
                block = 16
                self.assertLessEqual(computed, added + TURNS * block)

    def test_damaged_files_are_computed_anew(self):
        model, prompt = support.few_words_model("tiny-llama"), words(1, 100)
        with self.server(model=model) as server:
            bits, _ = self.ask(server, prompt)
            self.assertEqual(server.stop(), 0)
        runs = list(self.store.rglob("*.run"))
        self.assertTrue(runs)
        for path in runs:
            data = bytearray(path.read_bytes())
            data[len(data) // 2] ^= 4
            path.write_bytes(data)
        with self.server(model=model) as server:
            again, usage = self.ask(server, prompt)
            self.assertEqual((again, self.stored(usage)), (bits, 0))
            self.assertGreaterEqual(server.metrics()["octavo:kv_store_corrupt_total"], 1)


class Several(Stored):
    def test_a_model_that_was_out_of_memory_finds_what_it_had(self):
        model, prompt = support.few_words_model("tiny-llama"), words(4, 100)
        other = support.few_words_model("tiny-gemma3")
        with self.server("-m", other, "--idle-unload", "3600", model=model) as server:
            bits, _ = self.ask(server, prompt, model=model.stem)
            self.ask(server, prompt, model=other.stem)
            for name in (model.stem, other.stem):
                server.post("/models/unload", {"model": name})
            again, usage = self.ask(server, prompt, model=model.stem)
            self.assertEqual(again, bits)
            self.assertGreaterEqual(self.stored(usage), 80)

    def test_keys_without_names_find_their_own_and_no_others_after_a_restart(self):
        keys = self.folder / "keys"
        keys.write_text("first-secret-of-two\nsecond-secret-of-two\n")
        keys.chmod(0o600)
        headers = [{"Authorization": f"Bearer {key}"} for key in keys.read_text().split()]
        body = {"prompt": words(5, 100), "max_tokens": 1}

        def stored(server, number):
            return self.stored(server.post("/v1/completions", body, headers=headers[number])["usage"])

        with self.server("--api-key-file", keys, model=noise()) as server:
            self.assertEqual(stored(server, 0), 0)
            self.assertEqual(server.stop(), 0)
        with self.server("--api-key-file", keys, model=noise()) as server:
            self.assertEqual(stored(server, 1), 0)
            self.assertGreaterEqual(stored(server, 0), 80)


class SlotActions(Stored):
    """Of llama.cpp's server, which programs call that keep the cache of a slot by hand."""

    def test_they_are_answered_in_its_form(self):
        with self.server(model=support.few_words_model("tiny-llama")) as server:
            self.ask(server, words(1, 100))
            self.wait_for_writes(server, 1)
            saved = server.post("/slots/0?action=save", {"filename": "a.bin"})
            self.assertEqual((saved["id_slot"], saved["filename"]), (0, "a.bin"))
            self.assertGreater(saved["n_saved"], 0)
            restored = server.post("/slots/0?action=restore", {"filename": "a.bin"})
            self.assertEqual(restored["n_read"], saved["n_written"])
            self.assertEqual(server.post("/slots/0?action=erase", ""), {"id_slot": 0, "n_erased": 0})
            for path, status in (("/slots/0?action=copy", 400), ("/slots/0", 400), ("/slots/x?action=save", 400),
                                 ("/slots/100000?action=save", 400)):
                self.assertEqual(server.request("POST", path, {})[0], status, path)

    def test_without_a_directory_there_are_none(self):
        with Server("--kv-memory", "64MiB", model=support.few_words_model("tiny-llama")) as server:
            self.assertEqual(server.request("POST", "/slots/0?action=save", {"filename": "a"})[0], 400)


class Folder(Stored):
    def test_one_that_others_may_read_is_refused(self):
        self.store.mkdir()
        self.store.chmod(0o755)
        done = support.octavo("run", "-m", support.few_words_model("tiny-llama"), "--kv-store", self.store, "-n", "1", "a")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("0755", done.stderr)
        self.assertIn("0700", done.stderr)

    def test_files_and_folders_are_their_owners_alone(self):
        with self.server(model=support.few_words_model("tiny-llama")) as server:
            self.ask(server, words(1, 100))
            self.assertEqual(server.stop(), 0)
        for path, folders, files in os.walk(self.store):
            self.assertEqual(os.stat(path).st_mode & 0o777, 0o700)
            for name in files:
                self.assertEqual(os.stat(pathlib.Path(path) / name).st_mode & 0o777, 0o600)

    def test_without_repack_a_line_says_that_nothing_is_kept(self):
        with self.server("--no-repack", model=support.few_words_model("tiny-llama")) as server:
            server.wait_for_line(r"(no prefix is kept on disk: without repack)")
            self.assertEqual(self.stored(self.ask(server, words(1, 100))[1]), 0)


if __name__ == "__main__":
    unittest.main()
