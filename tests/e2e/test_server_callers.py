"""octavo serve and those who call it: hosts, keys that come and go, proxies, and what the access log says of them."""
import contextlib
import json
import os
import pathlib
import pty
import re
import resource
import signal
import socket
import stat
import subprocess
import tempfile
import time
import unittest
from concurrent import futures

import support
from server_support import Server

ONE, TWO = "one-one-one-one-one", "two-two-two-two-two"
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


def tiny():
    return support.tiny_model("tiny-qwen3")


def bearer(key):
    return {"Authorization": f"Bearer {key}"}


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def key_file(self, *keys, mode=0o600):
        """Replaced as a whole, so that it is never seen half written."""
        path = self.folder / "keys"
        fresh = self.folder / "keys.new"
        fresh.write_text("".join(key + "\n" for key in keys), encoding="ascii")
        fresh.chmod(mode)
        fresh.rename(path)
        return path

    def refusal(self, *args):
        """What a server that does not start says."""
        done = support.octavo("serve", "-m", tiny(), "--port", 0, *args)
        self.assertEqual(done.returncode, 1, done.stderr)
        return done.stderr


class Hosts(unittest.TestCase):
    def status(self, server, host):
        with socket.create_connection((server.host, server.port)) as client:
            client.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n"
                           b"Content-Length: 32\r\n\r\n{\"prompt\": \"a\", \"max_tokens\": 2}" % host.encode())
            return int(client.recv(65536).split()[1])

    def test_a_page_that_had_its_name_point_to_this_machine_is_refused(self):
        with Server(model=tiny()) as server:
            for host in ("localhost", "127.0.0.1", f"[::1]:{server.port}"):
                self.assertEqual(self.status(server, host), 200, host)
            for host in ("evil.example", f"evil.example:{server.port}", "localhost.evil.example"):
                self.assertEqual(self.status(server, host), 403, host)
            status, _, text = server.get("/v1/models", headers={"Host": "evil.example"})
            self.assertEqual((status, json.loads(text)["error"]["code"]), (403, "host_not_allowed"))
            self.assertIn("--allowed-host", text)

    def test_names_that_are_let_in_may_stand_in_the_settings(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "octavo.conf")
            path.write_text('allowed-host = "chat.example"\nallowed-host = "other.example"\n', encoding="utf-8")
            with Server("--config", path, model=tiny()) as server:
                for host, status in (("chat.example", 200), ("other.example:443", 200), ("evil.example", 403)):
                    self.assertEqual(self.status(server, host), status, host)


class Pages(unittest.TestCase):
    def test_a_body_that_curl_sends_without_a_type_is_read_on_every_api(self):
        chat = '{"messages": [{"role": "user", "content": "a"}], "max_tokens": 2, "stream": false}'
        with Server(model=tiny()) as server:
            for path, body in (("/v1/chat/completions", chat), ("/v1/messages", chat), ("/api/chat", chat),
                               ("/v1/completions", '{"prompt": "a"}'), ("/completion", '{"prompt": "a", "n_predict": 2}'),
                               ("/api/show", "{}"), ("/tokenize", '{"prompt": "a"}'),
                               ("/v1/responses", '{"input": "a", "max_output_tokens": 2}')):
                for header in (), ("-H", "Content-Type: text/plain"), ("-H", "Content-Type:"):
                    done = subprocess.run(["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "-d", body, *header,
                                           server.url + path], capture_output=True, text=True, check=True)
                    self.assertEqual(done.stdout, "200", (path, header))

    def test_an_origin_that_no_browser_names_is_not_taken_at_the_start(self):
        for wrong in ("null", "https://page.example/", "page.example"):
            done = support.octavo("serve", "-m", tiny(), "--port", 0, "--cors-origin", wrong)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(f"found '{wrong}', expected an origin such as https://page.example", done.stderr)


class Start(Folder):
    def test_a_server_that_everybody_may_use_says_so(self):
        with Server("--host", "0.0.0.0", model=tiny()) as server:
            self.assertIn("warning: everybody who can reach this address may use the server", server.messages())
        with Server("--host", "0.0.0.0", "--api-key-file", self.key_file(ONE), model=tiny()) as server:
            self.assertNotIn("warning", server.messages())
        with Server(model=tiny()) as server:
            self.assertNotIn("warning", server.messages())

    def test_a_file_of_keys_that_others_may_read_is_refused(self):
        message = self.refusal("--api-key-file", self.key_file(ONE, mode=0o644))
        self.assertIn("the rights 0644, expected 0600, 0640 or fewer", message)
        self.assertIn(str(self.folder / "keys"), message)

    def test_a_short_key_is_refused_and_not_shown(self):
        message = self.refusal("--api-key-file", self.key_file(ONE, "hunter2"))
        self.assertIn(":2: found a key of 7 characters, expected 16 to 512", message)
        self.assertNotIn("hunter2", message)


