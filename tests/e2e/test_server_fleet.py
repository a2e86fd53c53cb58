"""Two unmodified replicas behind the routers that people have: vLLM's, smg, HAProxy. What a router asks is there, what is
cached on a replica is used, and a restart of one after the other loses no request. docs/scaling.md has the commands."""
import contextlib
import http.client
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import support
import zmq
from server_support import Server, free_port, in_threads, noise

HAPROXY = support.TEST_DATA / "haproxy" / "usr"  # scripts/setup --test
OPTIONS = ("--served-model-name", "small", "--kv-memory", "64MiB", "--threads", 1, "--metrics-names", "both",
           "--drain-delay", 4)
HAPROXY_SETTINGS = """
global
  maxconn 200
defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
  option redispatch
  retries 3
frontend all
  bind 127.0.0.1:{port}
  default_backend replicas
backend replicas
  balance hdr(X-Session-ID)
  hash-type consistent
  option httpchk GET /ready
  http-check send hdr Host localhost
  default-server check inter 500ms fall 1 rise 1
{servers}
"""


class Replica:
    """A server at a port that stays, which is started anew now and then."""

    def __init__(self, *options):
        self.port, self.past, self.options = free_port(), [], options
        self.start()

    def start(self):
        self.server = Server("--port", self.port, *OPTIONS, *self.options, model=noise())

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def records(self):
        """The access log of all its lives."""
        return self.past + self.server.access_log()

    def restart(self):
        self.server.process.send_signal(signal.SIGTERM)
        if self.server.process.wait(60) != 0:
            raise AssertionError(self.server.messages())
        self.past = self.records()
        self.server.__exit__()
        self.start()

    def stop(self):
        self.server.__exit__()


