"""Pictures that clients name by addresses: those that the options allow are fetched, in every API and for earlier messages
too; nothing leads anywhere else, and nothing goes on for ever."""
import contextlib
import http.server
import json
import os
import socket
import socketserver
import struct
import threading
import time
import unittest
import zlib

import support
from hub_ways import Tls
from test_server_pictures import Seeing, image_part, text_part


class Host:
    """A host of pictures on this machine, whose paths misbehave; notes what it was asked for."""

    def __init__(self, picture):
        self.asked, self.heads, self.cut = [], [], threading.Event()
        host = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                host.asked.append(self.path)
                host.heads.append(dict(self.headers))
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                    host.answer(self)

            def log_message(self, *_):
                pass

        class Threads(socketserver.ThreadingMixIn, http.server.HTTPServer):
            daemon_threads = True
            request_queue_size = 256

            def handle_error(self, *_):  # a client that hangs up
                pass

        self.picture = picture
        self.server = Threads(("127.0.0.1", 0), Handler)
        self.port = self.server.server_port
        self.url = f"http://127.0.0.1:{self.port}"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def answer(self, call):
        path, _, argument = call.path.partition("?")
        if path.startswith("/to/"):  # so many redirects, the last one to the argument
            left = int(path[4:])
            where = f"/to/{left - 1}?{argument}" if left > 1 else argument
            return self.send(call, b"moved", 302, ("Location", where))
        if path == "/status":
            return self.send(call, self.picture, int(argument))
        if path == "/html":
            return self.send(call, b"<!doctype html><title>gone</title>")
        if path == "/head":
            call.send_response(200)
            for i in range(2000):
                call.send_header(f"X-{i}", "x" * 100)
            return call.end_headers()
        if path in ("/endless", "/slow"):
            call.send_response(200)
            call.send_header("Content-Type", "image/png")
            call.send_header("Transfer-Encoding", "chunked")
            call.end_headers()
            piece = self.picture if path == "/slow" else bytes(1 << 16)
            try:
                while True:
                    call.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                    call.wfile.flush()
                    piece = b"\0" if path == "/slow" else piece
                    time.sleep(0.05 if path == "/slow" else 0)
            except OSError:
                self.cut.set()
                raise
        return self.send(call, self.picture)

    @staticmethod
    def send(call, body, status=200, *fields):
        call.send_response(status)
        for name, value in fields:
            call.send_header(name, value)
        call.send_header("Content-Length", str(len(body)))
        call.end_headers()
        call.wfile.write(body)


class Addresses(Seeing):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.host = cls.enterClassContext(Host(cls.pictures[0]))
        cls.other = cls.enterClassContext(Host(cls.pictures[0]))

    def chat(self, *addresses, **fields):
        parts = [{"type": "image_url", "image_url": {"url": address}} for address in addresses]
        return {"messages": [{"role": "user", "content": [text_part("A"), *parts, text_part("B")]}], "max_tokens": 2,
                "temperature": 0, "ignore_eos": True, **fields}

    def refused(self, server, address, *words, code="invalid_image_url"):
        """The error of a chat whose newest message has the address."""
        status, _, text = server.request("POST", "/v1/chat/completions", self.chat(address))
        error = json.loads(text)["error"]
        self.assertEqual(status, 400, text)
        self.assertEqual(error["code"], code, error)
        self.assertEqual(error["param"], "messages[0].content[1].image_url.url")
        for word in ("messages[0].content[1].image_url.url: found", *words):
            self.assertIn(word, error["message"])
        return error["message"]