class Metrics(Folder):
    def test_with_keys_metrics_want_one(self):
        with Server("--api-key-file", self.key_file(ONE), model=tiny()) as server:
            self.assertEqual(server.get("/metrics")[0], 401)
            self.assertEqual(server.get("/metrics", headers=bearer(ONE))[0], 200)
            self.assertEqual(server.get("/ready")[0], 200)

    def test_metrics_at_an_address_of_their_own_want_none(self):
        with Server("--api-key-file", self.key_file(ONE), "--metrics-listen", "127.0.0.1:0", model=tiny()) as server:
            url = re.search(r"metrics at (http://127\.0\.0\.1:\d+/metrics)", server.messages()).group(1)
            done = subprocess.run(["curl", "-s", url], capture_output=True, text=True, check=True)
            self.assertIn("octavo:num_requests_running", done.stdout)
            self.assertEqual(server.get("/metrics", headers=bearer(ONE))[0], 404)
            self.assertEqual(server.stop(), 0)


class Keys(Folder):
    def end_of_stream(self, stream):
        received = b""
        while not received.endswith(b"0\r\n\r\n"):
            piece = stream.recv(65536)
            self.assertTrue(piece, "the stream ended without an error")
            received = received[-1000:] + piece
        return received

    def test_a_revoked_key_is_refused_and_its_streams_end(self):
        with Server("--api-key-file", self.key_file(f"alice {ONE}", TWO), model=tiny()) as server:
            def status(key):
                return server.get("/v1/models", headers=bearer(key))[0]

            self.assertEqual((status(ONE), status(TWO)), (200, 200))
            body = json.dumps({"prompt": "a", "max_tokens": 1900, "ignore_eos": True, "n": 64, "stream": True}).encode()
            with socket.create_connection((server.host, server.port)) as stream:
                stream.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                               b"Authorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s"
                               % (ONE.encode(), len(body), body))
                self.assertTrue(stream.recv(4096).startswith(b"HTTP/1.1 200"))
                # The stream is read all the while: one that nobody reads is cut at its bound of unsent bytes.
                with futures.ThreadPoolExecutor() as threads:
                    end = threads.submit(self.end_of_stream, stream)
                    self.key_file(TWO)
                    begin = time.monotonic()
                    server.wait_until(lambda: status(ONE) == 401)
                    print(f"a revoked key was refused after {time.monotonic() - begin:.2f} s")
                    received = end.result()
                self.assertIn(b"invalid_api_key", received)
            self.assertEqual(status(TWO), 200)
            server.wait_for_line("(read again, 1 keys are valid)")
            self.key_file(TWO, ONE, mode=0o666)
            server.wait_for_line("(the rights 0666.*the keys from before stay valid)")
            self.assertEqual((status(ONE), status(TWO)), (401, 200))
            lines = server.access_log()
        self.assertIn("alice", {line.get("key") for line in lines})
        self.assertTrue(any(re.fullmatch("key-[0-9a-f]{16}", line.get("key", "")) for line in lines))
        self.assertNotIn(ONE, json.dumps(lines))


class Proxies(unittest.TestCase):
    def line(self, *args, headers):
        with Server(*args, model=tiny()) as server:
            server.get("/health", headers=headers)
            return server.access_log(1)[0]

    def test_only_a_trusted_proxy_says_where_a_request_came_from(self):
        headers = {"X-Forwarded-For": "198.51.100.1, 203.0.113.7, 127.0.0.9"}
        line = self.line("--trusted-proxy", "10.0.0.0/8", "--trusted-proxy", "127.0.0.0/8", headers=headers)
        self.assertEqual((line["peer"], line["client"]), ("127.0.0.1", "203.0.113.7"))
        line = self.line("--trusted-proxy", "10.0.0.0/8", headers=headers)
        self.assertEqual((line["peer"], "client" in line), ("127.0.0.1", False))
        line = self.line("--trusted-proxy", "::1", "--trusted-proxy", "127.0.0.1",
                         headers={"Forwarded": 'for="[2001:db8::7]:4711";proto=https'})
        self.assertEqual(line["client"], "2001:db8::7")

    def test_a_request_says_of_which_trace_it_is_a_part(self):
        line = self.line(headers={"traceparent": f"00-{TRACE}-00f067aa0ba902b7-01"})
        self.assertEqual((line["trace_id"], line["parent_id"]), (TRACE, "00f067aa0ba902b7"))
        self.assertNotIn("trace_id", self.line(headers={"traceparent": f"00-{TRACE}\x9b-00f067aa0ba902b7-01"}))

    def test_one_address_has_a_share_of_the_connections_and_a_proxy_has_all(self):
        for proxy, status in (("10.0.0.0/8", 503), ("127.0.0.0/8", 200)):
            with Server("--max-connections-per-address", 2, "--trusted-proxy", proxy, model=tiny()) as server, \
                    contextlib.ExitStack() as open_ones:
                for _ in range(2):
                    client = open_ones.enter_context(server.open_stream("a", max_tokens=1900))
                    self.assertIn(b" 200 ", client.recv(4096))
                self.assertEqual(server.get("/health")[0], status)

    def test_an_address_that_opens_connections_and_says_nothing_shuts_out_nobody(self):
        self.shuts_out_nobody(b"")

    def test_an_address_whose_requests_do_not_come_whole_shuts_out_nobody(self):
        self.shuts_out_nobody(b"GET /health HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n1")

    def shuts_out_nobody(self, said):
        with Server("--max-connections", 32, model=tiny()) as server, contextlib.ExitStack() as silent:
            def open_many():
                for _ in range(64):
                    client = silent.enter_context(socket.create_connection((server.host, server.port),
                                                                           source_address=("127.0.0.2", 0)))
                    client.sendall(said)
            with server.open_stream("a", max_tokens=1000) as stream:
                self.assertIn(b" 200 ", stream.recv(4096))
                for _ in range(3):
                    open_many()
                    self.assertEqual(server.get("/health")[0], 200)
                self.assertLessEqual(server.metric("http_connections"), 33)  # one may be on its way out
                received = b""
                while not received.endswith(b"0\r\n\r\n"):
                    received = received[-100:] + stream.recv(65536)
                self.assertIn(b"[DONE]", received)


