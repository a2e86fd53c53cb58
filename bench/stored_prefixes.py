#!/usr/bin/env python3
"""What prefixes on disk save after a kill, and what keeping them costs those who stream.

    stored_prefixes.py --program build/release/octavo [-m MODEL.gguf] [--shape SHAPE ...] [--tokens 7000] [--rounds 5]
                       [--restarts 2] [--streams N [--seconds 30]] [-- SERVE ARGUMENTS]

Each round: a server with an empty store answers a prompt; when it has written, it is killed (SIGKILL) under load. Then
servers answer the same prompt, each killed before the next one, `--restarts` of them: of every two, the first finds the
files in the page cache, the second one not (posix_fadvise). The last one answers the conversation that goes on. The
first table has the seconds to the first token (an answer of one token), the share of the cold time, what is allowed (a
tenth of the cold time, or the bytes by the disk's rate and half a second), the tokens from disk, and whether the answer
of 24 tokens and its log-probabilities are those of the first server; the second one what reads were expected to take,
and took.

--shape makes models of random weights, of the shapes of tools/synth_model.py with a context of 32,768 tokens, beside
-m or in its place. --streams compares so many clients, each of whom streams answers to prompts of its own, with a store
in which all is written and without: tokens of answers a second, and the longest time between two of one answer.
"""
import argparse
import contextlib
import itertools
import os
import pathlib
import random
import re
import statistics
import sys
import tempfile
import threading
import time

from served import Server, default_model, post_bytes

ANSWER, STREAMED_PROMPT, STREAMED_ANSWER = 24, 300, 96
CONTEXT = 32768
MOST_OF_COLD, BESIDE_READ_S = 0.1, 0.5


def make_model(shape, folder):
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools"))
    import synth_model  # wants numpy and gguf, and the models that are there do not
    synth_model.SHAPES[shape] = synth_model.SHAPES[shape]._replace(context=CONTEXT)
    path = pathlib.Path(folder) / f"{shape}-{CONTEXT}.gguf"
    if not path.exists():
        synth_model.write_model(path, shape, default_model(), words=2000 if shape.startswith("tiny") else None)
    return path


def ask(server, tokens, count):
    body = {"prompt": tokens, "max_tokens": count, "temperature": 0.7, "seed": 5, "logprobs": 1, "ignore_eos": True}
    start = time.perf_counter()
    status, answer = server.ask("/v1/completions", body, timeout=3600)
    if status != 200:
        sys.exit(f"status {status}: {answer}")
    return time.perf_counter() - start, answer


def bits_of(answer):
    found = answer["choices"][0]
    return found["text"], found["logprobs"]["token_logprobs"]


def metric(server, name):
    """Of all models together."""
    with contextlib.closing(server.connect()) as client:
        client.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        text = b"".join(iter(lambda: client.recv(1 << 16), b"")).decode()
    return sum(float(value) for value in re.findall(rf"^{name}(?:{{[^}}]*}})? (\S+)$", text, re.MULTILINE))


def wait_for_writes(folder, seconds=120):
    """Until no file of the store has grown for a while."""
    seen, since = None, time.monotonic()
    end = since + seconds
    while time.monotonic() < end and (seen is None or not seen or time.monotonic() - since < 1):
        now = sorted((str(path), path.stat().st_size) for path in folder.rglob("*.run"))
        if now != seen or list(folder.rglob("*.new")):
            seen, since = now, time.monotonic()
        time.sleep(0.05)
    return sum(size for _, size in seen)


def drop_from_page_cache(folder):
    for path in folder.rglob("*.run"):
        descriptor = os.open(path, os.O_RDONLY)
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)


def disk_rate(folder):
    """Bytes a second of files that are not in the page cache."""
    drop_from_page_cache(folder)
    start, size = time.perf_counter(), 0
    for path in folder.rglob("*.run"):
        with open(path, "rb", buffering=0) as file:
            while more := file.read(1 << 23):
                size += len(more)
    return size / (time.perf_counter() - start)


def kill_under_load(server, count=4):
    """SIGKILL while clients stream."""
    draws = random.Random(7)
    clients = [server.connect() for _ in range(count)]
    for client in clients:
        prompt = [draws.randrange(100, 1000) for _ in range(100)]
        client.sendall(post_bytes("/v1/completions", {"prompt": prompt, "max_tokens": 200, "stream": True}))
    time.sleep(0.3)
    server.process.kill()
    for client in clients:
        client.close()


def run_round(args, model, prompt):
    """Rows of (name, seconds to the first token, tokens from disk, same bits, (predicted, real) seconds of its reads),
    the bytes of the store and the rate of its disk."""
    rows = []
    with tempfile.TemporaryDirectory(dir=args.folder) as made:
        folder = pathlib.Path(made) / "store"
        given = ["-m", model, "--kv-store", folder, *args.serve]
        longer = prompt + [random.Random(9).randrange(100, 1000) for _ in range(40)]
        restarts = list(itertools.islice(itertools.cycle(("killed", "dropped")), args.restarts))
        first_bits, size, rate = None, 0, 0
        for name in ("cold", *restarts, "goes on"):
            if name == "dropped":
                drop_from_page_cache(folder)
            tokens = longer if name == "goes on" else prompt
            with Server(args.program, *given) as server:
                seconds, first = ask(server, tokens, 1)
                _, answer = ask(server, tokens, ANSWER)
                stored = first["usage"]["prompt_tokens_details"].get("stored_tokens", 0)
                reads = [metric(server, f"octavo:kv_store_{which}read_seconds_total") for which in ("predicted_", "")]
                if name == "cold":
                    first_bits, size = bits_of(answer), wait_for_writes(folder)
                same = name == "goes on" or bits_of(answer) == first_bits
                rows.append((name, seconds, stored, same, reads))
                kill_under_load(server)
            rate = rate or disk_rate(folder)
    return rows, size, rate


