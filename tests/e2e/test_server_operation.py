"""octavo serve as its operators meet it: start, readiness, drain, limits, hang-ups, keys, TLS, metrics, settings."""
import contextlib
import http.client
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time
import unittest
import urllib.request

import support
from server_support import Server, in_threads

MIB = 1 << 20


def tiny():
    return support.tiny_model("tiny-qwen3")


def long_text(words):
    rng = random.Random(1)
    return " ".join(rng.choice(("red", "green", "blue", "one", "two", "three")) for _ in range(words))


def reset(client):
    """Closes a connection with a reset, as a client that crashes does."""
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()


class Start(unittest.TestCase):
    def test_a_taken_port_is_an_error(self):
        with Server(model=tiny()) as server:
            done = support.octavo("serve", "-m", tiny(), "--port", server.port)
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"127.0.0.1:{server.port}: cannot listen: ", done.stderr)

    def test_a_model_that_is_not_there_is_an_error(self):
        done = support.octavo("serve", "-m", "/nowhere/model.gguf", "--port", 0)
        self.assertEqual(done.returncode, 1)
        self.assertIn("/nowhere/model.gguf", done.stderr)

    def test_a_model_that_is_cut_short_while_it_is_used_is_an_error(self):
        with tempfile.TemporaryDirectory() as folder:
            model = pathlib.Path(folder, "model.gguf")
            shutil.copyfile(tiny(), model)
            with Server("--no-repack", "--isa", "scalar", model=model) as server:
                self.assertIn("octavo: --no-repack: the server ends if the model's file is cut short or its disk fails\n",
                              server.messages())
                os.truncate(model, 4096)
                with contextlib.suppress(OSError, http.client.HTTPException):  # the process goes while it answers
                    server.request("POST", "/v1/completions", {"prompt": "Hi", "max_tokens": 4})
                self.assertEqual(server.process.wait(support.TIMEOUT_S), 1)
                self.assertIn(f"octavo: {model}: the file was cut short or its disk failed while it was in use",
                              server.messages())

    def test_of_several_models_none_stays_in_a_file_that_can_be_cut_short(self):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copyfile(tiny(), pathlib.Path(folder, "model.gguf"))
            for models in (("-m", tiny(), "-m", pathlib.Path(folder, "model.gguf")), ("--models-dir", folder)):
                done = support.octavo("serve", "--no-repack", "--port", 0, *models)
                self.assertEqual(done.returncode, 1)
                self.assertIn("--no-repack: found several models, expected one", done.stderr)

    def test_a_model_that_is_cut_short_behind_its_packing_does_not_matter(self):
        with tempfile.TemporaryDirectory() as folder:
            model = pathlib.Path(folder, "model.gguf")
            shutil.copyfile(tiny(), model)
            with Server(model=model) as server:
                os.truncate(model, 4096)
                self.assertEqual(server.request("POST", "/v1/completions", {"prompt": "Hi", "max_tokens": 4})[0], 200)

    def test_it_listens_at_this_machine_alone_unless_told(self):
        with Server(model=tiny()) as server:
            self.assertTrue(server.url.startswith("http://127.0.0.1:"))
            table = pathlib.Path(f"/proc/{server.process.pid}/net/tcp").read_text(encoding="ascii")
        addresses = [line.split()[1] for line in table.splitlines()[1:] if line.split()[3] == "0A"]
        self.assertIn(f"0100007F:{server.port:04X}", addresses)

    def test_options_come_from_a_file_and_the_command_line_goes_first(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "octavo.conf")
            path.write_text('served-model-name = "from-file"\nmax-body-size = 1KiB\nmax-queued = 5\n'
                            'log-prompts = true\n', encoding="utf-8")
            with Server("--config", path, "--max-body-size", "2KiB", model=tiny()) as server:
                self.assertEqual(json.loads(server.get("/v1/models")[2])["data"][0]["id"], "from-file")
                self.assertEqual(server.request("POST", "/tokenize", {"prompt": "x" * 1500})[0], 200)
                self.assertEqual(server.request("POST", "/tokenize", {"prompt": "x" * 2500})[0], 413)
                self.assertIn("prompt", server.access_log(2)[1])
            path.write_text('cors-origin = "https://a.example"\nmax-queued = 2\ncors-origin = "https://b.example"\n',
                            encoding="utf-8")
            with Server("--config", path, model=tiny()) as server:
                for origin in ("https://a.example", "https://b.example"):
                    headers = server.request("GET", "/v1/models", headers={"Origin": origin})[1]
                    self.assertEqual(headers["Access-Control-Allow-Origin"], origin)
                # More prompts than may wait would be refused however often they are sent again.
                status, _, body = server.request("POST", "/v1/completions", {"prompt": ["a", "b", "c"], "max_tokens": 1})
                self.assertEqual(status, 400)
                self.assertIn("found 3 prompts, expected at most 2", json.loads(body)["error"]["message"])
            for wrong in ("no-such-option = 1\n", "port = 1\nmax-queued = 2\nport = 2\n"):
                path.write_text(wrong, encoding="utf-8")
                done = support.octavo("serve", "--config", path, "-m", tiny(), "--port", 0)
                self.assertEqual(done.returncode, 2)
                self.assertIn(wrong.split(" ", maxsplit=1)[0], done.stderr)


