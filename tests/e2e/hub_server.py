"""A hub of models for tests, and a second host that it redirects to: they speak the hub's protocol, and misbehave when
told to. `with Hub(files) as hub:` serves them as test/ repositories; `hub.environment(home)` is what a program needs.

    hub.faults.append("cut")       the next answers with a file's bytes: one fault each, in their order (see FAULTS)
    hub.requests                   what was asked, as (host, path, range, authorization)
    hub.sent_bytes                 of files, all answers together
"""
import functools
import hashlib
import http.server
import json
import os
import threading
import time
import urllib.parse

COMMIT = "0123456789abcdef0123456789abcdef01234567"
STALL_S = 60

FAULTS = {
    "cut": "half of the bytes, then the connection ends",
    "whole": "200 with all bytes where a range was asked for",
    "stall": "half of the bytes, then nothing",
    "longer": "a Content-Length that is more than the file",
    "shorter": "a Content-Length that is less than the file",
    "endless": "no Content-Length and more bytes than the file has",
    "other range": "206 with another range than was asked for",
    "junk": "other bytes of the right number",
    "changed": "another hash than the list gave",
    "416": "no such range",
    "401": "", "403": "", "404": "", "429": "with Retry-After: 1", "429 long": "with Retry-After: 7200", "500": "", "503": "",
    "loop": "a redirect to itself",
}


@functools.lru_cache(maxsize=16)
def hash_of(content):
    return hashlib.sha256(content).hexdigest()


