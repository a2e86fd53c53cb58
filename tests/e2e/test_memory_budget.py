"""--kv-memory is a hard budget: the arena keeps it to the byte, and the process takes what docs/kv_budget.md and
docs/loading.md say."""
import json
import os
import pathlib
import re
import resource
import shutil
import subprocess
import tempfile
import time
import unittest

import support
from server_support import Server

MIB = 1 << 20
# Beyond weights and KV memory: the program, tokenizer, activations of 512 rows, logits of 64 rows, two threads.
SCRATCH_BYTES = 32 * MIB
SCRATCH_BYTES_PER_WORD = 512  # of the vocabulary
# While weights are packed, beyond the packed ones: the program, a piece of the file a thread, the words.
LOADING_BYTES = 32 * MIB
LOADING_BYTES_PER_WORD = 256


def run_json(model, *args, prompt="Hello"):
    return json.loads(support.octavo_ok("run", "-m", model, "--raw", "-n", 1, "--json", *args, "-p", prompt))


def info(model, *args):
    return json.loads(support.octavo_ok("info", model, "--json", *args))


def mem_available():
    with open("/proc/meminfo", encoding="ascii") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("MemAvailable:"))


def status_bytes(pid, field):
    """A size that the system tells of a process, or None, as when it has just ended."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    found = re.search(rf"{field}:\s+(\d+) kB", status)
    return int(found[1]) * 1024 if found else None


def peak_resident_bytes(*args, exit_code=0):
    """The process's most resident bytes at any time, mapped files' pages included, and what it says on stderr."""
    process = subprocess.Popen([support.OCTAVO, *map(str, args)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                               text=True)
    with process.stderr:
        stderr = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != exit_code:
        raise AssertionError(stderr)
    peak = usage.ru_maxrss * 1024
    # Linux counts what this process held when it started the other one; it must not be that. Not this process's own
    # ru_maxrss: what counts there is what CTest held when it started us, which grows with every test.
    held = status_bytes("self", "VmHWM")
    assert peak > held, f"{peak} bytes, of which {held} are ours"
    return peak, stderr


def peak_private_bytes(*args):
    """The most of the process's memory that is its own, not pages of files, as often as it could be looked at."""
    process = subprocess.Popen([support.OCTAVO, *map(str, args)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                               text=True)
    peak = samples = 0
    while process.poll() is None:
        if held := status_bytes(process.pid, "RssAnon"):
            peak = max(peak, held)
            samples += 1
        time.sleep(0.001)
    with process.stderr:
        if process.returncode != 0:
            raise AssertionError(process.stderr.read())
    assert samples > 20, samples
    return peak


class Arena(unittest.TestCase):
    def test_one_group_gets_every_block_that_fits(self):
        for kv_type in ("f32", "i16", "f16", "q8_0"):
            block_bytes = 16 * info(support.SMOLLM2, "--kv-type", kv_type)["memory"]["kv_bytes_per_token"]
            for budget in (block_bytes, 2 * block_bytes - 1, 10_000_019):
                with self.subTest(kv_type=kv_type, budget=budget):
                    memory = run_json(support.SMOLLM2, "--kv-type", kv_type, "--kv-memory", budget)["memory"]
                    self.assertEqual(memory["kv_arena_bytes"], budget // block_bytes * block_bytes)
                    self.assertEqual(memory["max_context"], min(budget // block_bytes * 16, 8192))

    def test_two_groups_leave_less_than_a_block(self):
        model = support.tiny_model("tiny-gemma3", types=("Q4_1",))
        block_bytes = 16 * info(model)["memory"]["kv_bytes_per_token"]
        for budget in (block_bytes, 3 * block_bytes + 1, 1_000_003):
            with self.subTest(budget=budget):
                arena = run_json(model, "--kv-memory", budget)["memory"]["kv_arena_bytes"]
                self.assertLessEqual(arena, budget)
                self.assertGreater(arena, budget - block_bytes)

    def test_the_contiguous_layout_keeps_it_too(self):
        report = info(support.SMOLLM2)
        num_layers, bytes_per_token = report["shape"]["num_layers"], report["memory"]["kv_bytes_per_token"]
        with_growth = bytes_per_token * (num_layers + 1) // num_layers  # a layer that grows is there twice
        memory = run_json(support.SMOLLM2, "--kv-layout", "contiguous", "--kv-memory", 3_000_001)["memory"]
        self.assertEqual(memory["kv_arena_bytes"], 3_000_001 // with_growth * bytes_per_token)

    def test_a_budget_without_room_for_a_block_is_refused_with_both_numbers(self):
        block_bytes = 16 * info(support.SMOLLM2)["memory"]["kv_bytes_per_token"]
        done = support.octavo("run", "-m", support.SMOLLM2, "--kv-memory", block_bytes - 1, "-p", "Hello")
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"a KV memory of {block_bytes - 1} bytes holds no block", done.stderr)
        self.assertIn(f"takes {block_bytes} bytes", done.stderr)

    def test_without_one_it_is_half_of_what_is_free_at_most(self):
        before = mem_available()
        arena = run_json(support.SMOLLM2)["memory"]["kv_arena_bytes"]
        self.assertLessEqual(arena, 1.05 * max(before, mem_available()) / 2)  # others may free some meanwhile
        self.assertGreater(arena, 0)

    def test_it_is_no_larger_than_what_the_context_can_use(self):
        report = info(support.SMOLLM2)
        block_bytes = 16 * report["memory"]["kv_bytes_per_token"]
        memory = run_json(support.SMOLLM2, "--kv-memory", "1GiB")["memory"]
        self.assertEqual(memory["max_context"], 8192)
        self.assertEqual(memory["kv_arena_bytes"], report["memory"]["kv_bytes"] + block_bytes)
        answers = run_json(support.SMOLLM2, "--kv-memory", "1GiB", "--choices", 2, "--max-context", 1000)
        self.assertEqual(answers[0]["memory"]["kv_arena_bytes"], 2 * 1016 * block_bytes // 16)

    def test_the_largest_context_that_info_tells_can_be_had(self):
        here = info(support.SMOLLM2)["here"]
        # Others may have taken memory meanwhile; half of it is more than they take.
        context = max(2, here["largest_context"] // 2)
        self.assertEqual(run_json(support.SMOLLM2, "--max-context", context)["memory"]["max_context"], context)
        self.assertEqual(here["largest_context_by_kv_type"]["i16"], here["largest_context"])


@unittest.skipIf(support.SANITIZED, "sanitizers take memory of their own")
class Process(unittest.TestCase):
    def check(self, model, layout="paged"):
        """Fills a KV memory that is just large enough for a prompt of a thousand tokens."""
        context = 1056
        text = support.english_text()
        ids = support.tokenize(model, text)
        prompt = text[: len(text) * 1000 // len(ids)]
        report = info(model, "--context", context, "--kv-type", "f32")
        memory, num_layers = report["memory"], report["shape"]["num_layers"]
        budget = memory["kv_bytes"] if layout == "paged" else memory["kv_bytes"] * (num_layers + 1) // num_layers
        peak, stderr = peak_resident_bytes("run", "-m", model, "--raw", "-n", 1, "-p", prompt, "--threads", 2,
                                           "--max-context", context, "--kv-type", "f32", "--kv-layout", layout,
                                           "--kv-memory", budget, "--log-level", "info")
        if layout == "paged":
            blocks, cached = map(int, re.search(r"(\d+) blocks, 0 in use, (\d+) cached", stderr).groups())
            self.assertGreaterEqual(cached, 0.9 * blocks)  # the prompt did fill the arena
        bound = (memory["weight_bytes"] + budget + SCRATCH_BYTES
                 + SCRATCH_BYTES_PER_WORD * report["vocabulary"]["tokens"])
        print(f"{model.name}, {layout}: at most {peak / MIB:.1f} MiB resident, bound {bound / MIB:.1f}: weights "
              f"{memory['weight_bytes'] / MIB:.1f}, KV {budget / MIB:.1f}")
        self.assertLessEqual(peak, bound)
        self.assertGreater(peak, memory["weight_bytes"] + 0.8 * memory["kv_bytes"])  # the measure sees both

    def test_resident_memory_while_a_prompt_fills_the_arena(self):
        self.check(support.SMOLLM2)

    def test_resident_memory_of_the_contiguous_layout(self):
        self.check(support.SMOLLM2, "contiguous")

    def test_resident_memory_with_a_large_vocabulary(self):
        self.check(support.GEMMA3)


@unittest.skipIf(support.SANITIZED, "sanitizers take memory of their own")
class Loading(unittest.TestCase):
    """What loading takes by itself: these calls end when the weights are packed, before there is any KV memory."""

    def check(self, model):
        report = info(model)
        packed, words = report["memory"]["weight_bytes"], report["vocabulary"]["tokens"]
        context = report["shape"]["context_length"]
        self.assertLessEqual(packed, 1.02 * report["weight_bytes"])
        # Raw, as a chat template that is not known is refused before any weight is read.
        peak, stderr = peak_resident_bytes("run", "-m", model, "--raw", "-p", "Hello", "--threads", 2, "--max-context",
                                           context, "--kv-memory", "2MiB", exit_code=1)
        self.assertIn(f"max_context is {context} tokens", stderr)
        bound = packed + LOADING_BYTES + LOADING_BYTES_PER_WORD * words
        print(f"{model.name}: at most {peak / MIB:.1f} MiB resident, bound {bound / MIB:.1f}: packed weights "
              f"{packed / MIB:.1f}")
        self.assertLessEqual(peak, bound)
        self.assertGreater(peak, packed)

    def test_packing_keeps_no_pages_of_the_file_default_model(self):
        self.check(support.SMOLLM2)

    def test_packing_keeps_no_pages_of_the_file_one_large_matrix(self):
        self.check(support.GEMMA3)

    def test_a_file_that_is_refused_takes_no_memory_for_weights(self):
        limit = 64 * MIB

        def run(model, *args):
            return subprocess.run([support.OCTAVO, "run", "-m", model, "-p", "Hello", "--threads", "2", *args],
                                  capture_output=True, text=True, check=False,
                                  preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (limit, limit)))

        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "short.gguf")
            shutil.copyfile(support.SMOLLM2, path)
            os.truncate(path, path.stat().st_size - 1)
            for args in ((), ("--no-repack",)):
                done = run(path, *args)
                self.assertEqual(done.returncode, 1)
                self.assertRegex(done.stderr, f"{path}: truncated: tensor")
        # The whole file does not fit.
        done = run(support.SMOLLM2)
        self.assertEqual(done.returncode, 1)
        self.assertIn("no memory left", done.stderr)


@unittest.skipIf(support.SANITIZED, "sanitizers take memory of their own")
class IdleServer(unittest.TestCase):
    """The KV memory of a server grows as it is needed, and goes back to the system when nobody needs it."""

    def resident(self, server):
        return status_bytes(server.process.pid, "RssAnon")

    def test_its_memory_grows_with_requests_and_is_given_back(self):
        with Server("--kv-memory", "512MiB", "--kv-type", "f32", "--idle-release", 1) as server:
            self.assertEqual(server.metric("kv_resident_bytes"), 0)  # calibration leaves nothing behind

            def answer_of(seed):
                prompt = [1 + (37 * seed + 11 * i) % 40_000 for i in range(800)]
                return server.complete(prompt, max_tokens=4)["choices"][0]["text"]

            answer_of(1)  # so that what a step needs beside KV memory is there
            server.wait_until(lambda: server.metric("kv_resident_bytes") == 0, timeout=support.TIMEOUT_S)
            before = self.resident(server)
            used = 800 * 46_080
            answer = answer_of(2)
            # The most that there was, as it may have gone back by now.
            self.assertGreater(status_bytes(server.process.pid, "VmHWM"), before + used)
            server.wait_until(lambda: server.metric("kv_resident_bytes") == 0, timeout=support.TIMEOUT_S)
            self.assertLess(self.resident(server), before + used // 4)
            self.assertEqual(server.metric("kv_blocks_cached"), 0)
            self.assertEqual(answer_of(2), answer)

    def test_an_arena_as_large_as_half_the_machine_takes_no_memory_by_itself(self):
        with Server() as server:
            need = info(support.SMOLLM2)
            bound = (need["memory"]["weight_bytes"] + SCRATCH_BYTES + SCRATCH_BYTES_PER_WORD * need["vocabulary"]["tokens"]
                     + 256 * server.metric("kv_blocks_total"))
            self.assertLess(self.resident(server), bound)


@unittest.skipIf(support.SANITIZED, "sanitizers take memory of their own")
class NoMemoryForAStep(unittest.TestCase):
    def test_the_request_ends_with_an_error(self):
        # The contiguous layout takes 46,080 bytes a token as the prompt is read; loading, with the file mapped, fits.
        prompt = " ".join(["word"] * 6000)
        limit = 360 * MIB
        for command in (("run", "--raw", "-n", 4, "-p", prompt), ("bench", "--prompt", 6000, "--gen", 0, "--repeat", 1)):
            done = subprocess.run(
                [support.OCTAVO, *map(str, command), "--kv-layout", "contiguous", "--kv-type", "f32", "--kv-memory",
                 "400MiB", "--threads", "2"], capture_output=True, text=True, check=False,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn("out of memory: the system had none left for the request", done.stderr)
            self.assertNotIn("internal error", done.stderr)


@unittest.skipIf(support.SANITIZED, "sanitizers take memory of their own")
class NoRepack(unittest.TestCase):
    def check(self, model):
        report = info(model, "--context", 256)
        args = ("run", "-m", model, "--raw", "-n", 8, "-p", "Hello", "--threads", 2, "--max-context", 256,
                "--kv-memory", report["memory"]["kv_bytes"])
        bound = (report["memory"]["no_repack"]["total_bytes"] + SCRATCH_BYTES
                 + SCRATCH_BYTES_PER_WORD * report["vocabulary"]["tokens"])
        own = peak_private_bytes(*args, "--no-repack")
        print(f"{model.name}: with --no-repack at most {own / MIB:.1f} MiB of its own, bound {bound / MIB:.1f}; "
              f"{report['memory']['no_repack']['mapped_weight_bytes'] / MIB:.1f} in the file")
        self.assertLessEqual(own, bound)
        # The measure sees weights that are in memory.
        self.assertGreater(peak_private_bytes(*args), report["memory"]["weight_bytes"])

    def test_what_the_process_has_for_itself_is_small(self):
        self.check(support.SMOLLM2)

    def test_what_the_process_has_for_itself_is_small_with_a_large_vocabulary(self):
        self.check(support.GEMMA3)

    def test_the_report_tells_where_the_weights_are(self):
        memory = run_json(support.SMOLLM2, "--no-repack", "--kv-memory", "32MiB")["memory"]
        need = info(support.SMOLLM2)["memory"]["no_repack"]
        self.assertEqual(memory["mapped_weight_bytes"], need["mapped_weight_bytes"])
        self.assertEqual(memory["weight_bytes"], need["mapped_weight_bytes"] + need["weight_bytes"])


if __name__ == "__main__":
    unittest.main()
