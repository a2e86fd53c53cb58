"""The files that are compared, how each is made, and what is measured on it."""
import pathlib
import subprocess
import sys
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


class Row(NamedTuple):
    """What is timed. A goal is a ratio to llama.cpp; None: none is set."""

    kind: str  # prefill, decode
    tokens: int  # of the prompt, or made by each sequence
    batch: int = 1
    depth: int = 0
    goal: float | None = None
    avx2_goal: float | None = None

    @property
    def name(self):
        if self.batch > 1:
            return f"{self.batch} sequences"
        return f"{self.kind} {self.tokens}" + (f" at depth {self.depth}" if self.depth else "")


class File(NamedTuple):
    key: str
    title: str
    rows: tuple
    synthetic: tuple = ()  # arguments of tools/synth_model.py
    octavo_reads: str = ""  # another file's key: what Octavo reads while llama.cpp reads this one
    large: bool = False  # one round of it is enough
    huge: bool = False  # over 10 GB: made and measured only where it is named, in as many rounds as are asked


def sequences(number, goal, avx2_goal):
    return Row("decode", 32, batch=number, depth=32, goal=goal, avx2_goal=avx2_goal)


def batched(goal=None, avx2_goal=None):
    return Row("decode", 64, batch=32, depth=32, goal=goal, avx2_goal=avx2_goal)


# What is asked of Mamba-2 hybrids and of latent attention.
HYBRID_ROWS = (Row("prefill", 256, goal=2, avx2_goal=2), Row("decode", 32, goal=1.3, avx2_goal=1.2),
               sequences(8, goal=2, avx2_goal=1.5), Row("decode", 32, depth=4096, goal=1, avx2_goal=1))

Q4_K_M = "Q4_K,Q4_K,Q6_K,Q4_K"  # about the shares that Q4_K_M gives its two types