class Operation(unittest.TestCase):
    def test_health_ready_version_metrics_and_models(self):
        with Server(model=tiny()) as server:
            self.assertEqual(server.get("/health")[0], 200)
            self.assertEqual(server.get("/ready")[0], 200)
            version = support.octavo("--version").stdout.removeprefix("octavo ").rstrip()
            self.assertRegex(version, r"^\d+\.\d+\.\d+$")
            self.assertEqual(json.loads(server.get("/version")[2]), {"version": version})
            told = json.loads(server.get("/api/version")[2])
            self.assertEqual(told["octavo"], version)
            self.assertGreaterEqual([int(part) for part in told["version"].split(".")], [0, 6, 4])
            server.complete("a b c", max_tokens=5, ignore_eos=True)
            server.wait_until(lambda: server.metric("generation_tokens_total") == 5)  # counted at the end of a step
            metrics = server.metrics()
            for name in ("num_requests_running", "num_requests_waiting", "kv_cache_usage_perc", "num_preemptions_total",
                         "prefix_cache_queries_total", "prefix_cache_hits_total", "prompt_tokens_total",
                         "time_to_first_token_seconds_count", "inter_token_latency_seconds_count",
                         "request_queue_time_seconds_count", "e2e_request_latency_seconds_count",
                         "step_time_seconds_count", "predicted_step_time_seconds_count", "computed_tokens_total",
                         "shared_tokens_total"):
                self.assertIn(f"octavo:{name}", metrics)
            self.assertEqual(metrics["octavo:inter_token_latency_seconds_count"], 4)
            models = json.loads(server.get("/v1/models")[2])
            status, _, text = server.get("/v1/models/" + models["data"][0]["id"])
            self.assertEqual((status, json.loads(text)), (200, models["data"][0]))

    def test_each_request_is_one_line_of_the_access_log_without_its_prompt(self):
        with Server(model=tiny()) as server:
            server.complete("a secret", max_tokens=3, ignore_eos=True)
            server.get("/health")
            server.get("/nothing")
            completion, health, nothing = server.access_log(3)
        self.assertEqual((completion["path"], completion["status"], completion["generated_tokens"]),
                         ("/v1/completions", 200, 3))
        self.assertGreater(completion["prompt_tokens"], 0)
        self.assertGreater(completion["time_to_first_token_ms"], 0)
        self.assertNotIn("secret", json.dumps(completion))
        self.assertEqual((health["path"], health["status"]), ("/health", 200))
        self.assertEqual(nothing["status"], 404)

    def test_a_log_that_nobody_reads_does_not_stop_the_server(self):
        command = [support.OCTAVO, "serve", "-m", str(tiny()), "--port", "0"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            try:
                url = process.stderr.readline().split()[-1]
                while "ready" not in process.stderr.readline():
                    pass
                for _ in range(1500):  # a pipe takes 64 KiB
                    with urllib.request.urlopen(url + "/health", timeout=10) as answer:
                        self.assertEqual(answer.status, 200)
            finally:
                process.kill()

    def test_the_same_seed_gives_the_same_text_alone_and_among_others(self):
        with Server() as server:
            def ask(i):
                seed = 7 if i == 0 else 100 + i
                prompt = "The weather today is" if i == 0 else long_text(50 + i)
                return server.post("/v1/completions", {"prompt": prompt, "seed": seed, "temperature": 0.9,
                                                       "max_tokens": 48})["choices"][0]["text"]
            alone = ask(0)
            among = in_threads(ask, [3, 0, 5, 0, 8, 9])
            self.assertEqual(among[1], alone)
            self.assertEqual(among[3], alone)


class Drain(unittest.TestCase):
    def test_what_runs_is_finished_and_the_exit_code_is_0(self):
        with Server("--drain-timeout", 300) as server:
            chunks = server.stream("Once", max_tokens=100, ignore_eos=True)
            next(chunks)
            server.process.send_signal(signal.SIGTERM)
            rest = list(chunks)
            self.assertEqual(rest[-1]["choices"][0]["finish_reason"], "length")
            self.assertEqual(server.process.wait(60), 0)

    def test_new_requests_are_refused_while_draining(self):
        with Server() as server, socket.create_connection((server.host, server.port)) as waiting:
            chunks = server.stream("Once", max_tokens=5000, ignore_eos=True)
            next(chunks)
            server.process.send_signal(signal.SIGTERM)
            with self.assertRaises(OSError):
                while True:
                    socket.create_connection((server.host, server.port)).close()
            waiting.sendall(b"GET /ready HTTP/1.1\r\nHost: localhost\r\n\r\n")
            self.assertIn(b"503 Service Unavailable", waiting.recv(4096))
            chunks.close()
            waiting.close()
            self.assertEqual(server.process.wait(60), 0)

    def test_the_time_for_it_is_bounded(self):
        with Server("--drain-timeout", 0.3) as server:
            chunks = server.stream("Once", max_tokens=5000, ignore_eos=True)
            next(chunks)
            server.process.send_signal(signal.SIGTERM)
            self.assertIn("error", list(chunks)[-1])
            self.assertEqual(server.process.wait(60), 0)

    def test_a_second_signal_ends_it_at_once(self):
        with Server() as server:
            chunks = server.stream("Once", max_tokens=5000, ignore_eos=True)
            next(chunks)
            server.process.send_signal(signal.SIGTERM)
            time.sleep(0.3)
            self.assertIsNone(server.process.poll())
            server.process.send_signal(signal.SIGTERM)
            self.assertEqual(server.process.wait(60), -signal.SIGTERM)


class HangUp(unittest.TestCase):
    def assert_free(self, server, num_tokens):
        """No block is in use long before the answers have so many tokens more, which they would have by themselves."""
        before = server.metric("generation_tokens_total")
        server.wait_until(lambda: server.metric("kv_blocks_referenced") == 0)
        self.assertLess(server.metric("generation_tokens_total") - before, num_tokens / 2)

    def test_while_an_answer_is_made(self):
        with Server() as server:
            for end in (socket.socket.close, reset):
                client = server.open_stream("Once", max_tokens=5000)
                server.wait_until(lambda: server.metric("num_requests_running") == 1)
                end(client)
                self.assert_free(server, 5000)

    def test_in_the_middle_of_a_prefill(self):
        with Server("--chunk", 64) as server:
            client = server.open_stream(long_text(6000), max_tokens=5)
            server.wait_until(lambda: server.metric("kv_blocks_referenced") > 0)
            self.assertEqual(server.metric("generation_tokens_total"), 0)
            client.close()
            server.wait_until(lambda: server.metric("kv_blocks_referenced") == 0)
            self.assertEqual(server.metric("generation_tokens_total"), 0)

    def test_in_the_queue(self):
        with Server("--max-sequences", 1) as server:
            first = server.open_stream("Once", max_tokens=5000)
            server.wait_until(lambda: server.metric("num_requests_running") == 1)
            second = server.open_stream("Twice", max_tokens=5)
            server.wait_until(lambda: server.metric("num_requests_waiting") == 1)
            second.close()
            server.wait_until(lambda: server.metric("num_requests_waiting") == 0)
            self.assertEqual(server.metric("num_requests_running"), 1)
            first.close()
            self.assert_free(server, 5000)

    def test_many_at_random_leave_memory_flat_and_no_block_in_use(self):
        rng = random.Random(3)
        plans = [(rng.random() < 1 / 3, rng.random() * 0.05, rng.randint(1, 20), rng.randint(1, 60))
                 for _ in range(500)]

        def ask(plan):
            hangs_up, after, tokens, words = plan
            with server.open_stream(long_text(words), max_tokens=tokens) as client:
                if hangs_up:
                    time.sleep(after)
                    return True
                received = b""
                while not received.endswith(b"0\r\n\r\n"):
                    piece = client.recv(65536)
                    if not piece:
                        return False
                    received += piece
                return b"[DONE]" in received

        with Server("--access-log", "off", "--kv-memory", "16MiB", model=tiny()) as server:
            sizes = []
            for _ in range(3):
                for i in range(0, len(plans), 50):
                    self.assertTrue(all(in_threads(ask, plans[i:i + 50])))
                sizes.append(server.resident_bytes())
            server.wait_until(lambda: server.metric("kv_blocks_referenced") == 0)
            self.assertEqual(server.metric("num_requests_running") + server.metric("num_requests_waiting"), 0)
            self.assertLess(sizes[2] - sizes[0], 8 * MIB)


class Limits(unittest.TestCase):
    def test_a_full_queue_is_429_with_retry_after(self):
        with Server("--max-queued", 1, "--max-sequences", 1) as server:
            first = server.open_stream("Once", max_tokens=5000)
            server.wait_until(lambda: server.metric("num_requests_running") == 1)
            second = server.open_stream("Twice", max_tokens=5)
            server.wait_until(lambda: server.metric("num_requests_waiting") == 1)
            status, headers, text = server.request("POST", "/v1/completions", {"prompt": "a", "max_tokens": 1})
            self.assertEqual(status, 429)
            self.assertGreater(int(headers["Retry-After"]), 0)
            self.assertIn("message", json.loads(text)["error"])
            first.close()
            second.close()

    def test_a_queue_full_of_tokens_is_429_with_both_numbers(self):
        with Server("--max-queued-tokens", 1000, "--max-sequences", 4) as server:
            first = server.open_stream("Once", max_tokens=5000, n=4)
            server.wait_until(lambda: server.metric("num_requests_running") == 4)
            second = server.open_stream([1] * 600, max_tokens=5)
            server.wait_until(lambda: server.metric("num_requests_waiting") == 1)
            status, headers, text = server.request("POST", "/v1/completions", {"prompt": [1] * 600, "max_tokens": 1})
            error = json.loads(text)["error"]
            self.assertEqual((status, error["code"]), (429, "queue_full"))
            self.assertGreater(int(headers["Retry-After"]), 0)
            self.assertIn("600 tokens of prompts waiting and 600 more, expected at most 1000", error["message"])
            status, _, text = server.request("POST", "/v1/completions", {"prompt": [1] * 400, "max_tokens": 1, "n": 3})
            self.assertEqual(status, 400, "however often it comes again, it could not wait")
            self.assertIn("found 1200 tokens", json.loads(text)["error"]["message"])
            first.close()
            second.close()

    def test_one_address_leaves_others_a_place_in_the_queue(self):
        with Server("--max-queued", 10, "--max-sequences", 2) as server:
            clients = [server.open_stream("Once", max_tokens=5000) for _ in range(2)]
            server.wait_until(lambda: server.metric("num_requests_running") == 2)
            clients += [server.open_stream("Twice", max_tokens=5000) for _ in range(8)]
            server.wait_until(lambda: server.metric("num_requests_waiting") == 8)
            status, _, text = server.request("POST", "/v1/completions", {"prompt": "a", "max_tokens": 1})
            self.assertEqual(status, 429)
            self.assertIn("8 requests of one client waiting", json.loads(text)["error"]["message"])
            # The other's first request goes before all but the first one of this address.
            answered = server.open_stream("Thrice", address="127.0.0.2", max_tokens=1)
            answered.settimeout(support.TIMEOUT_S)
            received = b""
            while b"[DONE]" not in received:
                more = answered.recv(4096)
                self.assertTrue(more, received)
                received += more
            self.assertTrue(received.startswith(b"HTTP/1.1 200"))
            for client in (*clients, answered):
                client.close()

    def test_two_requests_for_many_answers_leave_a_place_for_another_address(self):
        with Server("--max-sequences", 8) as server:
            greedy = [server.open_stream("Once", n=4, max_tokens=4000) for _ in range(2)]
            server.wait_until(lambda: server.metric("num_requests_running") == 8)
            other = server.open_stream("Once", address="127.0.0.2", max_tokens=4000)
            server.wait_until(lambda: server.metric("num_preemptions_total") == 1)
            server.wait_until(lambda: server.metric("num_requests_waiting") == 1)
            self.assertEqual(server.metric("num_requests_running"), 8)
            self.assertEqual(server.metric("preempted_blocks_total"), 0, "who stands up keeps its memory")
            for client in (*greedy, other):
                client.close()

    def test_a_priority_ahead_of_others_is_for_whom_the_operator_lets(self):
        def status_of(server, priority):
            return server.request("POST", "/v1/completions",
                                  {"prompt": "a", "max_tokens": 1, "priority": priority})[0]

        with Server(model=tiny()) as server:
            self.assertEqual([status_of(server, priority) for priority in (1000, 0, -1)], [200, 200, 400])
        with Server("--max-client-priority", 7, model=tiny()) as server:
            self.assertEqual([status_of(server, priority) for priority in (-7, -8)], [200, 400])

    def test_a_context_overflow_names_both_numbers(self):
        with Server("--max-context", 100) as server:
            status, _, text = server.request("POST", "/v1/completions", {"prompt": [1] * 110, "max_tokens": 20})
            error = json.loads(text)["error"]
            self.assertEqual((status, error["code"]), (400, "context_length_exceeded"))
            self.assertIn("100", error["message"])
            self.assertIn("110", error["message"])
            cut = server.post("/v1/completions", {"prompt": [1] * 90, "max_tokens": 20, "ignore_eos": True})
            self.assertEqual((cut["choices"][0]["finish_reason"], cut["usage"]["completion_tokens"]), ("length", 10))

    def test_a_deadline_ends_a_request(self):
        with Server() as server:
            status, _, _ = server.request("POST", "/v1/completions", {"prompt": "a", "max_tokens": 5000,
                                                                       "ignore_eos": True},
                                          headers={"X-Request-Timeout": "0.3"})
            self.assertEqual(status, 408)
            self.assertLess(server.metric("generation_tokens_total"), 2500)

    def test_a_reader_that_stops_reading_is_cut_off(self):
        with Server("--write-timeout", 1, "--max-unsent-size", "64KiB", model=tiny()) as server, \
                socket.socket() as lazy:
            lazy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            lazy.connect((server.host, server.port))
            body = json.dumps({"prompt": "a", "n": 64, "max_tokens": 1000, "ignore_eos": True, "stream": True,
                               "logprobs": 5}).encode()
            lazy.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                         b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
            server.wait_until(lambda: server.metric("num_requests_running") == 64)
            self.assertEqual(len(list(server.stream("b", max_tokens=5, ignore_eos=True))), 5)
            server.wait_until(lambda: server.metric("kv_blocks_referenced") == 0)
            self.assertNotIn('octavo:request_success_total{finished_reason="length"}',
                             {k for k, v in server.metrics().items() if v > 1})

    def test_a_thousand_idle_streams_cost_less_than_64_mib(self):
        with Server("--max-sequences", 1, "--max-queued", 2000) as server:  # of which one address gets four fifths
            first = server.open_stream("Once", max_tokens=8000)
            server.wait_until(lambda: server.metric("num_requests_running") == 1)
            before = server.resident_bytes()
            clients = [server.open_stream("Hello there", max_tokens=5) for _ in range(1000)]
            heads = [client.recv(4096) for client in clients]
            self.assertTrue(all(head.startswith(b"HTTP/1.1 200 OK") for head in heads))
            cost = server.resident_bytes() - before
            print(f"1000 idle streams: {cost / MIB:.1f} MiB")
            for client in [first, *clients]:
                client.close()
            server.wait_until(lambda: server.metric("kv_blocks_referenced") == 0)
        if not support.SANITIZED:
            self.assertLess(cost, 64 * MIB)


class Safety(unittest.TestCase):
    def test_keys_are_asked_for_and_do_not_share_their_cache(self):
        with tempfile.TemporaryDirectory() as folder:
            keys = pathlib.Path(folder, "keys")
            keys.write_text("# two users\nfirst-key-first-key\nsecond-key-second-key\n", encoding="ascii")
            keys.chmod(0o600)
            prompt = support.english_text()[:2000]

            def cached(server, key):
                answer = server.post("/v1/completions", {"prompt": prompt, "max_tokens": 1},
                                     headers={"Authorization": f"Bearer {key}"})
                return answer["usage"]["prompt_tokens_details"]["cached_tokens"]

            with Server("--api-key-file", keys) as server:
                self.assertEqual(server.request("POST", "/v1/completions", {"prompt": "a"})[0], 401)
                self.assertEqual(server.get("/v1/models", headers={"Authorization": "Bearer first-key-first-keys"})[0], 401)
                self.assertEqual(server.get("/health")[0], 200)
                self.assertEqual(cached(server, "first-key-first-key"), 0)
                self.assertGreater(cached(server, "first-key-first-key"), 100)
                self.assertEqual(cached(server, "second-key-second-key"), 0)
                self.assertNotIn("first-key-first-key", json.dumps(server.access_log(6)))
            with Server("--api-key-file", keys, "--shared-cache") as server:
                cached(server, "first-key-first-key")
                self.assertGreater(cached(server, "second-key-second-key"), 100)

    def test_garbage_does_not_hurt(self):
        rng = random.Random(5)
        with Server(model=tiny()) as server:
            pieces = [b"POST /v1/completions HTTP/1.1\r\n", b"Content-Length: ", b"99999999999999999999\r\n", b"\r\n",
                      b"Transfer-Encoding: chunked\r\n", b"ffffffffffffffff\r\n", b"Content-Type: application/json\r\n",
                      b"GET / HTTP/9.9\r\n", b"\x00\xff\xfe", b"{\"prompt\": \"\\ud800\"}", b"Expect: 100-continue\r\n"]
            for _ in range(300):
                with socket.create_connection((server.host, server.port)) as client:
                    client.sendall(b"".join(rng.choice(pieces) for _ in range(rng.randint(1, 12))))
                    if rng.random() < 0.5:
                        client.shutdown(socket.SHUT_WR)
            self.assertEqual(server.get("/ready")[0], 200)
            server.complete("a", max_tokens=2)


if __name__ == "__main__":
    unittest.main()
