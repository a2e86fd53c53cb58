"""What the end-to-end tests share: the program under test, its models, and a terminal to run it in.

CTest sets the environment: OCTAVO (the program), OCTAVO_TEST_DATA (models, see scripts/setup --test),
OCTAVO_SANITIZED (1 when the program was built with sanitizers, and so is several times slower).
"""
import hashlib
import json
import multiprocessing
import os
import pathlib
import subprocess
import tempfile

import gguf
import numpy as np

import dequantize_model
import synth_model
from gguf_file import GgufFile
from made_models import make_once

OCTAVO = os.environ["OCTAVO"]
TEST_DATA = pathlib.Path(os.environ["OCTAVO_TEST_DATA"])
SANITIZED = os.environ.get("OCTAVO_SANITIZED") == "1"
SOURCE_DATA = pathlib.Path(__file__).parent.parent / "data"
TIMEOUT_S = 600

SMOLLM2 = TEST_DATA / "SmolLM2-135M-Instruct.Q4_1.gguf"
GEMMA3 = TEST_DATA / "gemma-3-270m-q4_k_m.gguf"
ORACLE_CACHE = TEST_DATA / "oracle"
FEW_WORDS = 2000  # of tiny models whose words do not matter
ISA_LEVELS = ("scalar", "avx2", "avxvnni", "avx512vnni", "amx", "amxbf16", "neon")


def octavo(*args, stdin="", timeout=TIMEOUT_S, env=None):
    """Runs the program to its end; stdout and stderr as text."""
    return subprocess.run([OCTAVO, *map(str, args)], input=stdin, capture_output=True, text=True, timeout=timeout,
                          env={**os.environ, **(env or {})}, check=False)


def octavo_ok(*args, stdin=""):
    """Like octavo(), for calls that must succeed; returns stdout."""
    done = octavo(*args, stdin=stdin)
    if done.returncode != 0:
        raise AssertionError(f"octavo {' '.join(map(str, args))[:200]}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


def tokenize(model, text, *args):
    return [int(i) for i in octavo_ok("tokenize", "-m", model, "--ids", *args, text).split()]


def logits(model, ids, *args):
    """float32 [len(ids), vocab_size] as `octavo logits` writes it."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "logits.npy")
        octavo_ok("logits", "-m", model, "--ids", ",".join(map(str, ids)), "--out", path, *args)
        return np.load(path)


def logits_json(model, ids, *args):
    return json.loads(octavo_ok("logits", "-m", model, "--ids", ",".join(map(str, ids)), "--json", *args))


def supported_isa_levels():
    """Levels that this processor runs. The others are printed: nothing about them was tested."""
    supported, missing = [], []
    for level in ISA_LEVELS:
        done = octavo("logits", "-m", few_words_model("tiny-qwen3"), "--ids", "1", "--isa", level, "--json")
        (supported if done.returncode == 0 else missing).append(level)
    print(f"instruction sets tested: {', '.join(supported)}; not run, this processor lacks them: {', '.join(missing)}")
    return supported


def in_own_process(function, *args, **options):
    """Runs a function that takes much memory: the tests measure what the program takes, and Linux counts to a process
    what the one that started it held."""
    process = multiprocessing.get_context("spawn").Process(target=function, args=args, kwargs=options)
    process.start()
    process.join()
    if process.exitcode != 0:
        raise AssertionError(f"{function.__name__}: exit code {process.exitcode}")


def tiny_model(shape, vocab_from=SMOLLM2, **options):
    """A small model with random weights and the words of another file, made on first use: see tools/synth_model.py for
    the options."""
    source = b"".join(path.read_bytes() for path in sorted(pathlib.Path(synth_model.__file__).parent.glob("synth_*.py")))
    key = hashlib.sha256(source + repr((shape, vocab_from.name, sorted(options.items()))).encode()).hexdigest()[:16]

    def write(out):
        if "words" in options:  # so few that this process grows by little
            synth_model.write_model(out, shape, vocab_from, **options)
        else:
            in_own_process(synth_model.write_model, out, shape, vocab_from, **options)

    return make_once(TEST_DATA / "synthetic" / f"{shape}-{key}.gguf", write)


def few_words_model(shape, **options):
    """A tiny model with some words alone, for tests that ask nothing of its words: to make it, to load it and to compute
    and compare its logits takes a tenth of the time."""
    return tiny_model(shape, words=FEW_WORDS, **options)


def ranking_model(model):
    """A model with a ranking head of two random rows beside what it has, made on first use."""
    return make_once(TEST_DATA / "synthetic" / f"{model.stem}-ranks.gguf",
                     lambda out: in_own_process(write_ranking_model, model, out))


def write_ranking_model(model, out):
    reader = GgufFile(model)
    arch = reader.fields["general.architecture"].contents()
    writer = gguf.GGUFWriter(out, arch)
    for name, field in reader.fields.items():
        if not name.startswith("GGUF.") and name != "general.architecture":
            sub_type = field.types[-1] if field.types[0] == gguf.GGUFValueType.ARRAY else None
            writer.add_key_value(name, field.contents(), field.types[0], sub_type=sub_type)
    writer.add_classifier_output_labels(["yes", "no"])
    for tensor in reader.tensors:
        writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
    width = int(reader.fields[f"{arch}.embedding_length"].contents())
    writer.add_tensor("cls.output.weight", np.random.default_rng(1).normal(size=(2, width)).astype(np.float32) / width)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def float_model(model):
    """A model with its weights as f16, made on first use."""
    source = pathlib.Path(dequantize_model.__file__).read_bytes()
    return make_once(TEST_DATA / "float" / f"{model.stem}-{hashlib.sha256(source).hexdigest()[:16]}.gguf",
                     lambda out: in_own_process(dequantize_model.dequantize_model, model, out))


def english_text():
    return (SOURCE_DATA / "text" / "english.txt").read_text(encoding="utf-8")


def english_ids(model, count):
    """The first tokens of our English text."""
    ids = tokenize(model, english_text())
    if len(ids) < count:
        raise AssertionError(f"the English text has {len(ids)} tokens for {model.name}, expected at least {count}")
    return ids[:count]


def golden(name):
    return json.loads((SOURCE_DATA / "golden" / f"{name}.json").read_text(encoding="utf-8"))