class AccessLog(Folder):
    def mode(self, path):
        return stat.S_IMODE(path.stat().st_mode)

    def test_a_log_with_prompts_is_its_owners_alone(self):
        path = self.folder / "access.log"
        old = os.umask(0)
        self.addCleanup(os.umask, old)
        with Server("--access-log", path, model=tiny()):
            self.assertEqual(self.mode(path), 0o640)
        self.assertIn("found a log with the rights 0640, expected 0600",
                      self.refusal("--access-log", path, "--log-prompts"))
        path.unlink()
        with Server("--access-log", path, "--log-prompts", model=tiny()) as server:
            self.assertEqual(self.mode(path), 0o600)
            server.complete("a \u2028 secret", max_tokens=1)
            server.wait_until(lambda: path.read_text(encoding="utf-8").endswith("\n"))
        text = path.read_text(encoding="utf-8")
        self.assertIn("secret", json.loads(text)["prompt"])
        self.assertNotIn("\u2028", text)

    def test_a_log_that_was_moved_away_goes_on_in_a_new_file(self):
        path, old = self.folder / "access.log", self.folder / "access.log.1"
        with Server("--access-log", path, model=tiny(), start_new_session=True) as server:
            server.get("/health")
            server.wait_until(lambda: path.read_text(encoding="utf-8").endswith("\n"))
            path.rename(old)
            server.process.send_signal(signal.SIGHUP)
            server.wait_until(path.exists)
            server.get("/version")
            server.wait_until(lambda: path.read_text(encoding="utf-8").endswith("\n"))
            self.assertEqual(server.stop(), 0)
        self.assertEqual([json.loads(text.read_text(encoding="utf-8"))["path"] for text in (old, path)],
                         ["/health", "/version"])

    def test_a_log_that_may_not_grow_costs_one_line_and_goes_on_when_it_may(self):
        path = self.folder / "access.log"
        path.write_text("a line from before\n" * 5000, encoding="ascii")
        with Server("--access-log", path, model=tiny()) as server:
            resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (10_000, resource.RLIM_INFINITY))
            for _ in range(60):
                self.assertEqual(server.get("/health")[0], 200)
            server.wait_for_line("octavo: (.*/access.log: cannot write the log: File too large)")
            self.assertEqual(server.metric("access_log_dropped_lines_total"), 1)
            resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
            server.wait_for_line("(/access.log: the log can be written again)")
            server.wait_until(lambda: path.read_text(encoding="utf-8").count("/health") == 59)
            self.assertEqual(server.messages().count("access.log"), 2)
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()[5000:]]
        self.assertEqual(lines[0]["dropped_lines"], 1)

    def test_a_terminal_that_closes_ends_the_server(self):
        pid, terminal = pty.fork()
        if pid == 0:
            os.execv(support.OCTAVO, [support.OCTAVO, "serve", "-m", str(tiny()), "--port", "0"])
        text = b""
        while b"ready at" not in text:
            text += os.read(terminal, 4096)
        os.close(terminal)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), -signal.SIGHUP)

    def test_a_long_line_is_written_whole_however_slowly_it_is_read(self):
        command = [support.OCTAVO, "serve", "-m", str(tiny()), "--port", "0", "--log-prompts"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            try:
                port = int(process.stderr.readline().split(b":")[-1])
                while b"ready" not in process.stderr.readline():
                    pass
                for i in range(4):  # 4 × 100 kB into a pipe of 64 KiB that nobody reads yet
                    body = json.dumps({"prompt": f"{i}" + "x" * 100_000, "max_tokens": 1}).encode()
                    with socket.create_connection(("127.0.0.1", port)) as client:
                        client.sendall(b"POST /tokenize HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                                       b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
                                       % (len(body), body))
                        while client.recv(65536):
                            pass
                for i in range(4):
                    line = json.loads(process.stdout.readline())
                    self.assertTrue(json.loads(line["prompt"])["prompt"].startswith(f"{i}x"))
            finally:
                process.kill()


if __name__ == "__main__":
    unittest.main()
