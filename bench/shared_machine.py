#!/usr/bin/env python3
"""Speeds beside others who use the machine's processors, against each fixed number of threads.

    shared_machine.py --program build/release/octavo [--old OTHER] [-m MODEL.gguf] [--rounds 5] [--places alone,busy]

In each place the program runs with all its threads, whose number follows what others leave, and with each smaller
--threads; with --old that program as well, for which all its threads are a fixed number. They take turns, --rounds times.
A run is `octavo bench`: a prompt of 512 tokens, one answer, and 32 at a time. The table has tokens per second, medians,
and what the first program reaches of the best fixed number. Places:

    alone     nobody else
    busy      a process that keeps one CPU busy
    two       two of them
    flicker   a process that is busy for 10 ms and asleep for 10 ms
    nice      a busy process at nice 19
    quota1.5  the program is stopped when it has used 150 ms of processor time within 100 ms; so in quota0.7, 70 ms
"""
import argparse
import contextlib
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import threading
import time

BUSY = "while True: pass"
FLICKER = """import time
while True:
    end = time.perf_counter() + 0.01
    while time.perf_counter() < end: pass
    time.sleep(0.01)"""
PERIOD_S = 0.1
PLACES = {"alone": [], "busy": [(BUSY, 0)], "two": [(BUSY, 0), (BUSY, 0)], "flicker": [(FLICKER, 0)], "nice": [(BUSY, 19)],
          "quota1.5": [], "quota0.7": []}
TESTS = ("prompt", "one", "many")


@contextlib.contextmanager
def neighbours(place):
    processes = [subprocess.Popen([sys.executable, "-c", code], preexec_fn=lambda nice=nice: os.nice(nice))
                 for code, nice in PLACES[place]]
    try:
        time.sleep(0.2)
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def processor_time(pid):
    """Seconds of a process; all of its threads."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def hold_to_quota(process, quota):
    """As a control group does it: no more than its share of each period, then nothing until the next."""
    with contextlib.suppress(OSError, IndexError):
        while process.poll() is None:
            begin, used = time.monotonic(), processor_time(process.pid)
            while time.monotonic() < begin + PERIOD_S and process.poll() is None:
                if processor_time(process.pid) - used >= quota * PERIOD_S:
                    process.send_signal(signal.SIGSTOP)
                    time.sleep(max(0, begin + PERIOD_S - time.monotonic()))
                    process.send_signal(signal.SIGCONT)
                time.sleep(0.002)


def speeds(program, threads, model, place):
    """Tokens per second of a prompt, of one answer and of 32."""
    command = [program, "bench", *(["-m", model] if model else []), "--prompt", "512", "--gen", "64", "--batch", "1,32",
               "--repeat", "3", "--format", "json", *(["-t", str(threads)] if threads else [])]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        if place.startswith("quota"):
            threading.Thread(target=hold_to_quota, args=(process, float(place[5:])), daemon=True).start()
        out = process.communicate()[0]
    if process.returncode:
        sys.exit(f"{' '.join(command)}: exit code {process.returncode}")
    results = json.loads(out)["results"]
    return dict(zip(TESTS, (result["tokens_per_s"] for result in results), strict=True))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--old")
    parser.add_argument("-m", "--model")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--places", default=",".join(PLACES))
    args = parser.parse_args()
    cpus = len(os.sched_getaffinity(0))
    ways = {"all threads": (args.program, cpus)} | {f"{n} of them": (args.program, n) for n in range(1, cpus)}
    if args.old:
        ways["old program"] = (args.old, cpus)
    print("| place | tokens/s | " + " | ".join(ways) + " | share of the best fixed |\n|---|---|" + "--:|" * (len(ways) + 1))
    for place in args.places.split(","):
        seen = {way: [] for way in ways}
        with neighbours(place):
            for _ in range(args.rounds):
                for way, (program, threads) in ways.items():
                    seen[way].append(speeds(program, threads, args.model, place))
        for test in TESTS:
            medians = {way: statistics.median(run[test] for run in runs) for way, runs in seen.items()}
            fixed = max(speed for way, speed in medians.items() if way != "all threads")
            print(f"| {place} | {test} | " + " | ".join(f"{speed:.0f}" for speed in medians.values())
                  + f" | {medians['all threads'] / fixed:.2f} |", flush=True)


if __name__ == "__main__":
    main()
