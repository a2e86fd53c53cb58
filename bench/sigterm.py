#!/usr/bin/env python3
"""SIGTERM at random moments: whether a server ends in time, whatever it is doing.

    sigterm.py --program build/release/octavo [-m MODEL.gguf] [--encoder MODEL] [--moments 200] [--seed 1] [--within 5]

Each moment has a server of its own with --drain-timeout 1, on a free port of 127.0.0.1, and one of STAGES in turn: it
loads its model, fetches one from a hub of this script that sends slowly, compiles constraints, or answers. With an
encoder of 8,192 tokens there are two more: it reads long texts, whose clients stay, or hang up; the drain of the
latter has 30 s. After a random part of the stage's time it gets SIGTERM. The table has how many moments each stage
had, the longest time until the process was gone, and how many took longer than --within seconds; the exit code is 1 if
there were any. A process that has not ended after 30 s is killed.
"""
import argparse
import collections
import contextlib
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import attacks
import served

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "e2e"))
import hub_server  # noqa: E402

KILL_S = 30
DRAIN = ("--drain-timeout", "1", "--access-log", "off")


@contextlib.contextmanager
def loading(program, model):
    with served.Server(program, "-m", model, *DRAIN, wait_ready=False) as server:
        yield server


@contextlib.contextmanager
def fetching(program, model):
    content = pathlib.Path(model).read_bytes()
    home = tempfile.mkdtemp()
    hub = hub_server.Hub({"test/model": {"model.gguf": content}}, delay_s=0.05)  # 64 KiB each time
    with hub, served.Server(program, "-m", "test/model", *DRAIN, env=hub.environment(home), wait_ready=False) as server:
        yield server
    shutil.rmtree(home, ignore_errors=True)


@contextlib.contextmanager
def busy(program, model, *floods, drain=DRAIN):
    with served.Server(program, "-m", model, *drain) as server:
        end = time.monotonic() + KILL_S
        for flood in floods:
            threading.Thread(target=flood, args=(server, end, attacks.Answers()), daemon=True).start()
        yield server


def compiling(program, model):
    heavy = attacks.regexes(*attacks.varied(r"[^q\n]*[@oubcd ][^q\n]{80}", 100))
    return busy(program, model, attacks.flood(heavy, at_once=4))


def answering(program, model):
    streams = attacks.completions({}, {"n": 8}, {"guided_json": {"type": "object"}}, {"prompt": "a word " * 1500},
                                  max_tokens=2000)
    texts = lambda: [{"prompt": "the quick brown fox " * (7 * served.MIB // 20)}]  # noqa: E731
    return busy(program, model, attacks.flood(streams, at_once=8), attacks.flood(texts, "/tokenize", at_once=2))


def reading(program, model, drain=DRAIN, hang_up_s=None):
    texts = attacks.flood(lambda: [{"input": ["a " * 8000] * 2}], "/v1/embeddings", at_once=2, hang_up_s=hang_up_s)
    return busy(program, model, texts, drain=drain)


def reading_for_nobody(program, model):
    return reading(program, model, ("--drain-timeout", "30", "--access-log", "off"), hang_up_s=0.5)


# Name, what it does, and the seconds within which the signal comes.
STAGES = [("loading", loading, 1.5), ("fetching", fetching, 2.0), ("compiling", compiling, 3.0),
          ("answering", answering, 3.0)]
STAGES_OF_ENCODERS = [("reading long texts", reading, 3.0),
                      ("reading long texts that nobody waits for", reading_for_nobody, 3.0)]


def time_to_end(begin_stage, program, model, after_s):
    with begin_stage(program, model) as server:
        time.sleep(after_s)
        begin = time.monotonic()
        server.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.process.wait(KILL_S)
        return time.monotonic() - begin


def measure(stages, program, moments, seed):
    """{stage: the seconds of each of its moments}, in one order for one seed. Stages are rows of STAGES, each with its
    model."""
    chance = random.Random(seed)
    times = collections.defaultdict(list)
    for i in range(moments):
        name, begin_stage, length_s, model = stages[i % len(stages)]
        after_s = chance.random() * length_s
        times[name].append(time_to_end(begin_stage, program, model, after_s))
        print(f"{i + 1}: {name} for {after_s:.3f} s, ended after {times[name][-1]:.3f} s", file=sys.stderr, flush=True)
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("-m", "--model", default=served.default_model())
    parser.add_argument("--encoder")
    parser.add_argument("--moments", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--within", type=float, default=5)
    options = parser.parse_args()
    stages = [(*stage, options.model) for stage in STAGES]
    if options.encoder:
        stages += [(*stage, options.encoder) for stage in STAGES_OF_ENCODERS]
    times = measure(stages, options.program, options.moments, options.seed)
    print(f"| stage | moments | longest time to end | over {options.within:g} s |\n|---|---:|---:|---:|")
    num_late = 0
    for name, taken in times.items():
        late = sum(one > options.within for one in taken)
        num_late += late
        print(f"| {name} | {len(taken)} | {max(taken):.2f} s | {late} |")
    return 1 if num_late else 0


if __name__ == "__main__":
    sys.exit(main())
