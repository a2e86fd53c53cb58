"""Scripted answers for clients that are not changed: a proxy in front of a server adds to each request, in its turn, a
constraint that allows one text."""
import http.client
import http.server
import json
import threading

from server_support import Server

# Fields that hold an answer to a form: a script stands in their place.
NAMES_OF_FORMS = ("response_format", "text", "format", "output_config", "tool_choice")


def without_forms(value):
    """The request without what would hold its answer to a form, that of calls included."""
    if isinstance(value, list):
        return [without_forms(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {name: without_forms(item) for name, item in value.items() if name != "strict"}


class ScriptedServer:
    """A server with these arguments, behind a proxy; a context manager. `texts` are the answers to come: None leaves a
    request as it is. `bodies` are the requests that came."""

    def __init__(self, *args, **options):
        self.server = Server(*args, **options)
        self.texts, self.bodies = [], []
        self.proxy = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self.handler())
        self.thread = threading.Thread(target=self.proxy.serve_forever, daemon=True)
        self.thread.start()
        self.url = f"http://127.0.0.1:{self.proxy.server_port}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.proxy.shutdown()
        self.proxy.server_close()
        self.thread.join()
        self.server.__exit__()

    def script(self, *texts):
        if self.texts:
            raise AssertionError(f"answers that nobody asked for: {self.texts}")
        self.texts.extend(texts)
        self.bodies.clear()

    def scripted(self, body):
        asked = json.loads(body)
        self.bodies.append(asked)
        text = self.texts.pop(0)
        if text is None:
            return body
        kept = {name: without_forms(value) if name == "tools" else value for name, value in asked.items()
                if name not in NAMES_OF_FORMS}
        return json.dumps({**kept, "guided_choice": [text]}).encode()

    def handler(self):
        scripted = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.0"  # an answer ends with its connection

            def forward(self, body=None):
                server = http.client.HTTPConnection(scripted.server.host, scripted.server.port)
                headers = {name: value for name, value in self.headers.items()
                           if name.lower() not in ("host", "content-length", "connection", "accept-encoding")}
                server.request(self.command, self.path, body, headers)
                answer = server.getresponse()
                self.send_response(answer.status)
                self.send_header("Content-Type", answer.headers["Content-Type"])
                self.end_headers()
                while piece := answer.read1(65536):
                    self.wfile.write(piece)
                    self.wfile.flush()
                server.close()

            def do_GET(self):
                self.forward()

            def do_POST(self):
                self.forward(scripted.scripted(self.rfile.read(int(self.headers["Content-Length"]))))

            def log_message(self, *_):
                pass

        return Handler
