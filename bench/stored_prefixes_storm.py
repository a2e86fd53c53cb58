#!/usr/bin/env python3
"""A storm over prefixes on disk: whatever happens, every answer is the one that a server without a store gives.

    stored_prefixes_storm.py --program build/release/octavo [-m MODEL.gguf] [--seconds 600] [--clients 8]

Servers in little memory (so that they preempt), two at a time in one directory, each killed or stopped after a while.
Clients ask 60 prompts that begin alike, in any order and with any priority; one in five hangs up, some while their
prefix is read. Beside them: `octavo kv gc` and `purge`, a disk that is full now and then (RLIMIT_FSIZE of the server),
files that are cut or lose a bit. At the end each prompt is asked once more. It ends with status 1 where an answer
differs, or a server ends by itself.
"""
import argparse
import collections
import contextlib
import os
import pathlib
import random
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time

from served import Server, default_model, post_bytes, read_answer
from stored_prefixes import bits_of, metric

PROMPTS, ANSWER = 60, 12
SERVED = ["--kv-memory", "2MiB", "--draft", "off", "--max-queued", "0"]
STORED = ["--kv-store-min", "0", "--kv-store-size", "40MiB", "--kv-store-cpu", "100"]
COUNTS = ("hits", "misses", "corrupt", "writes", "refused", "evictions")


def make_prompts():
    """Prompts of 100 to 900 tokens; each goes on from one of four beginnings."""
    draws = random.Random(1)
    beginnings = [[draws.randrange(100, 1000) for _ in range(600)] for _ in range(4)]
    return [beginnings[i % 4][:draws.randrange(60, 600)] + [draws.randrange(100, 1000) for _ in range(
        draws.randrange(40, 300))] for i in range(PROMPTS)]


def body_of(prompt, number, priority=0):
    return {"prompt": prompt, "max_tokens": ANSWER, "temperature": 0.7, "seed": number, "logprobs": 1,
            "ignore_eos": True, "priority": priority}


class Storm:
    def __init__(self, args, folder):
        self.args, self.store = args, folder / "store"
        self.prompts = make_prompts()
        self.expected = []
        self.servers = [None, None]
        self.counts = collections.Counter()
        self.wrong = set()
        self.lock = threading.Lock()
        self.end = 0

    def server(self, *args):
        return Server(self.args.program, "-m", self.args.model, *SERVED, *args)

    def is_over(self):
        return time.monotonic() > self.end

    def count(self, what, number=1):
        with self.lock:
            self.counts[what] += number

    def find_expected(self):
        with self.server() as server:
            for number, prompt in enumerate(self.prompts):
                status, answer = server.ask("/v1/completions", body_of(prompt, number), timeout=600)
                if status != 200:
                    sys.exit(f"status {status}: {answer}")
                self.expected.append(bits_of(answer))

    def compare(self, number, answer):
        self.count("answers")
        if bits_of(answer) != self.expected[number]:
            self.wrong.add(number)
            self.count("wrong answers")

    def keep_served(self, place):
        """One server after the other."""
        draws = random.Random(place)
        while not self.is_over():
            with self.server("--kv-store", self.store, *STORED) as server:
                self.servers[place] = server
                until = min(self.end, time.monotonic() + draws.uniform(3, 20))
                while time.monotonic() < until:
                    time.sleep(0.1)
                    if not server.is_alive():
                        self.count("servers that ended by themselves")
                        break
                with contextlib.suppress(OSError):
                    for name in (*(f"kv_store_{count}_total" for count in COUNTS), "num_preemptions_total"):
                        self.count(name, int(metric(server, f"octavo:{name}")))
                self.servers[place] = None
                self.count("servers")
                if draws.random() < 0.5:
                    server.terminate()
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        server.process.wait(20)

    def ask(self, client_number):
        draws = random.Random(100 + client_number)
        while not self.is_over():
            server, number = draws.choice(self.servers), draws.randrange(PROMPTS)
            if server is None:
                time.sleep(0.05)
                continue
            body = post_bytes("/v1/completions", body_of(self.prompts[number], number, draws.choice((0, 0, 20))))
            with contextlib.suppress(OSError), contextlib.closing(server.connect(timeout=120)) as client:
                client.sendall(body)
                if draws.random() < 0.2:
                    time.sleep(draws.choice((0, 0.002, 0.01, 0.05)))
                    self.count("hung up")
                    continue
                status, answer = read_answer(client)
                if status == 200 and answer is not None:
                    self.compare(number, answer)
                elif status:
                    self.count(f"status {status}")

    def clean(self):
        draws = random.Random(50)
        while not self.is_over():
            time.sleep(draws.uniform(0.5, 3))
            action = draws.choice((["gc", "--size", "10MiB"], ["gc", "--older", "5s"], ["list"], ["purge"]))
            done = subprocess.run([self.args.program, "kv", action[0], self.store, *action[1:]], capture_output=True)
            self.count(f"kv {action[0]}" if done.returncode == 0 else "kv that failed")

    def fill(self):
        """A full disk: no file of a server may grow."""
        draws = random.Random(60)
        while not self.is_over():
            time.sleep(draws.uniform(1, 6))
            server = draws.choice(self.servers)
            if server is None:
                continue
            with contextlib.suppress(OSError, ValueError):
                hard = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE)[1]
                resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (draws.choice((0, 20_000)), hard))
                time.sleep(draws.uniform(0.2, 2))
                resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (hard, hard))
                self.count("full disks")

    def damage(self):
        draws = random.Random(70)
        while not self.is_over():
            time.sleep(draws.uniform(0.2, 2))
            with contextlib.suppress(OSError, IndexError):
                path = draws.choice(list(self.store.rglob("*.run")) + list(self.store.rglob("index")))
                size = path.stat().st_size
                with open(path, "r+b") as file:
                    if draws.random() < 0.3:
                        file.truncate(draws.randrange(size))
                    else:
                        file.seek(draws.randrange(size))
                        byte = file.read(1)[0]
                        file.seek(-1, os.SEEK_CUR)
                        file.write(bytes([byte ^ 1 << draws.randrange(8)]))
                self.count("damaged files")

    def run(self):
        self.find_expected()
        self.end = time.monotonic() + self.args.seconds
        work = [(self.keep_served, 0), (self.keep_served, 1), (self.clean,), (self.fill,), (self.damage,)]
        work += [(self.ask, i) for i in range(self.args.clients)]
        threads = [threading.Thread(target=each[0], args=each[1:]) for each in work]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        different = 0
        with self.server("--kv-store", self.store, "--kv-store-min", "0") as server:
            for number, prompt in enumerate(self.prompts):
                status, answer = server.ask("/v1/completions", body_of(prompt, number), timeout=600)
                different += status != 200 or bits_of(answer) != self.expected[number]
            from_disk = metric(server, "octavo:kv_store_hits_total")
        for what, count in sorted(self.counts.items()):
            print(f"{what}: {count}")
        print(f"at the end: {different} of {PROMPTS} answers differ, reads from disk {from_disk:.0f}")
        print(f"in the storm: {len(self.wrong)} of {PROMPTS} prompts had an answer that differs", flush=True)
        return different + len(self.wrong) + self.counts["servers that ended by themselves"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("-m", "--model", type=pathlib.Path, default=default_model())
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--folder", help="where the store lies; default: the system's folder of temporary files")
    args = parser.parse_args()
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # and so do the servers: a full disk is an error of a call
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        sys.exit(1 if Storm(args, pathlib.Path(folder)).run() else 0)


if __name__ == "__main__":
    main()
