"""Prefixes on disk: a server that was killed answers what it had computed before without computing it again, with the
same bits; so does one whose model was out of memory meanwhile."""
import os
import pathlib
import struct
import tempfile
import unittest

import support
import xxhash
from server_support import Server, noise

# One with windows, a hybrid, a mixture, one whose layers have keys and values and a state, and one with a latent.
SHAPES = ("tiny-llama", "tiny-gemma3", "tiny-qwen35", "tiny-qwen3moe", "tiny-falcon-h1", "tiny-deepseek2")
TURNS = 12
SAID, ANSWERED = 150, 2  # tokens of a turn
MOST_COMPUTED = 1.1  # times the new tokens


def words(first, count):
    return [3 + (first * 31 + i * 7) % 400 for i in range(count)]


class Stored(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.store = self.folder / "store"

    def server(self, *args, model, **options):
        return Server("--kv-store", self.store, "--kv-store-min", "0", "--kv-store-cpu", "100", "--kv-memory", "64MiB",
                      *args, model=model, **options)

    def ask(self, server, tokens, count=12, **fields):
        """(the bits of the answer, usage, its tokens)."""
        answer = server.complete(tokens, max_tokens=count, ignore_eos=True, logprobs=1, return_token_ids=True, **fields)
        choice = answer["choices"][0]
        return (choice["text"], choice["logprobs"]["token_logprobs"]), answer["usage"], choice["token_ids"]

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
                    bits, usage, _ = self.ask(server, prompt)
                    self.assertEqual(self.stored(usage), 0)
                    self.wait_for_writes(server, 1)
                    server.process.kill()
                with self.server(model=model) as server:
                    again, usage, _ = self.ask(server, prompt)
                    self.assertEqual(again, bits)
                    self.assertGreaterEqual(self.stored(usage), 80)
                    self.assertEqual(server.metrics()["octavo:kv_store_hits_total"], 1)
                    self.assertEqual(server.access_log(1)[0]["stored_tokens"], self.stored(usage))
                with Server("--kv-memory", "64MiB", model=model) as server:
                    self.assertEqual(self.ask(server, prompt)[0], bits)

    def test_a_conversation_computes_its_new_tokens_alone_though_each_turn_has_a_server_of_its_own(self):
        for shape in SHAPES:
            with self.subTest(shape):
                model, said, computed = support.few_words_model(shape), [], 0
                for turn in range(TURNS):
                    said = said + words(2 + turn, SAID)
                    with self.server("--draft", "off", model=model) as server:
                        said = said + self.ask(server, said, count=ANSWERED)[2]
                        computed += server.metrics()["octavo:computed_tokens_total"]
                        self.assertEqual(server.stop(), 0)  # what is being written is
                self.assertLessEqual(computed, MOST_COMPUTED * len(said))

    def test_damaged_files_are_computed_anew(self):
        model, prompt = support.few_words_model("tiny-llama"), words(1, 100)
        with self.server(model=model) as server:
            bits, _, _ = self.ask(server, prompt)
            self.assertEqual(server.stop(), 0)
        runs = list(self.store.rglob("*.run"))
        self.assertTrue(runs)
        for path in runs:
            data = bytearray(path.read_bytes())
            data[len(data) // 2] ^= 4
            path.write_bytes(data)
        with self.server(model=model) as server:
            again, usage, _ = self.ask(server, prompt)
            self.assertEqual((again, self.stored(usage)), (bits, 0))
            self.assertGreaterEqual(server.metrics()["octavo:kv_store_corrupt_total"], 1)


class Several(Stored):
    def test_a_model_that_was_out_of_memory_finds_what_it_had(self):
        model, prompt = support.few_words_model("tiny-llama"), words(4, 100)
        other = support.few_words_model("tiny-gemma3")
        with self.server("-m", other, "--idle-unload", "3600", model=model) as server:
            bits, _, _ = self.ask(server, prompt, model=model.stem)
            self.ask(server, prompt, model=other.stem)
            for name in (model.stem, other.stem):
                server.post("/models/unload", {"model": name})
            again, usage, _ = self.ask(server, prompt, model=model.stem)
            self.assertEqual(again, bits)
            self.assertGreaterEqual(self.stored(usage), 80)

    def test_two_models_that_take_turns_in_memory_compute_their_new_tokens_alone(self):
        models = [support.few_words_model(shape) for shape in ("tiny-llama", "tiny-qwen35")]
        said, computed = {model.stem: [] for model in models}, 0
        with self.server("-m", models[1], "--idle-unload", "3600", "--draft", "off", model=models[0]) as server:
            for turn in range(TURNS):
                for name in said:
                    said[name] = said[name] + words(2 + turn, SAID)
                    _, usage, answered = self.ask(server, said[name], count=ANSWERED, model=name)
                    computed += usage["prompt_tokens"] - usage["prompt_tokens_details"]["cached_tokens"] + ANSWERED - 1
                    said[name] = said[name] + answered
                    server.post("/models/unload", {"model": name})
        self.assertLessEqual(computed, MOST_COMPUTED * sum(map(len, said.values())))

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


class Verified(Stored):
    def written(self, shape):
        """A model and the run files of two prompts of it, the second of which goes on from the first."""
        model, prompt = support.few_words_model(shape), words(1, 100)
        with self.server(model=model) as server:
            self.ask(server, prompt)
            self.ask(server, prompt + words(2, 60))
            self.assertEqual(server.stop(), 0)
        return model, sorted(self.store.rglob("*.run"))

    def verify(self, model, *args):
        done = support.octavo("kv", "verify", self.store, "-m", model, "--kv-memory", "64MiB", *args)
        return done.returncode, done.stdout

    def forge(self, path):
        """Changes a byte of the first block, and makes all checksums right."""
        data = bytearray(path.read_bytes())
        groups, header_bytes = struct.unpack_from("<IQ", data, 12)
        first, end, _, block_size, _, num_given = struct.unpack_from("<IIQIII", data, 80)
        block_bytes = struct.unpack_from("<Q", data, 120)[0]
        checksums = 112 + 16 * groups + (end - first) * (16 + 4 * block_size) + 44 * num_given
        data[header_bytes + block_bytes // 2] ^= 1
        block = bytes(data[header_bytes:header_bytes + block_bytes])
        struct.pack_into("<Q", data, checksums, xxhash.xxh3_64_intdigest(block))
        struct.pack_into("<Q", data, header_bytes - 8, xxhash.xxh3_64_intdigest(bytes(data[:header_bytes - 8])))
        path.write_bytes(data)

    def test_what_is_computed_again_has_the_bits_of_what_is_there(self):
        for shape in SHAPES:
            with self.subTest(shape):
                model, runs = self.written(shape)
                code, said = self.verify(model, "--sample", "0")
                self.assertEqual(code, 0, said)
                self.assertRegex(said, r"files: compared [1-9]\d* of \d+, damaged 0, without their beginning 0, with pictures 0, "
                                 r"not computed 0")
                self.assertRegex(said, r"blocks: compared [1-9]\d*, different 0")

    def test_one_bit_that_no_checksum_tells_is_found(self):
        model, runs = self.written("tiny-llama")
        self.forge(runs[0])
        code, said = self.verify(model)
        self.assertEqual(code, 1)
        self.assertIn("damaged 0", said)
        self.assertRegex(said, r"blocks: compared \d+, different 1\n")

    def test_a_damaged_file_is_counted(self):
        model, runs = self.written("tiny-llama")
        data = bytearray(runs[0].read_bytes())
        data[-3] ^= 1
        runs[0].write_bytes(data)
        code, said = self.verify(model)
        self.assertEqual((code, "damaged 1" in said), (1, True), said)

    def test_another_model_has_nothing_to_verify(self):
        self.written("tiny-llama")
        done = support.octavo("kv", "verify", self.store, "-m", support.few_words_model("tiny-gemma3"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("nothing that this model computes", done.stderr)


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
