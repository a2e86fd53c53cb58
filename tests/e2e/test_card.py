#!/usr/bin/env python3
"""`--device cuda`: a card gives the processor's bits, whatever layers it computes, and its faults are told.

The card is emulated on the processor (tests/gpu/standin), so this tells nothing of speed.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import gguf
import numpy as np
import support
import synth_model
from server_support import Server

STANDIN = os.environ["OCTAVO_STANDIN_CUDA"]
os.environ["LD_LIBRARY_PATH"] = str(pathlib.Path(STANDIN).parent)

IDS = [(7 * i * i + 3 * i + 11) % 480 for i in range(24)]
MODELS = {
    "llama": ("tiny-llama", {"types": ("Q4_K", "Q6_K", "Q8_0", "F16"), "rope_freqs": True}),
    "qwen2": ("tiny-qwen2", {"types": ("Q5_K", "F32", "BF16")}),
    "qwen3": ("tiny-qwen3", {"types": ("Q4_0", "Q4_1", "Q5_0", "Q1_0")}),
    "mistral3": ("tiny-mistral3", {"types": ("Q4_K",), "yarn": 256.0}),
    "arcee": ("tiny-arcee", {"types": ("Q4_K", "Q8_0")}),
    "qwen2vl": ("tiny-qwen2vl", {"types": ("Q4_K", "Q8_0")}),
    "phi3": ("tiny-phi3", {"types": ("Q4_K", "Q8_0")}),
    "deci": ("tiny-deci", {"types": ("Q4_K", "Q8_0")}),
    "glm4": ("tiny-glm4", {"types": ("Q4_K", "Q8_0")}),
    "smollm3": ("tiny-smollm3", {"types": ("Q4_K", "Q6_K")}),
    "gemma2": ("tiny-gemma2", {"types": ("Q8_0", "Q4_K"), "window": 19}),
    "gemma3": ("tiny-gemma3", {"types": ("Q8_0", "Q4_K"), "window": 19}),
    "qwen35": ("tiny-qwen35", {"types": ("Q8_0", "Q4_K", "F16", "F32")}),
}
MIXTURES = {
    "qwen3moe": ("tiny-qwen3moe", {"types": ("Q4_K", "Q6_K", "Q8_0")}),
    "mixtral": ("tiny-mixtral", {"types": ("Q4_K", "F16", "Q5_0")}),
    "gpt-oss": ("tiny-gpt-oss", {"types": ("Q8_0", "Q4_0"), "window": 19}),
    "mistral3 with experts": ("tiny-mistral3-experts", {"types": ("Q5_K",)}),
    "qwen35moe": ("tiny-qwen35moe", {"types": ("Q4_K", "Q8_0")}),
    "gemma4 with experts": ("tiny-gemma4-experts", {"types": ("Q8_0", "Q4_K"), "window": 19}),
}
# Levels whose order of sums the card has; portable bits have one order for all.
ORDERS = [("--isa", level) for level in support.supported_isa_levels() if level in ("avx2", "avxvnni", "avx512vnni", "amx")]
ORDERS.append(("--bits", "portable"))


def model_of(name):
    shape, options = (MODELS | MIXTURES)[name]
    return support.few_words_model(shape, **options)


def whole_vocabulary():
    """A model whose output matrix is large beside its layers."""
    return support.tiny_model("tiny-llama", types=("Q4_K", "Q6_K", "Q8_0", "F16"), rope_freqs=True)


def layers_of(name):
    """All layers on the card, without the output matrix, which takes the emulation most of its time."""
    return ("--device", "cuda", "--gpu-layers", str(synth_model.SHAPES[(MODELS | MIXTURES)[name][0]].layers))


class SameBits(unittest.TestCase):
    def expect_same(self, model, *args, device=("--device", "cuda"), ids=tuple(IDS)):
        expected = support.logits(model, ids, *args)
        self.assertTrue(np.isfinite(expected).all())
        found = support.logits(model, ids, *args, *device)
        self.assertEqual(found.tobytes(), expected.tobytes(), (model, args, device))

    def test_every_family_has_the_processors_logits(self):
        for name in MODELS:
            for order in ORDERS:
                with self.subTest(model=name, order=order):
                    device = ("--device", "cuda") if order == ORDERS[0] else layers_of(name)
                    self.expect_same(model_of(name), *order, device=device)

    def test_keys_and_values_as_halves(self):
        for name in ("llama", "gemma3"):
            with self.subTest(model=name):
                self.expect_same(model_of(name), "--kv-type", "f16", *ORDERS[0])

    def test_any_number_of_layers_and_any_cut_into_steps(self):
        for name, layers, chunk in (("llama", "1", "7"), ("llama", "2", "1"), ("llama", "all", "1"),
                                    ("llama", "all", "7"), ("qwen35", "1", "7"), ("qwen35", "3", "1"),
                                    ("qwen35", "all", "7"), ("deci", "1", "7"), ("deci", "3", "1")):
            with self.subTest(model=name, layers=layers, chunk=chunk):
                self.expect_same(model_of(name), "--chunk", chunk, *ORDERS[0],
                                 device=("--device", "cuda", "--gpu-layers", layers))

    def test_every_mixture_has_the_processors_logits(self):
        for name in MIXTURES:
            for order in ORDERS:
                with self.subTest(model=name, order=order):
                    self.expect_same(model_of(name), *order, device=layers_of(name))

    def test_mixtures_in_steps_of_any_size(self):
        some = ("--device", "cuda", "--gpu-layers", "1")
        for name, chunk, device, count in (("qwen3moe", "1", layers_of("qwen3moe"), 9), ("gpt-oss", "7", some, 24),
                                           ("gemma4 with experts", "5", some, 12),
                                           ("mistral3 with experts", "128", some, 120)):
            with self.subTest(model=name, chunk=chunk):
                self.expect_same(model_of(name), "--chunk", chunk, *ORDERS[0], device=device, ids=[7 * i for i in range(count)])

    def test_requests_together(self):
        for name in ("qwen3moe", "gpt-oss"):
            with self.subTest(model=name):
                self.assertEqual(self.answers(name), self.answers(name, *layers_of(name)))

    def answers(self, name, *args):
        """The answers to requests that are computed together."""
        lines = [{"custom_id": str(i), "method": "POST", "url": "/v1/completions",
                  "body": {"prompt": f"Number {i}" * (i + 1), "max_tokens": 5, "seed": i, "logprobs": 1}} for i in range(4)]
        with tempfile.TemporaryDirectory() as folder:
            requests, answers = pathlib.Path(folder, "requests.jsonl"), pathlib.Path(folder, "answers.jsonl")
            requests.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
            support.octavo_ok("run", "-m", model_of(name), "--batch", requests, "--output", answers, *args)
            found = [json.loads(line) for line in answers.read_text(encoding="utf-8").splitlines()]
        self.assertEqual(len(found), len(lines))
        return {a["custom_id"]: a["response"]["body"]["choices"] for a in found}

    def test_a_router_that_scores_no_number_ends_the_request(self):
        with tempfile.TemporaryDirectory() as folder:
            model = pathlib.Path(folder, "model.gguf")
            shutil.copyfile(model_of("qwen3moe"), model)
            reader = gguf.GGUFReader(model, "r+")
            next(t for t in reader.tensors if t.name == "blk.1.ffn_gate_inp.weight").data[3, 5] = np.nan
            reader.data.flush()
            for device in ((), layers_of("qwen3moe")):
                result = support.octavo("run", "-m", model, "-p", "One", "--raw", "-n", "2", *device)
                self.assertEqual(result.returncode, 1)
                self.assertIn("numbers for the request are not finite", result.stderr)


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
        model = support.few_words_model("tiny-qwen35", types=("Q8_0", "Q4_K", "F16"), head=True)
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
        arguments = [model_of("llama"), "--tokens", "12", "--requests", "3", "--streams", "2", "--stream-tokens", "8",
                     "--no-speeds"]
        found = subprocess.run([sys.executable, tool, *arguments], capture_output=True, text=True, check=False)
        self.assertEqual((found.returncode, found.stderr), (0, ""))
        self.assertRegex(found.stdout, r"7 of 7 alike \| [\d.]+, p99 [\d.]+ \(")


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
        placed = self.placed(whole_vocabulary(), OCTAVO_CARD_MEMORY="500000000", OCTAVO_CARD_HIDDEN="445000000")
        self.assertRegex(placed, r"^Emulated card with (\d+) of \1 layers$")


class Info(unittest.TestCase):
    def info(self, *args, **env):
        return support.octavo("info", whole_vocabulary(), *args, env={**os.environ, **env})

    def test_it_says_how_many_layers_fit(self):
        result = self.info("--device", "cuda", "-c", "256")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, r"on Emulated card [\d.]+ GiB of 1.0 GiB are free: 2 of 2 layers and the output matrix\n")
        self.assertRegex(result.stdout, r"together +[\d.]+ MiB  with keys and values of 256 tokens")

    def test_and_why_no_more_do(self):
        report = json.loads(self.info("--device", "auto", "--json", "-c", "256", OCTAVO_CARD_MEMORY="303000000").stdout)
        self.assertLess(report["card"]["layers"], 2)
        self.assertEqual(report["card"]["reason"], "its memory is full then")

    def test_as_many_as_are_asked_for(self):
        report = json.loads(self.info("--device", "cuda", "--gpu-layers", "1", "--json", "-c", "256").stdout)
        self.assertEqual((report["card"]["layers"], report["card"]["output"]), (1, False))

    def test_without_a_card(self):
        without = self.info("--device", "auto", "--json", LD_LIBRARY_PATH="")
        self.assertNotIn("card", json.loads(without.stdout))
        failed = self.info("--device", "cuda", LD_LIBRARY_PATH="")
        self.assertEqual(failed.returncode, 1)
        self.assertIn("device: found cuda, but no driver of an NVIDIA card is installed", failed.stderr)


class Rates(unittest.TestCase):
    def test_bench_measures_the_cards_memory(self):
        result = support.octavo("bench", "-m", model_of("llama"), "--prompt", "0", "--gen", "3", "--batch", "1", "--repeat", "1",
                                "--device", "cuda", "--format", "json")
        self.assertEqual(result.returncode, 0, result.stderr)
        report = json.loads(result.stdout)
        self.assertTrue(report["device"]["has_all"])
        self.assertGreater(min(report["device"]["read_gb_per_s"], report["device"]["copy_gb_per_s"],
                               report["results"][0]["device_memory_share"]), 0)


class Faults(unittest.TestCase):
    def error_of(self, *args, tokens=2, **env):
        """The one line of a run that fails."""
        result = support.octavo("run", "-m", model_of("llama"), "-p", "One", "--raw", "-n", str(tokens), *args,
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

    def test_auto_goes_on_where_a_card_fails_while_it_is_loaded(self):
        result = support.octavo("run", "-m", model_of("llama"), "-p", "One", "--raw", "-n", "2", "--device", "auto",
                                env={**os.environ, "OCTAVO_CARD_FAILS": "cuMemcpyHtoDAsync_v2:3"})
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_a_driver_that_is_too_old(self):
        self.assertIn("is for CUDA 10.2, expected 11.4 or later",
                      self.error_of("--device", "cuda", OCTAVO_CARD_DRIVER="10020"))

    def test_a_card_that_is_too_old(self):
        self.assertIn("compute capability 7.0, expected 8.0 or newer",
                      self.error_of("--device", "cuda", OCTAVO_CARD_MAJOR="7"))

    def test_values_that_are_not_as_wide_as_keys(self):
        model = support.few_words_model("tiny-llama-values", types=("Q4_K", "Q6_K"))
        result = support.octavo("run", "-m", model, "-p", "One", "--raw", "-n", "2", "--device", "cuda")
        self.assertEqual(result.returncode, 1, result.stdout)
        self.assertIn("computes no layer of this model: its values are not as wide as its keys", result.stderr)

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
        for function, calls in (("cuLaunchKernel", 20), ("cuMemcpyDtoHAsync_v2", 2), ("cuMemcpyDtoHAsync_v2", 3),
                                ("cuStreamBeginCapture_v2", 1), ("cuStreamEndCapture", 1)):
            with self.subTest(function=function, calls=calls):
                line = self.error_of("--device", "cuda", tokens=5, OCTAVO_CARD_FAILS=f"{function}:{calls}")
                self.assertIn("Emulated card failed", line)

    def test_repeated_steps_of_a_decode_are_one_launch_each(self):
        line = self.error_of("--device", "cuda", tokens=5, OCTAVO_CARD_FAILS="cuGraphLaunch:2")
        self.assertIn("Emulated card failed to run the graph of a step", line)

    def test_a_driver_that_makes_no_graph_gets_its_launches_one_by_one(self):
        def text(**env):
            return support.octavo("run", "-m", model_of("llama"), "-p", "One", "--raw", "-n", "5", "--temp", "0", "--device",
                                  "cuda", env={**os.environ, **env})
        expected, found = text(), text(OCTAVO_CARD_FAILS="cuGraphInstantiateWithFlags:1")
        self.assertEqual((expected.returncode, expected.stderr), (0, ""))
        self.assertEqual((found.returncode, found.stdout, found.stderr), (0, expected.stdout, ""))

    def test_a_server_whose_card_has_failed_says_so(self):
        with Server("--device", "cuda", model=model_of("llama"), env={"OCTAVO_CARD_FAILS": "cuGraphLaunch:3"}) as server:
            self.assertEqual(server.get("/ready")[0], 200)
            self.assertIn("Emulated card with", json.loads(server.get("/slots")[2])[0]["device"])
            status, _, text = server.request("POST", "/v1/completions", {"prompt": "One", "max_tokens": 16})
            self.assertEqual(status, 500)
            self.assertIn("Emulated card failed to run the graph of a step", text)
            self.assertEqual(server.get("/health")[0], 200)
            server.wait_until(lambda: server.get("/ready")[0] == 503)
            status, _, text = server.get("/ready")
            self.assertEqual((status, json.loads(text)["error"]["code"]), (503, "device_failed"))
            self.assertRegex(server.get("/metrics")[2], r'octavo:device_up\{model_name="[^"]*",device="Emulated card [^"]*"\} 0')

    def test_a_level_whose_order_the_card_has_not_got(self):
        self.assertIn("found cuda, but the card has not got the order in which level scalar adds up",
                      self.error_of("--device", "cuda", "--isa", "scalar"))

    def test_a_driver_that_does_not_take_the_kernels(self):
        self.assertIn("does not take the kernels: CUDA_ERROR_INVALID_PTX",
                      self.error_of("--device", "cuda", OCTAVO_CARD_FAILS="cuModuleLoadData:1"))

    def test_what_the_card_has_no_kernels_for(self):
        model = support.few_words_model("tiny-qwen3", types=("IQ4_XS",))
        result = support.octavo("run", "-m", model, "-p", "One", "--raw", "-n", "2", "--device", "cuda")
        self.assertEqual(result.returncode, 1)
        self.assertIn("IQ4_XS, for which the card has no kernel", result.stderr)
        result = support.octavo("run", "-m", model_of("llama"), "-p", "One", "--raw", "-n", "2", "--device", "cuda",
                                "--kv-type", "q8_0")
        self.assertEqual(result.returncode, 1)
        self.assertIn("--kv-type i16 and f16 alone", result.stderr)


if __name__ == "__main__":
    unittest.main()