# llama.cpp has no kernels for rows of weights in Q4_1, Q1_0 or TQ2_0 that take several rows of activations at once; the
# copy in Q4_0 is the same model in its best form. The AVX2 goals are set against that copy.
FILES = (
    File("default", "SmolLM2-135M Q4_1 (the default model)",
         (Row("prefill", 512, goal=8), Row("decode", 128, goal=2.2), batched(6),
          Row("decode", 64, depth=4096, goal=2.4))),
    File("default-q4_0", "SmolLM2-135M Q4_0 copy",
         (Row("prefill", 512, avx2_goal=1.5), Row("decode", 128, avx2_goal=1.3), batched(avx2_goal=1.5),
          Row("decode", 64, depth=4096))),
    File("default-against-q4_0", "SmolLM2-135M: Octavo's Q4_1 against llama.cpp's Q4_0",
         (Row("prefill", 512, goal=2), Row("decode", 128, goal=1.8), batched(2.5),
          Row("decode", 64, depth=4096)), octavo_reads="default"),
    File("gemma", "Gemma-3-270M Q4_K_M", (Row("prefill", 512, goal=2.2), Row("decode", 64, goal=1.7), batched())),
    File("qwen3-0.6b-q4_k", "Qwen3-0.6B shape, Q4_K",
         (Row("prefill", 256, goal=2.5, avx2_goal=2), Row("decode", 64, goal=1.5, avx2_goal=1.2), batched(avx2_goal=2)),
         ("--shape", "qwen3-0.6b", "--type", "Q4_K")),
    File("qwen3-0.6b-q8_0", "Qwen3-0.6B shape, Q8_0", (Row("prefill", 256), Row("decode", 64), batched()),
         ("--shape", "qwen3-0.6b", "--type", "Q8_0")),
    File("qwen3-0.6b-f16", "Qwen3-0.6B shape, F16",
         (Row("prefill", 512, goal=1, avx2_goal=1), Row("decode", 32, goal=1, avx2_goal=1), batched(1, 1)),
         ("--shape", "qwen3-0.6b", "--type", "F16")),
    File("qwen3-0.6b-bf16", "Qwen3-0.6B shape, BF16",
         (Row("prefill", 512, goal=1, avx2_goal=1), Row("decode", 32, goal=1, avx2_goal=1), batched(1, 1)),
         ("--shape", "qwen3-0.6b", "--type", "BF16")),
    File("qwen3-1.7b-q1_0", "Qwen3-1.7B shape, Q1_0",
         (Row("prefill", 256, goal=5, avx2_goal=2.5), Row("decode", 64, goal=2.5, avx2_goal=1.5)),
         ("--shape", "qwen3-1.7b", "--type", "Q1_0", "--embd-type", "Q1_0")),
    File("qwen3-1.7b-tq2_0", "Qwen3-1.7B shape, TQ2_0, embedding Q6_K", (Row("prefill", 256), Row("decode", 64)),
         ("--shape", "qwen3-1.7b", "--type", "TQ2_0", "--embd-type", "Q6_K")),
    File("llama-3.2-1b-q4_k", "Llama-3.2-1B shape, Q4_K", (Row("prefill", 256), Row("decode", 64)),
         ("--shape", "llama-3.2-1b", "--type", "Q4_K")),
    File("qwen3-8b-q1_0", "Qwen3-8B shape, Q1_0", (Row("prefill", 128, goal=5), Row("decode", 32, goal=2.5)),
         ("--shape", "qwen3-8b", "--type", "Q1_0", "--embd-type", "Q1_0"), large=True),
    File("qwen3-8b-q2_0", "Qwen3-8B shape, Q2_0", (Row("prefill", 128, goal=2), Row("decode", 32, goal=1.3)),
         ("--shape", "qwen3-8b", "--type", "Q2_0", "--embd-type", "Q2_0"), large=True),
    File("qwen3-8b-q4_k", "Qwen3-8B shape, Q4_K", (Row("prefill", 128), Row("decode", 32), batched()),
         ("--shape", "qwen3-8b", "--type", "Q4_K"), large=True),
    File("qwen3.5-0.8b-q4_k", "Qwen3.5-0.8B shape, Q4_K and Q6_K",
         (Row("prefill", 512, goal=2, avx2_goal=2), Row("decode", 64, goal=1.3, avx2_goal=1.2)),
         ("--shape", "qwen3.5-0.8b", "--mix", Q4_K_M)),
    File("qwen3.5-4b-q4_k", "Qwen3.5-4B shape, Q4_K and Q6_K",
         (Row("prefill", 512, goal=2, avx2_goal=2), Row("decode", 32, goal=1.3, avx2_goal=1.2), batched()),
         ("--shape", "qwen3.5-4b", "--mix", Q4_K_M)),
    File("phi-4-mini-q4_k", "Phi-4-mini shape, Q4_K and Q6_K",
         (Row("prefill", 256, goal=2, avx2_goal=2), Row("decode", 32, goal=1.3, avx2_goal=1.2)),
         ("--shape", "phi-4-mini", "--mix", Q4_K_M)),
    File("granite-4.1-3b-q4_k", "Granite-4.1-3B shape, Q4_K and Q6_K",
         (Row("prefill", 256, goal=2, avx2_goal=2), Row("decode", 32, goal=1.3, avx2_goal=1.2)),
         ("--shape", "granite-4.1-3b", "--mix", Q4_K_M)),
    File("muse-glimmer-30b-q4_k", "Muse-Glimmer-30B shape with 8 of its 52 layers, Q4_K and Q6_K",
         (Row("prefill", 256, goal=2, avx2_goal=2), Row("decode", 32, goal=1.3, avx2_goal=1.2)),
         ("--shape", "muse-glimmer-30b", "--layers", "8", "--window", "2048", "--mix", Q4_K_M)),
    File("lfm2.5-1.2b-q4_k", "LFM2.5-1.2B shape, Q4_K and Q6_K",
         (Row("prefill", 256, goal=2, avx2_goal=2), Row("decode", 32, goal=1.3, avx2_goal=1.2)),
         ("--shape", "lfm2.5-1.2b", "--mix", Q4_K_M)),
    File("lfm2-8b-a1b-q4_k", "LFM2-8B-A1B shape, Q4_K and Q6_K",
         (Row("prefill", 256, goal=2, avx2_goal=2), Row("decode", 32, goal=1.3, avx2_goal=1.2)),
         ("--shape", "lfm2-8b-a1b", "--mix", Q4_K_M)),
    File("qwen3-coder-next-q4_k", "Qwen3-Coder-Next shape with 8 of its 48 layers, Q4_K and Q6_K",
         (Row("prefill", 256, goal=2, avx2_goal=2), Row("decode", 32, goal=1.3, avx2_goal=1.2)),
         ("--shape", "qwen3-coder-next", "--layers", "8", "--mix", Q4_K_M)),
    File("glm-4.5-air-q4_k", "GLM-4.5-Air shape with 4 of its 46 layers, Q4_K and Q6_K",
         (Row("prefill", 256, goal=2, avx2_goal=2), Row("decode", 32, goal=1.3, avx2_goal=1.2)),
         ("--shape", "glm-4.5-air", "--layers", "4", "--mix", Q4_K_M), large=True),
    File("nemotron-3-nano-30b-q4_k", "Nemotron-3-Nano-30B-A3B shape with 12 of its 52 layers, Q4_K and Q6_K",
         HYBRID_ROWS, ("--shape", "nemotron-3-nano-30b", "--layers", "12", "--mix", Q4_K_M), large=True),
    File("granite-4.0-h-tiny-q4_k", "Granite-4.0-H-Tiny shape, Q4_K and Q6_K",
         HYBRID_ROWS, ("--shape", "granite-4.0-h-tiny", "--mix", Q4_K_M), large=True),
    File("glm-4.7-flash-q4_k", "GLM-4.7-Flash shape with 8 of its 47 layers, Q4_K and Q6_K",
         HYBRID_ROWS, ("--shape", "glm-4.7-flash", "--layers", "8", "--mix", Q4_K_M), large=True),
    File("qwen3-30b-a3b-q4_k", "Qwen3-30B-A3B shape, Q4_K and Q6_K",
         (Row("prefill", 512, goal=2.5, avx2_goal=2), Row("decode", 32, goal=1.3, avx2_goal=1.2),
          sequences(8, goal=2, avx2_goal=1.5)),
         ("--shape", "qwen3-30b-a3b", "--mix", Q4_K_M), huge=True),
    File("gpt-oss-20b-mxfp4", "gpt-oss-20b shape, MXFP4",
         (Row("prefill", 512, goal=2.5, avx2_goal=2), Row("decode", 32, goal=1.3, avx2_goal=1.2),
          sequences(8, goal=2, avx2_goal=1.5)),
         ("--shape", "gpt-oss-20b", "--type", "MXFP4", "--embd-type", "Q8_0"), huge=True),
)


