"""octavo serve behind nginx with its defaults, but for the time of silence after which it ends a connection: 15 seconds
instead of 60, which a stream by the server's defaults is never silent for either."""
import contextlib
import http.client
import json
import pathlib
import socket
import subprocess
import tempfile
import time
import unittest

import support
from browser import PROGRAM, Browser
from server_support import Server

NGINX = support.TEST_DATA / "nginx" / "usr" / "sbin" / "nginx"  # scripts/setup --test
READ_TIMEOUT_S = 15

# Of what has to do with HTTP nothing else is set: only where nginx may write, and whom it stands before.
CONFIGURATION = """
daemon off;
master_process off;
pid {folder}/pid;
error_log {folder}/error.log;
events {{}}
http {{
  access_log off;
  proxy_read_timeout {read_timeout}s;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  server {{
    listen unix:{folder}/socket;
    {listen}
    location / {{ proxy_pass {url}; }}
  }}
}}
"""


class Connection(http.client.HTTPConnection):
    """To a socket in a folder, so that no free port need be found."""

    def __init__(self, path):
        super().__init__("localhost", timeout=support.TIMEOUT_S)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self.path))


@contextlib.contextmanager
def nginx_before(server, port=None):
    """Gives connections to it. It listens at the port as well, if there is one."""
    listen = f"listen 127.0.0.1:{port};" if port else ""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "nginx.conf").write_text(CONFIGURATION.format(folder=folder, listen=listen, url=server.url,
                                                                read_timeout=READ_TIMEOUT_S), encoding="utf-8")
        with subprocess.Popen([NGINX, "-p", folder, "-c", folder / "nginx.conf", "-e", folder / "error.log"]) as process:
            try:
                end = time.monotonic() + 60
                while not (folder / "socket").exists():
                    if process.poll() is not None or time.monotonic() > end:
                        raise AssertionError((folder / "error.log").read_text(encoding="utf-8"))
                    time.sleep(0.01)
                yield lambda: contextlib.closing(Connection(folder / "socket"))
            finally:
                process.terminate()


class Nginx(unittest.TestCase):
    def test_a_stream_that_waits_longer_than_its_time_out_is_not_cut(self):
        # The holder of the only place keeps one thread busy until the other has waited long enough.
        with Server("--max-sequences", 1, "--threads", 1, "--isa", "scalar", "--max-unsent-size", "64MiB") as server, \
                nginx_before(server) as connect, server.open_stream("Once", max_tokens=8000) as holder, \
                connect() as connection:
            server.wait_until(lambda: server.metric("num_requests_running") == 1)
            begin = time.monotonic()
            body = json.dumps({"prompt": "The sea is", "stream": True, "max_tokens": 3, "ignore_eos": True})
            connection.request("POST", "/v1/completions", body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            self.assertEqual(response.status, 200)
            comments = 0
            while time.monotonic() - begin < READ_TIMEOUT_S + 1:
                line = response.readline()
                self.assertIn(line, (b": waiting\n", b"\n"))
                comments += line != b"\n"
            holder.close()
            rest = response.read().decode()
        self.assertGreaterEqual(comments, 2)
        events = [line for line in rest.splitlines() if line.startswith("data: ")]
        self.assertEqual(len(events), 4)
        self.assertEqual(events[-1], "data: [DONE]")

    def test_tokens_come_one_by_one(self):
        with Server() as server, nginx_before(server) as connect, connect() as connection:
            body = json.dumps({"prompt": "The sea is", "stream": True, "max_tokens": 8000, "ignore_eos": True})
            connection.request("POST", "/v1/completions", body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            self.assertTrue(response.readline().startswith(b"data: "))
            # The answer is far from its end; /metrics may be a step behind its first token.
            server.wait_until(lambda: server.metric("num_requests_running") == 1)

    @unittest.skipUnless(PROGRAM, "no Chromium: scripts/setup --test installs it")
    def test_the_chat_page_is_answered_although_the_host_is_another(self):
        # A browser says Sec-Fetch-Site to this machine and over https alone: with the name, the page must tell itself.
        with Server() as server, socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
            free.close()
            with nginx_before(server, port), Browser("--host-resolver-rules=MAP chat.example 127.0.0.1") as browser:
                for host in ("chat.example", "127.0.0.1"):
                    browser.open(f"http://{host}:{port}/")
                    browser.wait_for("model !== null")
                    browser.run("$('max_tokens').value = '4'; $('input').focus()")
                    browser.type("Hello.")
                    browser.press("Enter")
                    browser.wait_for("running === null && document.querySelector('.figures, article.error') !== null")
                    self.assertFalse(browser.run("document.querySelector('article.error') !== null"), host)


if __name__ == "__main__":
    unittest.main()
