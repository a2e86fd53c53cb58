#!/usr/bin/env python3
"""Speeds beside others who use the machine's processors, against each fixed number of threads.

    shared_machine.py --program build/release/octavo [--old OTHER] [-m MODEL.gguf] [--rounds 5] [--places alone,busy]
                      [--llama-cpp BIN MODEL.gguf] [--openvino PYTHON MODEL] [--vllm PYTHON MODEL]

In each place the program runs with all its threads, whose number follows what others leave, and with each smaller
--threads; with --old that program as well, for which all its threads are a fixed number. They take turns, --rounds
times. A run is `octavo bench`: a prompt of 512 tokens, one answer, and 32 at a time. The table has tokens per second,
medians, and what the first program reaches of the best fixed number.

Peers take their turns, too: llama.cpp (the folder of llama-bench and llama-batched-bench) with each number of threads,
of which the table shows the best, and two engines of Python (bench/peers/python_engines.py), run by the Python that has
them. Places:

    alone     nobody else
    busy      a process that keeps one CPU busy
    two       two of them
    flicker   a process that is busy for 10 ms and asleep for 10 ms
    nice      a busy process at nice 19
    quota1.5  a control group of version 1 with 1.5 CPUs of each 100 ms where one can be made, as a container has it;
              elsewhere, or with --stop, the program is stopped when it has used 150 ms within 100 ms; so quota0.7
"""
import argparse
import contextlib
import functools
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
GROUPS = pathlib.Path("/sys/fs/cgroup/cpu")
PLACES = {"alone": [], "busy": [(BUSY, 0)], "two": [(BUSY, 0), (BUSY, 0)], "flicker": [(FLICKER, 0)],
          "nice": [(BUSY, 19)], "quota1.5": [], "quota0.7": []}
TESTS = ("prompt of 512", "one answer", "32 answers")
LLAMA_CPP = "llama.cpp"


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


@contextlib.contextmanager
def control_group(quota):
    """Yields what puts a child into a group that has `quota` CPUs, or None where no group can be made."""
    folder = GROUPS / f"octavo_{os.getpid()}"
    try:
        folder.mkdir()
    except OSError:
        yield None
        return
    try:
        (folder / "cpu.cfs_period_us").write_text(str(int(PERIOD_S * 1e6)), encoding="ascii")
        (folder / "cpu.cfs_quota_us").write_text(str(int(quota * PERIOD_S * 1e6)), encoding="ascii")
        yield lambda: (folder / "cgroup.procs").write_text("0", encoding="ascii")
    finally:
        folder.rmdir()


def run_in(place, command, stop):
    """What `command` prints, run in `place`; neighbours are there already."""
    quota = float(place[5:]) if place.startswith("quota") else None
    with contextlib.nullcontext() if quota is None or stop else control_group(quota) as enter:
        with subprocess.Popen([*map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                              preexec_fn=enter) as process:
            if quota is not None and enter is None:
                threading.Thread(target=hold_to_quota, args=(process, quota), daemon=True).start()
            out = process.communicate()[0]
    if process.returncode:
        sys.exit(f"{' '.join(map(str, command))}: exit code {process.returncode}")
    return out


def octavo(program, model, threads, run):
    """Tokens per second of a prompt, of one answer and of 32."""
    out = run([program, "bench", *(["-m", model] if model else []), "--prompt", "512", "--gen", "64", "--batch", "1,32",
               "--repeat", "3", "--format", "json", *(["-t", threads] if threads else [])])
    return [result["tokens_per_s"] for result in json.loads(out)["results"]]


def llama_cpp(binaries, model, threads, run):
    rows = json.loads(run([binaries / "llama-bench", "-m", model, "-t", threads, "-fa", "1", "-r", "3", "-p", "512",
                           "-n", "64", "-o", "json"]))
    many = run([binaries / "llama-batched-bench", "-m", model, "-t", threads, "-c", "8192", "-npp", "16", "-ntg", "64",
                "-npl", "32", "-fa", "on", "--output-format", "jsonl"])
    many = json.loads(next(line for line in many.splitlines() if line.startswith("{")))
    return [*(row["avg_ts"] for row in rows), many["speed_tg"]]


def python_engine(engine, python, model, run):
    out = run([python, pathlib.Path(__file__).parent / "peers" / "python_engines.py", engine, model])
    return json.loads(out.splitlines()[-1])


def ways(args, cpus):
    """What takes turns: a function of `run` for each name. Names of one peer begin alike and share a column."""
    all_ways = {"all threads": functools.partial(octavo, args.program, args.model, None)}
    all_ways |= {f"{n} of them": functools.partial(octavo, args.program, args.model, n) for n in range(1, cpus)}
    if args.old:
        all_ways["old program"] = functools.partial(octavo, args.old, args.model, cpus)
    if args.llama_cpp:
        binaries, model = args.llama_cpp
        all_ways |= {f"{LLAMA_CPP} {n}": functools.partial(llama_cpp, pathlib.Path(binaries), model, n)
                     for n in range(1, cpus + 1)}
    for engine in ("openvino", "vllm"):
        if getattr(args, engine):
            all_ways[engine] = functools.partial(python_engine, engine, *getattr(args, engine))
    return all_ways


def table_rows(place, seen):
    """Lines of the table: `seen` has for each way its runs, three figures each."""
    for index, test in enumerate(TESTS):
        medians = {way: statistics.median(run[index] for run in runs) for way, runs in seen.items()}
        peers = {way: speed for way, speed in medians.items() if way.startswith((LLAMA_CPP, "openvino", "vllm"))}
        own = {way: speed for way, speed in medians.items() if way not in peers}
        fixed = max(speed for way, speed in own.items() if way != "all threads")
        best = {LLAMA_CPP: max((speed for way, speed in peers.items() if way.startswith(LLAMA_CPP)), default=None)}
        best |= {way: speed for way, speed in peers.items() if not way.startswith(LLAMA_CPP)}
        cells = [*own.values(), *(speed for speed in best.values() if speed is not None)]
        yield (f"| {place} | {test} | " + " | ".join(f"{speed:.0f}" for speed in cells)
               + f" | {own['all threads'] / fixed:.2f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--old")
    parser.add_argument("-m", "--model")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--places", default=",".join(PLACES))
    parser.add_argument("--llama-cpp", nargs=2, metavar=("BIN", "MODEL"))
    parser.add_argument("--openvino", nargs=2, metavar=("PYTHON", "MODEL"))
    parser.add_argument("--vllm", nargs=2, metavar=("PYTHON", "MODEL"))
    parser.add_argument("--stop", action="store_true", help="hold to quotas by stopping the program")
    args = parser.parse_args()
    all_ways = ways(args, len(os.sched_getaffinity(0)))
    columns = [way for way in all_ways if not way.startswith(f"{LLAMA_CPP} ") or way == f"{LLAMA_CPP} 1"]
    columns = [LLAMA_CPP if way.startswith(LLAMA_CPP) else way for way in columns]
    print("| place | tokens/s | " + " | ".join(columns) + " | share of the best fixed |\n|---|---|"
          + "--:|" * (len(columns) + 1))
    for place in args.places.split(","):
        seen = {way: [] for way in all_ways}
        with neighbours(place):
            for _ in range(args.rounds):
                for way, speeds in all_ways.items():
                    seen[way].append(speeds(lambda command, place=place: run_in(place, command, args.stop)))
        print("\n".join(table_rows(place, seen)), flush=True)


if __name__ == "__main__":
    main()
