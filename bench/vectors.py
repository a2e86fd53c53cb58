#!/usr/bin/env python3
"""Vectors over HTTP: octavo serve against llama-server on the same file, and a chat's time between tokens beside them.

    bench/vectors.py --octavo build/release/octavo --llama-server PATH MODEL.gguf     speeds, alternately
    bench/vectors.py --octavo build/release/octavo --chat CHAT.gguf MODEL.gguf        a chat beside 10,000 texts

Speeds: batches of 32 texts of 200 words, texts a second; and one short text at a time, the median of its latency. Rounds
alternate between the servers, so that a slow minute of the machine meets both.
"""
import argparse
import http.client
import json
import pathlib
import random
import statistics
import subprocess
import threading
import time

WORDS = ("the a of river stone light engine model paper house walks sees quickly slowly blue green data server memory page "
         "token query answer mountain and but with from into over under music language").split()


def text_of(words, seed):
    chosen = random.Random(seed)
    return " ".join(chosen.choice(WORDS) for _ in range(words))


class Server:
    """A server in a process of its own; a context manager."""

    def __init__(self, command, port):
        self.port = port
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            try:
                if self.get("/health")[0] == 200:
                    return
            except OSError:
                pass
            time.sleep(0.1)
        self.close()
        raise SystemExit(f"{command[0]} does not answer on port {port}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def get(self, path):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read()

    def embed(self, connection, texts, model=None):
        body = {"input": texts, **({"model": model} if model else {})}
        connection.request("POST", "/v1/embeddings", json.dumps(body), {"Content-Type": "application/json"})
        response = connection.getresponse()
        answer = response.read()
        if response.status != 200:
            raise SystemExit(answer.decode())
        return answer

    def connection(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)

    def rss_mib(self):
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS"):
                return int(line.split()[1]) / 1024
        return 0

    def close(self):
        self.process.terminate()
        self.process.wait()


def batch_rate(server, seed):
    """Texts a second of four batches of 32 texts, one behind another."""
    connection = server.connection()
    begin = time.monotonic()
    for batch in range(4):
        server.embed(connection, [text_of(200, seed * 1000 + batch * 32 + i) for i in range(32)])
    return 128 / (time.monotonic() - begin)


def short_latency(server, seed):
    connection = server.connection()
    times = []
    for i in range(50):
        begin = time.monotonic()
        server.embed(connection, [text_of(8, seed * 1000 + i)])
        times.append(1000 * (time.monotonic() - begin))
    return statistics.median(times)


def compare(args):
    llama = [args.llama_server, "-m", args.model, "--port", "18932", "--embedding", "-ub", "8192", "-b", "8192", "-c", "8192"]
    with (Server([args.octavo, "serve", "-m", args.model, "--port", "18931"], 18931) as octavo,
          Server(llama, 18932) as llama_server):
        servers = {"octavo": octavo, "llama-server": llama_server}
        found = {name: {"rate": [], "short": []} for name in servers}
        for server in servers.values():
            batch_rate(server, 999)
        for seed in range(args.rounds):
            for name, server in servers.items():
                found[name]["rate"].append(batch_rate(server, seed))
            for name, server in servers.items():
                found[name]["short"].append(short_latency(server, seed))
    print(f"{pathlib.Path(args.model).name}: median of {args.rounds} rounds")
    for name, of in found.items():
        print(f"  {name:13} {statistics.median(of['rate']):8.1f} texts/s   one short text {statistics.median(of['short']):.2f} ms")
    ours, theirs = found["octavo"], found["llama-server"]
    print(f"  times: {statistics.median(a / b for a, b in zip(ours['rate'], theirs['rate'])):.2f} in batches, "
          f"{statistics.median(b / a for a, b in zip(ours['short'], theirs['short'])):.2f} for one short text")


def chat_gaps(server, model, stop, gaps):
    """Milliseconds between the pieces of chats that follow one another until `stop` is set."""
    while not stop.is_set():
        connection = server.connection()
        body = {"model": model, "stream": True, "max_tokens": 400, "temperature": 1, "ignore_eos": True,
                "speculation": False, "messages": [{"role": "user", "content": "Tell me a long story."}]}
        connection.request("POST", "/v1/chat/completions", json.dumps(body), {"Content-Type": "application/json"})
        response = connection.getresponse()
        last = None
        while line := response.readline():
            if not line.startswith(b"data: {"):
                continue
            now = time.monotonic()
            if last is not None:
                gaps.append(1000 * (now - last))
            last = now
            if stop.is_set():
                break
        connection.close()


def beside(args):
    with Server([args.octavo, "serve", "-m", args.chat, "-m", args.model, "--port", "18931"], 18931) as server:
        models = [m["id"] for m in json.loads(server.get("/v1/models")[1])["data"]]
        alone, both, stop = [], [], threading.Event()
        for gaps, texts in ((alone, 0), (both, args.texts)):
            stop.clear()
            thread = threading.Thread(target=chat_gaps, args=(server, models[0], stop, gaps))
            thread.start()
            begin, rss = time.monotonic(), []
            connection = server.connection()
            for first in range(0, texts, 32):
                server.embed(connection, [text_of(40 + (first + i) % 160, first + i) for i in range(min(32, texts - first))],
                             models[1])
                rss.append(server.rss_mib())
            if texts == 0:
                time.sleep(20)
            seconds = time.monotonic() - begin
            stop.set()
            thread.join()
            gaps.sort()
            what = f"{texts} texts in {seconds:.0f} s" if texts else "alone"
            print(f"{what}: between tokens p50 {gaps[len(gaps) // 2]:.1f} ms, p99 {gaps[len(gaps) * 99 // 100]:.1f}, "
                  f"longest {gaps[-1]:.1f}, {len(gaps)} gaps" +
                  (f"; resident {rss[len(rss) // 4]:.0f} MiB after a quarter, {rss[-1]:.0f} at the end" if rss else ""))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--octavo", default="build/release/octavo")
    parser.add_argument("--llama-server")
    parser.add_argument("--chat", help="a model that chats, beside the other in one server")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--texts", type=int, default=10000)
    args = parser.parse_args()
    if bool(args.chat) == bool(args.llama_server):
        parser.error("expected --llama-server or --chat, one of them")
    beside(args) if args.chat else compare(args)


if __name__ == "__main__":
    main()