# The files of the picture in docs/benchmarks.md: a small one, 4B, 8B and a mixture.
FOUR = ("gemma", "qwen3.5-4b-q4_k", "qwen3-8b-q4_k", "gpt-oss-20b-mxfp4")


class Models:
    """Where the files are; those that can be made are, once."""

    def __init__(self, folder, llama_cpp, default_model, gemma):
        self.folder, self.llama_cpp = folder, llama_cpp
        self.given = {"default": default_model, "gemma": gemma}

    def path(self, file):
        """The file of llama.cpp."""
        if file.key in self.given:
            path = self.given[file.key]
            if not path.exists():
                raise SystemExit(f"{path}: not there; scripts/setup --test fetches it")
            return path
        name = "default-q4_0" if file.octavo_reads else file.key
        path = self.folder / f"{name}.gguf"
        if not path.exists():
            self.make(file, path)
        return path

    def octavo_path(self, file):
        return self.given[file.octavo_reads] if file.octavo_reads else self.path(file)

    def make(self, file, path):
        print(f"making {path}", file=sys.stderr)
        self.folder.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(".partial.gguf")
        if file.synthetic:
            vocabulary = self.llama_cpp / "source/models/ggml-vocab-qwen2.gguf"
            command = [sys.executable, ROOT / "tools/synth_model.py", partial, *file.synthetic,
                       "--vocab-from", vocabulary]
        else:
            command = [self.llama_cpp / "bin/llama-quantize", "--allow-requantize", self.given["default"], partial,
                       "Q4_0"]
        done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{' '.join(map(str, command))}:\n{done.stdout[-1000:]}{done.stderr[-1000:]}")
        partial.rename(path)
