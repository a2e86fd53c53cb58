#!/usr/bin/env python3
"""Hashes of logits, to see that a change of the sources changes no bit of them.

    logit_hashes.py PROGRAM [PROGRAM] [--models FILE...] [--isa NAME...] [--out FILE]

Runs `octavo logits` of PROGRAM on each model, with every instruction set that the machine runs, every type of KV cache,
chunks of 1, 7, 64 and the whole, and 1 and 2 threads, and prints one line a case with the SHA-256 of the logits. With
two programs each case runs both, and the lines that differ are printed: exit code 1 if there is one. Without --models:
the tiny models of the end-to-end tests, of every architecture. (Several sequences in one step, preemption and sharing
are compared to the bit by tests/e2e/test_same_bits.py and tests/engine/same_bits_test.cc, within one program.)
"""
import argparse
import hashlib
import itertools
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests/e2e")]
KV_TYPES = ("i16", "f16", "bf16", "q8_0", "f32")
CHUNKS, THREADS = (1, 7, 64, 512), (1, 2)
NUM_IDS = 80


def tiny_models():
    import support  # the folder of test data is named in its environment
    yield support.SMOLLM2
    for shape in ("tiny-llama", "tiny-qwen2", "tiny-qwen3"):
        yield support.tiny_model(shape, types=("Q4_K", "Q6_K", "Q8_0", "F16"))
    yield support.tiny_model("tiny-llama", types=("Q4_1",), rope_freqs=True, untied=True)
    yield support.tiny_model("tiny-gemma3", types=("Q4_K", "F32"), window=19)


def hash_of(program, model, isa, kv_type, chunk, threads):
    """None: the machine lacks the instruction set."""
    ids = ",".join(str((7 * i * i + 3 * i + 11) % 480) for i in range(NUM_IDS))
    with tempfile.NamedTemporaryFile(suffix=".npy") as out:
        done = subprocess.run([program, "logits", "-m", model, "--ids", ids, "--out", out.name, "--isa", isa, "--kv-type",
                               kv_type, "--chunk", str(chunk), "--threads", str(threads)],
                              capture_output=True, text=True, check=False)
        if done.returncode and "is not supported by this processor" in done.stderr:
            return None
        if done.returncode:
            raise SystemExit(f"{model} {isa}: {done.stderr[-500:]}")
        return hashlib.sha256(pathlib.Path(out.name).read_bytes()).hexdigest()[:24]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="+", metavar="PROGRAM")
    parser.add_argument("--models", nargs="+", type=pathlib.Path)
    parser.add_argument("--isa", nargs="+", default=["scalar", "avx2", "avxvnni", "avx512vnni", "amx", "amxbf16", "neon"])
    parser.add_argument("--out", type=argparse.FileType("w"), default=sys.stdout)
    args = parser.parse_args()
    cases = differing = 0
    for model, isa in itertools.product(args.models or tiny_models(), args.isa):
        for kv_type, chunk, threads in itertools.product(KV_TYPES, CHUNKS, THREADS):
            hashes = [hash_of(p, model, isa, kv_type, chunk, threads) for p in args.programs]
            if None in hashes:
                print(f"{model.stem} {isa}: not run here", file=sys.stderr)
                break
            cases += 1
            differing += len(set(hashes)) > 1
            if len(hashes) == 1 or len(set(hashes)) > 1:
                print(model.stem, isa, kv_type, chunk, threads, *hashes, file=args.out, flush=True)
    print(f"{cases} cases, {differing} differ", file=sys.stderr)
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
