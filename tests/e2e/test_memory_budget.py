"""--kv-memory is a hard budget: the arena keeps it to the byte, and the process takes what docs/kv_memory.md says."""
import json
import os
import re
import resource
import subprocess
import unittest

import support

MIB = 1 << 20
# Beyond weights and KV memory: the program, tokenizer, activations of 512 rows, logits of 64 rows, two threads.
SCRATCH_BYTES = 32 * MIB
SCRATCH_BYTES_PER_WORD = 512  # of the vocabulary


def run_json(model, *args, prompt="Hello"):
    return json.loads(support.octavo_ok("run", "-m", model, "--raw", "-n", 1, "--json", *args, "-p", prompt))


def info(model, *args):
    return json.loads(support.octavo_ok("info", model, "--json", *args))


def mem_available():
    with open("/proc/meminfo", encoding="ascii") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("MemAvailable:"))


def peak_resident_bytes(*args):
    """The process's most resident bytes at any time, mapped files' pages included, and what it says on stderr."""
    process = subprocess.Popen([support.OCTAVO, *map(str, args)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                               text=True)
    with process.stderr:
        stderr = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise AssertionError(stderr)
    peak = usage.ru_maxrss * 1024
    # Linux counts what this process held when it started the other one; it must not be that.
    assert peak > resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return peak, stderr


class Arena(unittest.TestCase):
    def test_one_group_gets_every_block_that_fits(self):
        for kv_type in ("f32", "f16", "q8_0"):
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
        # While weights are packed, the pages of the tensor at work are there too: before there is any KV memory.
        largest_tensor = next(part["bytes"] for part in report["by_part"] if part["part"] == "embedding")
        bound = (memory["weight_bytes"] + max(budget, largest_tensor) + SCRATCH_BYTES
                 + SCRATCH_BYTES_PER_WORD * report["vocabulary"]["tokens"])
        print(f"{model.name}, {layout}: at most {peak / MIB:.1f} MiB resident, bound {bound / MIB:.1f}: weights "
              f"{memory['weight_bytes'] / MIB:.1f}, KV {budget / MIB:.1f}, largest tensor "
              f"{largest_tensor / MIB:.1f}")
        self.assertLessEqual(peak, bound)
        self.assertGreater(peak, memory["weight_bytes"] + 0.8 * memory["kv_bytes"])  # the measure sees both

    def test_resident_memory_while_a_prompt_fills_the_arena(self):
        self.check(support.SMOLLM2)

    def test_resident_memory_of_the_contiguous_layout(self):
        self.check(support.SMOLLM2, "contiguous")

    def test_resident_memory_with_a_large_vocabulary(self):
        self.check(support.GEMMA3)


if __name__ == "__main__":
    unittest.main()