class Fetched(Addresses):
    def test_a_picture_at_an_address_is_the_one_that_a_data_url_has(self):
        """By each API, in results of tools and in earlier messages; it is encoded once, and counted without being seen."""
        address = self.host.url + "/a.png"
        with self.server("--image-urls", f"127.0.0.1:{self.host.port}") as server:
            given = [{"role": "user", "content": [text_part("A"), image_part(self.pictures[0]), text_part("B")]}]
            expected, _ = self.ask(server, given)
            answer = server.post("/v1/chat/completions", self.chat(address, logprobs=True, top_logprobs=20, max_tokens=6))
            self.assertEqual([(t["logprob"], t["bytes"]) for t in answer["choices"][0]["logprobs"]["content"]], expected)
            self.assertEqual(answer["usage"]["prompt_tokens_details"]["image_tokens"], 6)
            block = {"type": "image", "source": {"type": "url", "url": address}}
            said = {"max_tokens": 2, "messages": [{"role": "user", "content": [block, text_part("A")]}]}
            calls = [{"role": "user", "content": [text_part("A")]},
                     {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}]},
                     {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": [block]}]}]
            seen = [server.post("/v1/messages", said), server.post("/v1/messages", {**said, "messages": calls})]
            part = {"type": "input_image", "image_url": address}
            response = server.post("/v1/responses", {"input": [{"role": "user", "content": [part]}],
                                                     "max_output_tokens": 2})
            asked = len(self.host.asked)
            more = server.post("/v1/responses", {"input": "C", "previous_response_id": response["id"],
                                                 "max_output_tokens": 2})
            self.assertEqual(len(self.host.asked), asked)  # the response has kept it
            for usage in (response["usage"], more["usage"]):
                self.assertEqual(usage["input_tokens_details"]["image_tokens"], 6)
            for path, body in (("/v1/messages/count_tokens", said), ("/tokenize", self.chat(address)),
                               ("/v1/responses/input_tokens", {"input": [{"role": "user", "content": [part]}]})):
                counted = server.post(path, body)
                self.assertGreater(counted.get("input_tokens", counted.get("count")), 6, path)
            raw = server.post("/v1/completions", {"prompt": {"content": self.chat(address)["messages"][0]["content"]},
                                                  "max_tokens": 1})
            self.assertEqual(raw["usage"]["prompt_tokens_details"]["image_tokens"], 6)
            earlier = [self.chat(address)["messages"][0], {"role": "assistant", "content": [text_part("C")]},
                       {"role": "user", "content": [text_part("A")]}]
            _, answer = self.ask(server, earlier)
            self.assertEqual(answer["usage"]["prompt_tokens_details"]["image_tokens"], 6)
            self.assertEqual(server.metrics()["octavo:pictures_encoded_total"], 1)
            self.assertEqual(len(seen), 2)
        for head in self.host.heads:
            self.assertEqual({name.lower() for name in head} - {"host", "accept", "user-agent"}, set(), head)

    def test_an_address_is_asked_for_once_however_often_a_body_has_it(self):
        with self.server("--image-urls", f"127.0.0.1:{self.host.port}") as server:
            before = self.host.asked.count("/often")
            answer = server.post("/v1/chat/completions", self.chat(*[self.host.url + "/often"] * 5))
            self.assertEqual(answer["usage"]["prompt_tokens_details"]["image_tokens"], 5 * 6)
            self.assertEqual(self.host.asked.count("/often"), before + 1)

    def test_an_earlier_one_that_is_gone_is_a_text_and_a_warning(self):
        with self.server("--image-urls", f"127.0.0.1:{self.host.port}") as server:
            for path, word in (("/status?404", "found the status 404"), ("/html", "a web page, not a picture")):
                earlier = [self.chat(self.host.url + path)["messages"][0],
                           {"role": "assistant", "content": [text_part("C")]},
                           {"role": "user", "content": [text_part("A")]}]
                _, answer = self.ask(server, earlier)
                self.assertNotIn("image_tokens", answer["usage"].get("prompt_tokens_details") or {})
                self.assertEqual(len(answer["warnings"]), 1)
                for words in ("messages[0].content[1].image_url.url: found", word, "an image that it cannot see"):
                    self.assertIn(words, answer["warnings"][0])

    def test_redirects_are_followed_three_times(self):
        with self.server("--image-urls", f"127.0.0.1:{self.host.port}") as server:
            server.post("/v1/chat/completions", self.chat(self.host.url + "/to/3?/a.png"))
            self.refused(server, self.host.url + "/to/4?/a.png", "found more than 3 redirects")


    def test_https_asks_for_a_certificate_and_does_not_become_http(self):
        with Tls(self.host.port, self.folder) as tls:
            hosts = ("--image-urls", "localhost,127.0.0.0/8,::1")
            with self.server(*hosts, env={"SSL_CERT_FILE": str(tls.certificate)}) as server:
                server.post("/v1/chat/completions", self.chat(tls.url + "/a.png"))
                self.refused(server, f"{tls.url}/to/1?{self.host.url}/a.png", "expected https as before")
            with self.server(*hosts) as server:
                self.refused(server, tls.url + "/a.png", "certificate")

    def test_no_proxy_is_asked(self):
        asked = len(self.other.asked)
        proxies = {name: self.other.url for name in ("http_proxy", "https_proxy", "all_proxy", "ALL_PROXY")}
        with self.server("--image-urls", f"127.0.0.1:{self.host.port}", env=proxies) as server:
            server.post("/v1/chat/completions", self.chat(self.host.url + "/a.png"))
        self.assertEqual(len(self.other.asked), asked)


class Refused(Addresses):
    def test_without_the_options_nothing_is_fetched(self):
        asked = len(self.host.asked)
        with self.server() as server:
            self.refused(server, self.host.url + "/a.png", "--image-urls", code="unsupported_parameter")
            self.refused(server, "file:///etc/passwd", "--media-path", code="unsupported_parameter")
            self.refused(server, "ftp://127.0.0.1/a.png", "fetches no pictures", code="unsupported_parameter")
        self.assertEqual(len(self.host.asked), asked)

    def test_what_leads_inward_is_not_connected_to(self):
        """By an address in whichever form, by a name, by redirects; a host that is named may lead where it likes, and is
        followed to public addresses alone."""
        inside, port = self.other.url, self.other.port
        asked = len(self.other.asked)
        allowed = f"public,127.0.0.1:{self.host.port}"
        with self.server("--image-urls", allowed) as server:
            for host in ("127.0.0.1", "127.1", "2130706433", "0x7f.0.0.1", "0.0.0.0", "localhost", "localhost.", "[::1]",
                         "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]", "[64:ff9b::127.0.0.1]",
                         "[2002:7f00:1::]", "[::]"):
                with self.subTest(host):
                    message = self.refused(server, f"http://{host}:{port}/a.png")
                    self.assertRegex(message, "leads inward|found nothing at")
            for target in (inside + "/a.png", f"http://localhost:{port}/a.png", f"http://[::ffff:127.0.0.1]:{port}/a.png"):
                with self.subTest(target):
                    self.refused(server, f"{self.host.url}/to/1?{target}", "leads inward")
            for target in ("file:///etc/passwd", "gopher://127.0.0.1/", "ftp://127.0.0.1/"):
                with self.subTest(target):
                    self.refused(server, f"{self.host.url}/to/1?{target}", "expected an address of http or https")
            self.refused(server, f"http://user:secret@127.0.0.1:{self.host.port}/a.png", "without a user's name")
        with self.server("--image-urls", f"localhost,127.0.0.1:{self.host.port}") as server:
            self.refused(server, f"http://localhost:{port}/a.png", "leads inward")
            self.refused(server, inside + "/a.png", "expected one that --image-urls names")
            self.refused(server, f"{self.host.url}/to/1?{inside}/a.png", "expected one that --image-urls names")
            self.refused(server, "http://example.com/a.png", "expected one that --image-urls names")
        self.assertEqual(len(self.other.asked), asked)
        with self.server("--image-urls", "localhost,127.0.0.0/8") as server:
            server.post("/v1/chat/completions", self.chat(f"http://localhost:{port}/a.png"))
        self.assertEqual(len(self.other.asked), asked + 1)

    def test_what_never_ends_or_is_no_picture_is_refused(self):
        with self.server("--image-urls", f"127.0.0.1:{self.host.port}", "--max-picture-size", "1MiB") as server:
            self.host.cut.clear()
            self.refused(server, self.host.url + "/endless", "found more than 1048576 bytes", code="image_too_large")
            self.assertTrue(self.host.cut.wait(support.TIMEOUT_S))
            self.refused(server, self.host.url + "/html", "a web page, not a picture", code="invalid_image")
            self.refused(server, self.host.url + "/status?500", "found the status 500")
            self.refused(server, self.host.url + "/head", "whose head has more than")
            self.refused(server, self.host.url + "/slow", "within 10 s")
            server.post("/v1/chat/completions", self.chat(self.host.url + "/a.png"))

    def test_pictures_of_a_request_are_bounded_together_and_in_number(self):
        noise = os.urandom(300_000)
        large = png_of(noise, 250, 400)
        with Host(large) as host, self.server("--image-urls", f"127.0.0.1:{host.port}", "--max-body-size", "1MiB",
                                              "--max-pictures", "5") as server:
            server.post("/v1/chat/completions", self.chat(*[host.url + "/a"] * 3))
            for addresses in ([host.url + "/a"] * 4, [f"{host.url}/{i}" for i in range(4)]):
                status, _, text = server.request("POST", "/v1/chat/completions", self.chat(*addresses))
                self.assertEqual((status, json.loads(text)["error"]["code"]), (400, "image_too_large"), text)
                self.assertIn("more than 1048576 bytes", text)
            asked = len(host.asked)
            status, _, text = server.request("POST", "/v1/chat/completions", self.chat(*[host.url + "/a"] * 6))
            self.assertEqual((status, json.loads(text)["error"]["code"]), (400, "image_too_large"), text)
            self.assertEqual(len(host.asked), asked)

    def test_one_whose_client_is_gone_is_fetched_no_more(self):
        with self.server("--image-urls", f"127.0.0.1:{self.host.port}") as server:
            self.host.cut.clear()
            before = self.host.asked.count("/slow")
            body = json.dumps(self.chat(self.host.url + "/slow")).encode()
            begin = time.monotonic()
            with contextlib.closing(connect(server, body)):
                server.wait_until(lambda: self.host.asked.count("/slow") > before)
            self.assertTrue(self.host.cut.wait(support.TIMEOUT_S))
            print(f"the host was left {time.monotonic() - begin:.2f} s after the call", flush=True)
            self.assertEqual(server.access_log(1)[-1]["status"], 499)

    def test_slow_hosts_keep_nobody_else_waiting(self):
        """Neither the answers of others nor their pictures."""
        with self.server("--image-urls", f"127.0.0.1:{self.host.port}") as server, contextlib.ExitStack() as open_calls:
            before = self.host.asked.count("/slow")
            body = json.dumps(self.chat(self.host.url + "/slow")).encode()
            for _ in range(7):
                open_calls.enter_context(contextlib.closing(connect(server, body)))
            server.wait_until(lambda: self.host.asked.count("/slow") == before + 7)
            server.post("/v1/chat/completions", self.chat(self.host.url + "/a.png"))
            self.ask(server, self.question())


class Files(Addresses):
    def test_files_of_the_folder_are_read_and_no_others(self):
        folder = self.folder / "media"
        (folder / "inner").mkdir(parents=True)
        (folder / "a b.png").write_bytes(self.pictures[0])
        (folder / "inner" / "c.png").write_bytes(self.pictures[0])
        (folder / "text.png").write_text("no picture")
        (self.folder / "media-secret").mkdir()
        secret = self.folder / "media-secret" / "secret.png"
        secret.write_bytes(self.pictures[0])
        (folder / "out").symlink_to(secret)
        (folder / "outside").symlink_to(secret.parent)
        (folder / "in").symlink_to(folder / "inner" / "c.png")
        os.mkfifo(folder / "pipe")
        with self.server("--media-path", folder) as server:
            for address in (f"file://{folder}/a%20b.png", "file://a%20b.png", "file://a b.png", "file:inner/c.png",
                            "FILE://inner/../inner/c.png", "file://in", f"file://localhost{folder}/inner/c.png"):
                with self.subTest(address):
                    answer = server.post("/v1/chat/completions", self.chat(address))
                    self.assertEqual(answer["usage"]["prompt_tokens_details"]["image_tokens"], 6)
            for address in (f"file://{secret}", "file://out", "file://outside/secret.png", "file://../media-secret/secret.png",
                            "file://%2e%2e/media-secret/secret.png", "file:///dev/zero", "file:///etc/passwd", "file://pipe",
                            "file://inner", "file://", "file://.", "file://none.png", "file://a%00b", "file://" + "a" * 5000,
                            "file://localhost/etc/passwd", "file:///proc/self/environ"):
                with self.subTest(address):
                    self.refused(server, address, "expected that of a file in the folder of --media-path")
            self.refused(server, "file://text.png", "no picture", code="invalid_image")
            self.refused(server, self.host.url + "/a.png", "this server has no --image-urls")

    def test_files_have_the_limit_of_bytes(self):
        folder = self.folder / "large"
        folder.mkdir()
        with open(folder / "a.png", "wb") as file:
            file.truncate(1 << 40)
        with self.server("--media-path", folder) as server:
            self.refused(server, "file://a.png", f"more than {20 << 20} bytes", code="image_too_large")


def connect(server, body):
    """A socket on which a chat was asked for."""
    client = socket.create_connection((server.host, server.port))
    client.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                   b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    return client


def png_of(noise, width, height):
    """A picture that no compression makes smaller."""
    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    rows = b"".join(b"\0" + noise[3 * width * y:3 * width * (y + 1)] for y in range(height))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows, 0)) + chunk(b"IEND", b""))


if __name__ == "__main__":
    unittest.main()