class Hub:
    """`repos`: {"test/name": {"file": bytes}}."""

    def __init__(self, repos, token=None, plain_etags=False, delay_s=0.0):
        self.repos, self.token, self.delay_s = repos, token, delay_s
        self.faults, self.requests, self.list_faults = [], [], []
        self.sent_bytes = 0  # of files
        self.redirects = True  # bytes come from the second host, as they do from the real hub
        self.lock = threading.Lock()
        self.servers = [self._server("hub"), self._server("files")]
        self.hub_url, self.files_url = (f"http://127.0.0.1:{server.server_port}" for server in self.servers)

    def _server(self, host):
        hub = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                hub.handle(self, host)

            def do_HEAD(self):
                hub.handle(self, host)

            def log_message(self, *args):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        server.handle_error = lambda *_: None  # a client that was killed
        return server

    def __enter__(self):
        for server in self.servers:
            threading.Thread(target=server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        for server in self.servers:
            server.shutdown()
            server.server_close()

    def environment(self, home, stall_s=30):
        """Variables for a program with an empty home that knows this hub alone, and takes a transfer for dead that
        stands still for so long: a hub of a busy machine pauses for seconds without meaning it."""
        names = ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "XDG_CACHE_HOME",
                 "HF_HOME", "HF_HUB_CACHE", "HF_HUB_OFFLINE", "HF_TOKEN")
        return {**{name: "" for name in names}, "HOME": str(home), "HF_ENDPOINT": self.hub_url, "no_proxy": "*",
                "HF_HUB_DOWNLOAD_TIMEOUT": str(stall_s), **({"HF_TOKEN": self.token} if self.token else {})}

    def fetched(self):
        """Requests for bytes of files."""
        return [r for r in self.requests if r[0] == "files" or (not self.redirects and "/resolve/" in r[1])]

    # One request.

    def handle(self, handler, host):
        path = urllib.parse.unquote(urllib.parse.urlsplit(handler.path).path)
        with self.lock:
            self.requests.append((host, path, handler.headers.get("Range"), handler.headers.get("Authorization")))
        if host == "hub" and self.token and handler.headers.get("Authorization") != f"Bearer {self.token}":
            return self.answer(handler, 401, {"X-Error-Message": "Invalid credentials"})
        parts = path.strip("/").split("/")
        if parts[:2] == ["api", "models"]:
            return self.list_files(handler, "/".join(parts[2:4]))
        repo, name = "/".join(parts[:2]), "/".join(parts[4:])
        content = self.repos.get(repo, {}).get(name)
        if parts[2:3] != ["resolve"] or content is None:
            return self.answer(handler, 404, {"X-Error-Message": "Entry not found"})
        if host == "hub" and self.redirects:
            return self.redirect(handler, content)
        self.send_file(handler, content, None if handler.command == "HEAD" else self.next_fault(self.faults))

    def next_fault(self, faults):
        with self.lock:
            return faults.pop(0) if faults else None

    def answer(self, handler, status, headers, body=b""):
        handler.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            handler.send_header(name, value)
        handler.end_headers()
        if handler.command != "HEAD":
            handler.wfile.write(body)

    def answer_status(self, handler, fault):
        headers = {"Retry-After": "7200" if fault.endswith("long") else "1"} if fault.startswith("429") else {}
        self.answer(handler, int(fault.split()[0]), headers, b"sorry")

    def list_files(self, handler, repo):
        fault = self.next_fault(self.list_faults)
        if fault == "trickle":
            return self.trickle(handler)
        if fault:
            return self.answer_status(handler, fault)
        if repo not in self.repos:
            return self.answer(handler, 404, {"X-Error-Message": "Repository not found"})
        siblings = [{"rfilename": name, "size": len(content), "blobId": "b" * 40,
                     "lfs": {"sha256": hash_of(content), "size": len(content), "pointerSize": 130}}
                    for name, content in self.repos[repo].items()]
        body = json.dumps({"id": repo, "sha": COMMIT, "siblings": siblings}).encode()
        self.answer(handler, 200, {"Content-Type": "application/json"}, body)

    def trickle(self, handler):
        """JSON without an end, so much faster than a standstill that also a slow machine's average is."""
        self.answer(handler, 200, {"Content-Length": str(1 << 24)}, b"[")
        for _ in range(STALL_S * 10):
            handler.wfile.write(b" " * 20000)
            time.sleep(0.1)

    def metadata(self, content, changed=False):
        etag = hash_of(content + b"x" if changed else content)
        return {"X-Repo-Commit": COMMIT, "X-Linked-Etag": f'"{etag}"', "X-Linked-Size": str(len(content))}

    def redirect(self, handler, content):
        with self.lock:
            fault = self.faults.pop(0) if self.faults[:1] in (["changed"], ["loop"]) and handler.command == "GET" else None
        to = handler.path if fault == "loop" else self.files_url + handler.path + "?signature=secret"
        self.answer(handler, 302, {"Location": to, **self.metadata(content, fault == "changed")})

    def send_file(self, handler, content, fault):
        begin, end = self.range_of(handler, content)
        if fault and fault[0].isdigit():
            return self.answer_status(handler, fault)
        if fault == "whole":
            begin = 0
        asked = handler.headers.get("Range") and fault != "whole"
        body = content[begin:end]
        if fault == "junk":
            body = bytes(len(body))
        length = len(body) + {"longer": 1000, "shorter": -1000}.get(fault, 0)
        handler.send_response(206 if asked or fault == "other range" else 200)
        # Other hosts have tags of their own, which are no hashes of the bytes.
        for name, value in {"ETag": '"' + "e" * 64 + '"', **({} if self.redirects else self.metadata(content))}.items():
            handler.send_header(name, value)
        if asked or fault == "other range":
            shown = begin + 1 if fault == "other range" else begin
            handler.send_header("Content-Range", f"bytes {shown}-{len(content) - 1}/{len(content)}")
        if fault == "endless":
            handler.send_header("Connection", "close")
            body += b"x" * 100000
        else:
            handler.send_header("Content-Length", str(length))
        handler.end_headers()
        if handler.command == "HEAD":
            return
        if fault in ("cut", "stall"):
            body = body[:len(body) // 2]
        self.send_body(handler, body)
        if fault == "stall":
            time.sleep(STALL_S)
        if fault in ("cut", "stall", "endless", "longer", "shorter"):
            handler.close_connection = True

    def range_of(self, handler, content):
        """[begin, end) of what is asked for."""
        text = handler.headers.get("Range")
        if not text:
            return 0, len(content)
        first, last = text.removeprefix("bytes=").split("-")
        return int(first), int(last) + 1 if last else len(content)

    def send_body(self, handler, body):
        step = 1 << 16
        try:
            for at in range(0, len(body), step):
                handler.wfile.write(body[at:at + step])
                with self.lock:
                    self.sent_bytes += len(body[at:at + step])
                if self.delay_s:
                    time.sleep(self.delay_s)
        except OSError:
            handler.close_connection = True
