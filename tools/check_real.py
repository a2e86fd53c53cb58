#!/usr/bin/env python3
"""Tries models of the hub as their users do, beside llama.cpp, and prints a table that can go into an issue.

    check_real.py Qwen/Qwen3-0.6B-GGUF:Q8_0 ORG/REPO:TYPE model.gguf ... [--llama-cpp PATH] [--octavo PROGRAM]
                  [--threads N]

NAME is a file, a folder of safetensors, a name of `octavo list` (also ollama's, such as qwen3:0.6b), or one of the hub,
with or without hf.co/ in front: `octavo pull` fetches it and goes on where it was cut off. Each model is one row:
whether it loads, an answer, a call of a tool, an answer by a schema, where the model sees (its encoder of pictures is
found and fetched) how many of three questions about a drawn picture are answered right, and the speeds of a prompt of 512 tokens and of 64
behind it. --llama-cpp is llama.cpp's llama-server, or a folder with it in it (or in its bin or build/bin); it adds
whether both make the same prompt of a conversation, how many of 64 greedy tokens are the same, the divergence of their
next tokens' distributions (KL(llama.cpp || Octavo) in nats, over these 64 as far as llama.cpp tells them), and its
speeds. Without --threads each program takes its own number.

The table goes to standard output, a row as soon as it is known; what is being done to standard error. A model that fails
is a row that says why, and the others go on. A greedy token that differs is no failure: two likeliest tokens may be a
rounding apart. Exit code 0: every model passed; 1: one did not load, answered nonsense, broke a format, answered fewer
than two questions about the picture, made another prompt, or has a mean KL above 0.05; 2: wrong usage; 130: Ctrl-C. What llama.cpp fails at is told and is no failure.
Needs nothing but Python and the programs.
"""
import argparse
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile

import real_pictures
import real_questions as questions
from model_server import Failure, ModelServer, last_words

ROOT = pathlib.Path(__file__).resolve().parent.parent
TEXT = ROOT / "tests/data/text/english.txt"
MOST_KL = 0.05  # mean; two ways to round weights of 4 bits are at most a tenth of it apart
CONTEXT = 4096
HUB_PREFIXES = ("https://", "hf.co/", "huggingface.co/")
COLUMNS = ("model", "file", "architecture", "loads", "answer", "tool call", "schema", "pictures", "prompt", "greedy tokens",
           "KL mean, max", "prompt t/s", "answer t/s")
LLAMA_CPP_COLUMNS = ("prompt", "greedy tokens", "KL mean, max")
NONE = "–"


def say(text):
    print(text, file=sys.stderr, flush=True)


class Programs:
    """The programs that are compared, and how each is started."""

    def __init__(self, octavo, llama_server, threads):
        self.octavo, self.llama_server = octavo, llama_server
        self.threads = ["--threads", threads] if threads else []

    def run(self, *args):
        """Octavo's standard output."""
        done = subprocess.run([self.octavo, *map(str, args)], capture_output=True, text=True, check=False,
                              stdin=subprocess.DEVNULL)
        if done.returncode:
            raise Failure(last_words(done.stderr))
        return done.stdout

    def serve_octavo(self, path, context):
        return ModelServer([self.octavo, "serve", "-m", path, "--max-context", context, *self.threads])

    def serve_llama_cpp(self, path, context):
        return ModelServer([self.llama_server, "-m", path, "-c", context, "-np", 1, "-ngl", 0, "--jinja", *self.threads])

    def versions(self):
        lines = [self.run("--version").strip()]
        if self.llama_server:
            done = subprocess.run([self.llama_server, "--version"], capture_output=True, text=True, check=False)
            said = (done.stdout + done.stderr).splitlines()
            lines.append("llama.cpp " + next((line for line in said if "version" in line or "octavo" in line), "unknown"))
        return lines


def machine():
    """The processor and the memory."""
    name, memory = platform.machine(), ""
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
        name = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), name)
        kib = int(pathlib.Path("/proc/meminfo").read_text(encoding="ascii").split()[1])
        memory = f", {kib / 2**20:.0f} GiB"
    except OSError:
        pass  # another system
    return f"{name}, {len(os.sched_getaffinity(0))} logical cores{memory}"


def model_path(programs, name):
    """The model's file or folder, fetched if need be."""
    if os.path.exists(name):
        return name
    for model in json.loads(programs.run("list", "--json"))["models"]:
        if model["name"] == name and model.get("files"):
            return model["files"][0]
    for prefix in HUB_PREFIXES:
        name = name.removeprefix(prefix)
    # Its progress is for the person who waits; where it fails, a second try says why, or goes on.
    if subprocess.run([programs.octavo, "pull", name], stdout=subprocess.DEVNULL, check=False).returncode == 130:
        raise KeyboardInterrupt
    return programs.run("pull", name).strip()


