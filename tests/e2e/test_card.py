#!/usr/bin/env python3
"""`--device cuda`: a card gives the processor's bits, whatever layers it computes, and its faults are told.

The card is emulated on the processor (tests/gpu/standin), so this tells nothing of speed.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import support

STANDIN = os.environ["OCTAVO_STANDIN_CUDA"]
os.environ["LD_LIBRARY_PATH"] = str(pathlib.Path(STANDIN).parent)

IDS = [(7 * i * i + 3 * i + 11) % 480 for i in range(24)]
MODELS = {
    "llama": ("tiny-llama", {"types": ("Q4_K", "Q6_K", "Q8_0", "F16"), "rope_freqs": True}),
    "qwen2": ("tiny-qwen2", {"types": ("Q5_K", "F32", "BF16")}),
    "qwen3": ("tiny-qwen3", {"types": ("Q4_0", "Q4_1", "Q5_0", "Q1_0")}),
    "mistral3": ("tiny-mistral3", {"types": ("Q4_K",), "yarn": 256.0}),
    "gemma2": ("tiny-gemma2", {"types": ("Q8_0", "Q4_K"), "window": 19}),
    "gemma3": ("tiny-gemma3", {"types": ("Q8_0", "Q4_K"), "window": 19}),
    "qwen35": ("tiny-qwen35", {"types": ("Q8_0", "Q4_K", "F16", "F32")}),
}
# Levels whose order of sums the card has; portable bits have one order for all.
ORDERS = [("--isa", level) for level in support.supported_isa_levels() if level in ("avx2", "avxvnni", "avx512vnni")]
ORDERS.append(("--bits", "portable"))


def model_of(name):
    shape, options = MODELS[name]
    return support.tiny_model(shape, **options)


class SameBits(unittest.TestCase):
    def expect_same(self, model, *args, device=("--device", "cuda")):
        expected = support.logits(model, IDS, *args)
        self.assertTrue(np.isfinite(expected).all())
        found = support.logits(model, IDS, *args, *device)
        self.assertEqual(found.tobytes(), expected.tobytes(), (model, args, device))

    def test_every_family_has_the_processors_logits(self):
        for name in MODELS:
            for order in ORDERS:
                with self.subTest(model=name, order=order):
                    self.expect_same(model_of(name), *order)

    def test_keys_and_values_as_halves(self):
        for name in ("llama", "gemma3"):
            with self.subTest(model=name):
                self.expect_same(model_of(name), "--kv-type", "f16", *ORDERS[0])

    def test_any_number_of_layers_and_any_cut_into_steps(self):
        for name, layers, chunk in (("llama", "1", "7"), ("llama", "2", "1"), ("llama", "all", "1"),
                                    ("llama", "all", "7"), ("qwen35", "1", "7"), ("qwen35", "3", "1"),
                                    ("qwen35", "all", "7")):
            with self.subTest(model=name, layers=layers, chunk=chunk):
                self.expect_same(model_of(name), "--chunk", chunk, *ORDERS[0],
                                 device=("--device", "cuda", "--gpu-layers", layers))


class Company(unittest.TestCase):
    def answers(self, model, bodies, *args):
        """The answers of requests that are computed together."""
        lines = [json.dumps({"custom_id": str(i), "method": "POST", "url": "/v1/completions", "body": body})
                 for i, body in enumerate(bodies)]
        with tempfile.TemporaryDirectory() as folder:
            requests, output = pathlib.Path(folder, "requests.jsonl"), pathlib.Path(folder, "answers.jsonl")
            requests.write_text("\n".join(lines) + "\n", encoding="utf-8")
            support.octavo_ok("run", "-m", model, "--batch", requests, "--output", output, *args)
            return [json.loads(line)["response"]["body"] for line in output.read_text(encoding="utf-8").splitlines()]

    def test_states_of_prefixes_choices_and_drafts(self):
        """The beginning is found again behind its checkpoint, answers fork, and what the head and a prediction draft is
        right in part."""
        model = support.tiny_model("tiny-qwen35", types=("Q8_0", "Q4_K", "F16"), head=True)
        bodies = [{"prompt": "A long beginning that all of them have. " * 6 + f"Number {i}:", "max_tokens": 12,
                   "temperature": 0.8 * (i % 2), "seed": i, "logprobs": 1, "n": 1 + i % 2} for i in range(3)]
        expected = self.answers(model, bodies, "--draft", "off")
        for body, answer in zip(bodies, expected):
            body["prediction"] = {"type": "content", "content": answer["choices"][0]["text"]}
        small = ("--kv-memory", "1100KiB", "-c", "96")  # two states, one of them a checkpoint
        found = self.answers(model, bodies, *small, "--device", "cuda", "--gpu-layers", "4")
        self.assertEqual([answer["choices"] for answer in found], [answer["choices"] for answer in expected])
        self.assertTrue(any(answer["usage"]["prompt_tokens_details"]["cached_tokens"] for answer in found))


class DeviceCheck(unittest.TestCase):
    def test_its_table(self):
        tool = pathlib.Path(__file__).resolve().parents[2] / "tools" / "device_check.py"
        arguments = [model_of("llama"), "--tokens", "12", "--requests", "3", "--no-speeds"]
        found = subprocess.run([sys.executable, tool, *arguments], capture_output=True, text=True, check=False)
        self.assertEqual((found.returncode, found.stderr), (0, ""))
        self.assertIn("7 of 7 alike", found.stdout)


class Placement(unittest.TestCase):
    def placed(self, model, *args, **env):
        """What the program says of the device."""
        result = support.octavo("logits", "-m", model, "--ids", "1,2,3", "--log-level", "info", "--device", "cuda",
                                *args, env={**os.environ, **env})
        self.assertEqual(result.returncode, 0, result.stderr)
        return re.search("device (.*)", result.stderr).group(1)

    def test_all_layers_and_the_output_matrix(self):
        self.assertRegex(self.placed(model_of("llama")), r"^Emulated card with (\d+) of \1 layers and the output matrix$")

    def test_as_many_layers_as_are_asked_for(self):
        self.assertRegex(self.placed(model_of("llama"), "--gpu-layers", "1"), r"^Emulated card with 1 of \d+ layers$")

    def test_a_card_that_gives_less_than_it_said_gets_fewer_layers(self):
        placed = self.placed(model_of("llama"), OCTAVO_CARD_MEMORY="500000000", OCTAVO_CARD_HIDDEN="445000000")
        self.assertRegex(placed, r"^Emulated card with (\d+) of \1 layers$")


class Faults(unittest.TestCase):
    def error_of(self, *args, **env):
        """The one line of a run that fails."""
        result = support.octavo("run", "-m", model_of("llama"), "-p", "One", "--raw", "-n", "2", *args,
                                env={**os.environ, **env})
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        lines = [line for line in result.stderr.splitlines() if line.startswith("octavo: ")]
        self.assertEqual(len(lines), 1, result.stderr)
        return lines[0]

    def test_no_driver(self):
        self.assertIn("no driver of an NVIDIA card is installed", self.error_of("--device", "cuda", LD_LIBRARY_PATH=""))

    def test_auto_goes_on_without_a_driver(self):
        result = support.octavo("run", "-m", model_of("llama"), "-p", "One", "--raw", "-n", "2", "--device", "auto",
                                env={**os.environ, "LD_LIBRARY_PATH": ""})
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_a_driver_that_is_too_old(self):
        self.assertIn("is for CUDA 10.2, expected 11.0 or later",
                      self.error_of("--device", "cuda", OCTAVO_CARD_DRIVER="10020"))

    def test_a_card_that_is_too_old(self):
        self.assertIn("compute capability 7.0, expected 8.0 or newer",
                      self.error_of("--device", "cuda", OCTAVO_CARD_MAJOR="7"))

    def test_a_card_that_is_full(self):
        self.assertIn("computes no layer of this model: its memory is full",
                      self.error_of("--device", "cuda", OCTAVO_CARD_MEMORY="300000000"))

    def test_every_function_of_the_driver_that_fails_at_load(self):
        for function in ("cuInit", "cuDeviceGetCount", "cuDeviceGet", "cuDeviceGetAttribute", "cuDevicePrimaryCtxRetain",
                         "cuCtxSetCurrent", "cuMemGetInfo_v2", "cuStreamCreate", "cuModuleLoadData",
                         "cuModuleGetFunction", "cuMemAlloc_v2", "cuMemAllocHost_v2", "cuMemcpyHtoDAsync_v2"):
            with self.subTest(function=function):
                self.assertIn("device: found cuda, but", self.error_of("--device", "cuda",
                                                                       OCTAVO_CARD_FAILS=f"{function}:1"))

    def test_a_card_that_fails_in_a_step_ends_the_request(self):
        for function, calls in (("cuLaunchKernel", 20), ("cuMemcpyDtoHAsync_v2", 2), ("cuMemcpyDtoHAsync_v2", 3)):
            with self.subTest(function=function, calls=calls):
                line = self.error_of("--device", "cuda", OCTAVO_CARD_FAILS=f"{function}:{calls}")
                self.assertIn("Emulated card failed", line)

    def test_a_level_whose_order_the_card_has_not_got(self):
        self.assertIn("found cuda, but the card has not got the order in which level scalar adds up",
                      self.error_of("--device", "cuda", "--isa", "scalar"))

    def test_a_driver_that_does_not_take_the_kernels(self):
        self.assertIn("does not take the kernels: CUDA_ERROR_INVALID_PTX",
                      self.error_of("--device", "cuda", OCTAVO_CARD_FAILS="cuModuleLoadData:1"))

    def test_what_the_card_has_no_kernels_for(self):
        model = support.tiny_model("tiny-qwen3", types=("IQ4_XS",))
        result = support.octavo("run", "-m", model, "-p", "One", "--raw", "-n", "2", "--device", "cuda")
        self.assertEqual(result.returncode, 1)
        self.assertIn("IQ4_XS, for which the card has no kernel", result.stderr)
        result = support.octavo("run", "-m", model_of("llama"), "-p", "One", "--raw", "-n", "2", "--device", "cuda",
                                "--kv-type", "q8_0")
        self.assertEqual(result.returncode, 1)
        self.assertIn("--kv-type i16 and f16 alone", result.stderr)


if __name__ == "__main__":
    unittest.main()
