"""octavo serve with TLS: certificates, versions, the handshake's time limit, the close alert, what it costs."""
import contextlib
import http.client
import json
import pathlib
import re
import signal
import socket
import ssl
import subprocess
import tempfile
import time
import unittest

import support
from server_support import Server

KIB, MIB = 1 << 10, 1 << 20
# Limits that no test waits for.
NEVER = ("--read-timeout", 3600, "--write-timeout", 3600, "--idle-timeout", 3600, "--min-write-rate", 0)


def tiny():
    return support.tiny_model("tiny-qwen3")


class Tls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.cert, cls.key = pathlib.Path(folder.name, "cert.pem"), pathlib.Path(folder.name, "key.pem")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj",
                        "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", cls.key, "-out",
                        cls.cert], check=True, capture_output=True)

    def server(self, *args):
        return Server("--tls-cert", self.cert, "--tls-key", self.key, *args, model=tiny())

    def context(self):
        return ssl.create_default_context(cafile=self.cert)

    def connect(self, server, context=None):
        """A connection on which an end without the close alert is an error."""
        client = socket.create_connection((server.host, server.port), timeout=support.TIMEOUT_S)
        return (context or self.context()).wrap_socket(client, server_hostname=server.host, suppress_ragged_eofs=False)

    def ask(self, server, path, body=None, context=None):
        """(status, text)"""
        connection = http.client.HTTPSConnection(server.host, server.port, context=context or self.context(),
                                                 timeout=support.TIMEOUT_S)
        with contextlib.closing(connection):
            connection.request("GET" if body is None else "POST", path, body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()

    def num_connections(self, server):
        """But the one that asks."""
        _, text = self.ask(server, "/metrics")
        line = next(line for line in text.splitlines() if line.startswith("octavo:http_connections "))
        return int(float(line.split()[-1])) - 1


class Serving(Tls):
    def test_an_answer_and_a_stream_in_each_version(self):
        with self.server() as server:
            self.assertTrue(server.url.startswith("https://"))
            for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
                context = self.context()
                context.minimum_version = context.maximum_version = version
                self.assertEqual(self.ask(server, "/health", context=context)[0], 200)
                body = json.dumps({"prompt": "a", "max_tokens": 20, "stream": True})
                status, text = self.ask(server, "/v1/completions", body, context)
                self.assertEqual(status, 200)
                self.assertTrue(text.endswith("data: [DONE]\n\n"))
            self.assertEqual(server.stop(), 0)

    def test_old_versions_and_plain_http_are_refused(self):
        with self.server() as server:
            with self.assertRaises(OSError):
                server.get("/health", timeout=5)
            old = self.context()
            old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1_1
            with self.assertRaises(OSError):
                self.ask(server, "/health", context=old)
            self.assertEqual(self.ask(server, "/health")[0], 200)

    def test_a_file_that_is_no_certificate_is_an_error(self):
        done = support.octavo("serve", "-m", tiny(), "--port", 0, "--tls-cert", self.key, "--tls-key", self.key)
        self.assertEqual(done.returncode, 1)
        self.assertIn("key.pem", done.stderr)


class Closing(Tls):
    REQUEST = b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"

    def test_the_end_of_a_connection_is_a_close_alert(self):
        with self.server() as server, self.connect(server) as client:
            client.sendall(self.REQUEST)
            received = b""
            while piece := client.recv(4096):  # raises where the end comes without the alert
                received += piece
            self.assertTrue(received.endswith(b'{"status":"ok"}'))

    def test_a_client_that_does_not_answer_the_alert_is_not_waited_for(self):
        with self.server(*NEVER) as server, self.connect(server) as client:
            client.sendall(self.REQUEST)
            while client.recv(4096):
                pass
            server.wait_until(lambda: self.num_connections(server) == 0)

    def test_a_client_that_goes_on_sending_still_gets_its_answer(self):
        with self.server("--max-body-size", "1MiB") as server, self.connect(server) as client:
            client.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                           b"Content-Length: %d\r\n\r\n" % (8 * MIB))
            for _ in range(4 * 16):
                client.sendall(b" " * (MIB // 16))
            self.assertTrue(client.recv(4096).startswith(b"HTTP/1.1 413"))

    def test_a_hang_up_with_an_alert_ends_its_request(self):
        with self.server("--served-model-name", "tiny") as server:
            client = self.connect(server)
            body = json.dumps({"prompt": "a", "max_tokens": 1900, "ignore_eos": True, "n": 64}).encode()
            client.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                           b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
            while 'octavo:num_requests_running{model_name="tiny"} 64' not in \
                    self.ask(server, "/metrics")[1]:
                time.sleep(0.01)
            with contextlib.suppress(OSError):
                client.unwrap()
            client.close()
            server.wait_until(lambda: 'octavo:kv_blocks_referenced{model_name="tiny"} 0' in self.ask(server, "/metrics")[1])
            made = re.search(r'octavo:generation_tokens_total\{model_name="tiny"\} (\d+)', self.ask(server, "/metrics")[1])
            self.assertLess(int(made.group(1)), 64 * 1900)


class Handshake(Tls):
    def test_a_client_that_does_not_finish_it_is_cut_off(self):
        with self.server("--read-timeout", 0.5) as server:
            for beginning in (b"", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"):
                with socket.create_connection((server.host, server.port), timeout=support.TIMEOUT_S) as client:
                    begin = time.monotonic()
                    client.sendall(beginning)
                    self.assertEqual(client.recv(1), b"")
                    self.assertGreater(time.monotonic() - begin, 0.3)
            self.assertEqual(self.ask(server, "/health")[0], 200)

    def test_a_drain_does_not_wait_for_it(self):
        with self.server(*NEVER, "--drain-timeout", 3600) as server, \
                socket.create_connection((server.host, server.port)):
            self.assertEqual(self.num_connections(server), 1)
            server.process.send_signal(signal.SIGTERM)
            self.assertEqual(server.process.wait(support.TIMEOUT_S), 0)


class Cost(Tls):
    def test_an_idle_connection_costs_less_than_128_kib(self):
        with self.server() as server:
            context = self.context()
            self.connect(server, context).close()
            before = server.resident_bytes()
            clients = [self.connect(server, context) for _ in range(200)]
            for client in clients:
                client.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
                self.assertTrue(client.recv(4096).startswith(b"HTTP/1.1 200"))
            cost = (server.resident_bytes() - before) / len(clients)
            print(f"an idle TLS connection: {cost / KIB:.1f} KiB")
            for client in clients:
                client.close()
        if not support.SANITIZED:
            self.assertLess(cost, 128 * KIB)


if __name__ == "__main__":
    unittest.main()