class Check:
    """One model: `cells` of its row by column, and whether it passed."""

    def __init__(self, programs, name):
        self.programs, self.cells, self.passed = programs, {"model": name}, True

    def run(self):
        try:
            path = model_path(self.programs, self.cells["model"])
            info = json.loads(self.programs.run("info", "-m", path, "--json"))
            self.describe(path, info)
            context = min(CONTEXT, info["shape"]["context_length"])
            self.ask_octavo(path, context)
        except Failure as failure:
            self.fail("greedy tokens" if "loads" in self.cells else "loads", failure)
            return
        if self.programs.llama_server:
            try:
                self.ask_llama_cpp(path, context)
            except Failure as failure:
                column = next((c for c in LLAMA_CPP_COLUMNS if c not in self.cells), LLAMA_CPP_COLUMNS[-1])
                self.cells[column] = f"llama.cpp: {failure}"

    def fail(self, column, reason):
        self.passed = False
        self.cells[column] = f"**no**: {reason}"

    def judge(self, column, is_right, text):
        self.cells[column] = text
        if not is_right:
            self.fail(column, text)

    def attempt(self, column, ask, server):
        try:
            self.judge(column, *ask(server))
        except Failure as failure:
            self.fail(column, failure)

    def describe(self, path, info):
        largest = max(info["by_type"], key=lambda kind: kind["bytes"])["type"]
        self.cells["file"] = f"{pathlib.Path(path).name}, {info['file_bytes'] / 2**20:.0f} MiB, {largest}"
        self.cells["architecture"] = info["architecture"]

    def ask_octavo(self, path, context):
        """The prompt's ids, the tokens that follow and the ids of a timed prompt are kept for llama.cpp."""
        say("  octavo: loading, answering")
        with self.programs.serve_octavo(path, context) as server:
            self.cells["loads"] = f"{server.load_s:.1f} s"
            self.has_template = questions.makes_prompts(server)
            if self.has_template:
                self.attempt("answer", questions.first_answer, server)
                self.attempt("tool call", questions.tool_call, server)
                self.attempt("schema", questions.schema_answer, server)
                if real_pictures.sees(server):
                    self.attempt("pictures", real_pictures.answers, server)
            else:
                self.cells["answer"] = "no chat template"
            say("  octavo: greedy tokens, speeds")
            self.ids = questions.prompt_of_octavo(server, self.has_template)
            self.greedy = questions.greedy_tokens(server, self.ids)
            text = server.post("/tokenize", {"content": TEXT.read_text(encoding="utf-8")})["tokens"]
            self.timed = text[:min(questions.PROMPT_TOKENS, context // 2)]
            self.speeds = questions.speeds(server, self.timed)
        self.show_speeds(None)

    def ask_llama_cpp(self, path, context):
        with tempfile.TemporaryDirectory() as folder:
            logits = pathlib.Path(folder, "logits.npy")
            say("  octavo: logits")
            self.programs.run("logits", "-m", path, "--ids", ",".join(map(str, self.ids + self.greedy)), "--out", logits,
                              *self.programs.threads)
            say("  llama.cpp: loading, greedy tokens, distributions, speeds")
            with self.programs.serve_llama_cpp(path, context) as server, questions.Logits(logits) as rows:
                same = questions.prompt_of_llama_cpp(server, self.has_template) == self.ids
                self.judge("prompt", same, "same" if same else "other ids than llama.cpp's")
                self.compare(questions.greedy_tokens(server, self.ids))
                self.judge_kl(questions.divergences(server, self.ids + self.greedy, len(self.ids), rows))
                self.show_speeds(questions.speeds(server, self.timed))

    def compare(self, theirs):
        same = questions.first_difference(self.greedy, theirs)
        length = min(len(self.greedy), len(theirs))
        self.cells["greedy tokens"] = f"all {length} same" if same is None else f"{same} of {length} same"

    def judge_kl(self, kl):
        if not kl:
            return  # an answer that ends at once
        mean = sum(kl) / len(kl)
        self.judge("KL mean, max", mean <= MOST_KL, f"{mean:.1e}, {max(kl):.1e}")

    def show_speeds(self, theirs):
        """Octavo's, and behind them llama.cpp's."""
        for column, ours, other in zip(("prompt t/s", "answer t/s"), self.speeds, theirs or (None, None)):
            self.cells[column] = f"{ours:.1f}" + ("" if other is None else f" / {other:.1f}")

    def row(self):
        """A line of Markdown."""
        return "| " + " | ".join(cell_text(self.cells.get(column, NONE)) for column in COLUMNS) + " |"


def cell_text(text):
    return " ".join(text.split()).replace("|", "\\|")


def find_llama_server(path):
    """The program itself, or in a folder where its builds and packages have it."""
    if path.is_file():
        return path
    found = [path / sub / "llama-server" for sub in (".", "bin", "build/bin") if (path / sub / "llama-server").is_file()]
    if not found:
        raise argparse.ArgumentTypeError(f"found no llama-server at {path}, expected the program or a folder with it")
    return found[0]


def find_octavo():
    built = ROOT / "build/release/octavo"
    return built if built.is_file() else shutil.which("octavo")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+", metavar="NAME")
    parser.add_argument("--llama-cpp", type=lambda text: find_llama_server(pathlib.Path(text)), metavar="PATH")
    parser.add_argument("--octavo", metavar="PROGRAM", help="default: build/release/octavo, else the one of the PATH")
    parser.add_argument("--threads", type=int, metavar="N", help="of both programs")
    args = parser.parse_args()
    args.octavo = args.octavo or find_octavo()
    if not args.octavo:
        parser.error("there is no octavo: build it (scripts/setup), or name it with --octavo")
    return args


def main():
    args = parse_arguments()
    programs = Programs(args.octavo, args.llama_cpp, args.threads)
    print(f"{machine()}; {', '.join(programs.versions())}; speeds are Octavo's"
          + (" / llama.cpp's." if args.llama_cpp else "; there was no llama.cpp to compare with."), end="\n\n")
    print("| " + " | ".join(COLUMNS) + " |", "|---" * len(COLUMNS) + "|", sep="\n", flush=True)
    passed = True
    for name in args.names:
        say(name)
        check = Check(programs, name)
        check.run()
        print(check.row(), flush=True)
        passed &= check.passed
    return 0 if passed else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