def compare_restarts(args, model):
    draws, seen = random.Random(3), {}
    for _ in range(args.rounds):
        rows, size, rate = run_round(args, model, [draws.randrange(100, 1000) for _ in range(args.tokens)])
        for name, *row in rows:
            seen.setdefault(name, []).append(row)
    cold = statistics.median(row[0] for row in seen["cold"])
    allowed = max(MOST_OF_COLD * cold, size / rate + BESIDE_READ_S)
    print(f"\n{model.stem}, {args.tokens} tokens, {size / 1e6:.0f} MB on disk, of which it gives {rate / 1e6:.0f} MB a "
          f"second; allowed {allowed:.3f} s\n\n"
          "| server | first token, s | at most | of cold | from disk | same bits |\n|---|--:|--:|--:|--:|--:|")
    for name, rows in seen.items():
        times = [row[0] for row in rows]
        print(f"| {name} | {statistics.median(times):.3f} | {max(times):.3f} | {statistics.median(times) / cold:.3f} | "
              f"{min(row[1] for row in rows)} | {sum(row[2] for row in rows)} of {len(rows)} |")
    print("\n| reads | expected, s | took, s |\n|---|--:|--:|")
    for name, rows in seen.items():
        reads = [row[3] for row in rows if row[3][1] > 0]
        if reads:
            print(f"| {name} | {statistics.median(one for one, _ in reads):.4f} | "
                  f"{statistics.median(one for _, one in reads):.4f} |", flush=True)


def stream(server, client_number, end, counts):
    """Answers one after the other until the time is over; (tokens, longest silence) is appended."""
    draws = random.Random(client_number)
    tokens, longest = 0, 0.0
    while time.monotonic() < end:
        prompt = [draws.randrange(100, 1000) for _ in range(STREAMED_PROMPT)]
        body = {"prompt": prompt, "max_tokens": STREAMED_ANSWER, "ignore_eos": True, "stream": True}
        with contextlib.closing(server.connect(timeout=120)) as client:
            client.sendall(post_bytes("/v1/completions", body))
            last = None
            while more := client.recv(1 << 16):
                now = time.monotonic()
                count = more.count(b'"text"')
                if count and last is not None:
                    longest = max(longest, now - last)
                last = now if count else last
                tokens += count if now < end else 0
    counts.append((tokens, longest))


def run_streams(args, model, store):
    """(tokens a second, longest silence, what is written a second, processor time of writes a second)."""
    with Server(args.program, "-m", model, "--max-queued", "0", *store, *args.serve) as server:
        counts, end = [], time.monotonic() + args.seconds
        threads = [threading.Thread(target=stream, args=(server, i, end, counts)) for i in range(args.streams)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        written, used = (metric(server, f"octavo:kv_store_{name}") for name in ("bytes", "write_cpu_seconds_total"))
    return (sum(tokens for tokens, _ in counts) / args.seconds, max(longest for _, longest in counts),
            written / args.seconds, used / args.seconds)


def compare_streams(args, model):
    """Runs with and without alternate."""
    seen = {"without": [], "with": []}
    for _ in range(args.rounds):
        for name, runs in seen.items():
            with tempfile.TemporaryDirectory(dir=args.folder) as made:
                store = ["--kv-store", pathlib.Path(made) / "store", "--kv-store-min", "0"] if name == "with" else []
                runs.append(run_streams(args, model, store))
    print(f"\n{model.stem}, {args.streams} clients, {STREAMED_PROMPT} tokens and {STREAMED_ANSWER} of an answer\n\n"
          "| store | tokens/s | longest silence, s | written, MB/s | processor time of writes |\n|---|--:|--:|--:|--:|")
    for name, runs in seen.items():
        rate, silence, written, used = (statistics.median(run[i] for run in runs) for i in range(4))
        print(f"| {name} | {rate:.0f} | {silence:.2f} | {written / 1e6:.1f} | {used:.4f} |")
    rates = [statistics.median(run[0] for run in runs) for runs in seen.values()]
    print(f"\nshare: {rates[1] / rates[0]:.3f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("-m", "--model", type=pathlib.Path)
    parser.add_argument("--shape", action="append", default=[])
    parser.add_argument("--models", help="the folder of the models of --shape; default: one that goes at the end")
    parser.add_argument("--tokens", type=int, default=7000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--restarts", type=int, default=2)
    parser.add_argument("--streams", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--folder", help="where the stores lie; default: the system's folder of temporary files")
    parser.add_argument("serve", nargs="*", help="further arguments of octavo serve")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        models = [args.model] if args.model or not args.shape else []
        models = [model or default_model() for model in models]
        models += [make_model(shape, args.models or made) for shape in args.shape]
        for model in models:
            (compare_streams if args.streams else compare_restarts)(args, model)


if __name__ == "__main__":
    main()