class Router:
    """A router before replicas, ready to serve."""

    def __init__(self, command, port, folder, env=None):
        self.port, self.log = port, pathlib.Path(folder, "log")
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ, **(env or {})})

    def ask(self, body, session="one", path="/v1/chat/completions"):
        """(status, answer)"""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=support.TIMEOUT_S)
        with contextlib.closing(connection):
            connection.request("POST", path, json.dumps({"model": "small", **body}),
                               {"Content-Type": "application/json", "X-Session-ID": session})
            response = connection.getresponse()
            return response.status, response.read().decode()

    def wait_alive(self):
        """Until it has begun, without a request that comes to a replica."""
        end = time.monotonic() + 60
        while time.monotonic() < end and self.process.poll() is None:
            with contextlib.suppress(OSError):
                connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
                with contextlib.closing(connection):
                    connection.request("GET", "/health")
                    if connection.getresponse().status == 200:
                        time.sleep(1)  # until it has subscribed
                        return self
            time.sleep(0.2)
        raise AssertionError(self.log.read_text(encoding="utf-8", errors="replace")[-3000:])

    def wait(self):
        end = time.monotonic() + 60
        while time.monotonic() < end and self.process.poll() is None:
            with contextlib.suppress(OSError):
                if self.ask({"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 1})[0] == 200:
                    return self
            time.sleep(0.2)
        raise AssertionError(self.log.read_text(encoding="utf-8", errors="replace")[-3000:])

    def stop(self):
        self.process.kill()
        self.process.wait()


def python_router(module, *extra):
    def make(replicas, folder):
        port = free_port()
        return Router([sys.executable, "-m", f"{module}.launch_router", "--host", "127.0.0.1", "--port", str(port),
                       "--worker-urls", *(replica.url for replica in replicas),
                       "--prometheus-port", str(free_port()), "--health-check-endpoint", "/ready",
                       "--health-check-interval-secs", "1", "--health-failure-threshold", "1",
                       "--health-success-threshold", "1", *map(str, extra)], port, folder)
    return make


def haproxy(replicas, folder):
    port, settings = free_port(), pathlib.Path(folder, "haproxy.cfg")
    servers = "\n".join(f"  server replica{i} 127.0.0.1:{replica.port}" for i, replica in enumerate(replicas))
    settings.write_text(HAPROXY_SETTINGS.format(port=port, servers=servers), encoding="ascii")
    libraries = next((HAPROXY / "lib").glob("*-linux-gnu"))
    return Router([HAPROXY / "sbin" / "haproxy", "-f", settings], port, folder, {"LD_LIBRARY_PATH": str(libraries)})


ROUTERS = {"vllm-router": python_router("vllm_router", "--policy", "cache_aware"),
           "smg": python_router("smg", "--policy", "cache_aware"),
           "haproxy": haproxy}


def conversations(ask, turns=4):
    """The share of the prompts' tokens that were cached, of five conversations that go on by turns."""
    histories = [[{"role": "user", "content": f"{place} and what lies around {place}: tell me of it. " * 6}]
                 for place in ("Rome", "Oslo", "Lima", "Cairo", "Quito")]
    prompt_tokens = cached_tokens = 0
    for _ in range(turns):
        for i, history in enumerate(histories):
            status, text = ask({"messages": history, "max_tokens": 8, "temperature": 0}, f"session {i}")
            if status != 200:
                raise AssertionError(f"status {status}: {text}")
            answer = json.loads(text)
            prompt_tokens += answer["usage"]["prompt_tokens"]
            cached_tokens += answer["usage"]["prompt_tokens_details"]["cached_tokens"]
            history += [answer["choices"][0]["message"], {"role": "user", "content": "And then? " * 10}]
    return cached_tokens / prompt_tokens


def asked_of(replicas):
    return {(record["method"], record["path"], record["status"]) for replica in replicas for record in replica.records()}


class Fleet(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with Server(*OPTIONS, model=noise()) as server:
            def ask(body, session):
                return server.request("POST", "/v1/chat/completions", body, headers={"X-Session-ID": session})[::2]
            cls.share_of_one = conversations(ask)

    def start(self, make):
        replicas = [Replica(), Replica()]
        for replica in replicas:
            self.addCleanup(replica.stop)
        router = make(replicas, self.enterContext(tempfile.TemporaryDirectory()))
        self.addCleanup(router.stop)
        return router.wait(), replicas

    def check_affinity(self, router, replicas, spreads):
        """spreads: conversations come to both replicas also where none has much to do."""
        share = conversations(router.ask)
        self.assertGreaterEqual(share, 0.95 * self.share_of_one)
        missing = [asked for asked in asked_of(replicas) if asked[2] in (404, 405)]
        self.assertEqual(missing, [])
        answered = [sum(record["path"] == "/v1/chat/completions" for record in replica.records()) for replica in replicas]
        if spreads:
            self.assertTrue(all(answered), f"one replica had all of them: {answered}")

    def check_restart(self, router, replicas):
        """Streams go on while one replica after the other is started anew."""
        lost, done, is_over = [], [0] * 8, threading.Event()

        def stream(i):
            while not is_over.is_set():
                status, text = router.ask({"messages": [{"role": "user", "content": f"Stream {i}, {done[i]}"}],
                                           "max_tokens": 20, "stream": True, "ignore_eos": True}, f"stream {i}")
                if status != 200 or "data: [DONE]" not in text:
                    lost.append((status, text[-300:]))
                done[i] += 1

        def restart(_):
            try:
                for replica in replicas:
                    replica.restart()
                    time.sleep(4)  # until the router has seen that it is back
            finally:
                is_over.set()

        threads = [threading.Thread(target=stream, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        in_threads(restart, [0])
        for thread in threads:
            thread.join()
        self.assertEqual(lost, [])
        self.assertGreater(min(done), 3)


class ToldReplica(Replica):
    """A replica that tells what it has cached, as vllm-router reads it: with an empty topic."""

    def __init__(self):
        self.events, self.replay = (f"tcp://127.0.0.1:{free_port()}" for _ in range(2))
        super().__init__("--kv-events", self.events.rpartition(":")[2], "--kv-events-replay", self.replay.rpartition(":")[2],
                         "--kv-events-topic", "")


class Lossy:
    """Forwards what a replica tells, but for what it is to lose."""

    def __init__(self, events):
        self.loses, self.num_lost, self.is_over, self.context = False, 0, False, zmq.Context()
        self.source, self.sink = self.context.socket(zmq.SUB), self.context.socket(zmq.PUB)
        self.source.setsockopt(zmq.SUBSCRIBE, b"")
        self.source.connect(events)
        self.events = f"tcp://127.0.0.1:{self.sink.bind_to_random_port('tcp://127.0.0.1')}"
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        while not self.is_over:
            if not self.source.poll(50):
                continue
            frames = self.source.recv_multipart()
            if self.loses:
                self.num_lost += 1
            else:
                self.sink.send_multipart(frames)

    def stop(self):
        self.is_over = True
        self.thread.join()
        self.context.destroy(linger=0)


class Told(unittest.TestCase):
    def replicas(self):
        replicas = [ToldReplica(), ToldReplica()]
        for replica in replicas:
            self.addCleanup(replica.stop)
        return replicas

    def start(self, replicas, events=None):
        sources = []
        for i, replica in enumerate(replicas):
            sources += ["--kv-event-source", f"{replica.url}={events[i] if events else replica.events}",
                        "--kv-event-replay-source", f"{replica.url}={replica.replay}"]
        router = python_router("vllm_router", "--policy", "kv_aware", "--kv-event-model", "small", *sources)(
            replicas, self.enterContext(tempfile.TemporaryDirectory()))
        self.addCleanup(router.stop)
        return router.wait_alive()

    @staticmethod
    def prompt(i, word):
        return {"messages": [{"role": "user", "content": f"{word} of the replica {i}. " * 40}], "max_tokens": 1}

    def check_cached(self, router, i, word):
        """The router sends this prompt to whom has it."""
        status, text = router.ask(self.prompt(i, word))
        self.assertEqual(status, 200, text)
        usage = json.loads(text)["usage"]
        self.assertGreater(usage["prompt_tokens_details"]["cached_tokens"], 0.9 * usage["prompt_tokens"] - 16, (i, word))

    def test_vllm_router_sends_prompts_to_whom_events_name(self):
        """The router has seen none of these prompts: the replicas were asked without it, of the weather and of the
        history of its beginning before it began, and then of what follows."""
        replicas = self.replicas()

        def ask(word):
            for i, replica in enumerate(replicas):
                replica.server.post("/v1/chat/completions", self.prompt(i, word))

        ask("Weather")
        ask("History")
        router = self.start(replicas)
        ask("Geography")
        time.sleep(1)
        for word in ("History", "Weather", "Geography"):
            for i in (0, 1, 1, 0, 1, 0):
                self.check_cached(router, i, word)

    def test_vllm_router_has_again_what_was_lost_on_the_way(self):
        replicas = self.replicas()
        ways = [Lossy(replica.events) for replica in replicas]
        for way in ways:
            self.addCleanup(way.stop)
        router = self.start(replicas, [way.events for way in ways])
        words = [f"Chapter {i}" for i in range(6)]
        for i, (replica, way) in enumerate(zip(replicas, ways, strict=True)):
            time.sleep(1)
            way.loses = True
            for word in words:
                replica.server.post("/v1/chat/completions", self.prompt(i, word))
            replica.server.wait_until(lambda: way.num_lost > 0)  # pylint: disable=cell-var-from-loop
            time.sleep(1)
            way.loses = False
            replica.server.post("/v1/chat/completions", self.prompt(i, "The end"))
        time.sleep(1)
        for word in words:
            for i in (0, 1):
                self.check_cached(router, i, word)


def add_test(name, make):
    def affinity(self):
        self.check_affinity(*self.start(make), spreads=name == "haproxy")

    def restart(self):
        self.check_restart(*self.start(make))
    plain = name.replace("-", "_")
    setattr(Fleet, f"test_conversations_behind_{plain}_find_what_is_cached", affinity)
    setattr(Fleet, f"test_a_rolling_restart_behind_{plain}_loses_no_request", restart)


for router_name, make_router in ROUTERS.items():
    add_test(router_name, make_router)

if __name__ == "__main__":
    unittest.main()
