"""Ways to a hub: a proxy that speaks for others or lets them through, and TLS before a server that speaks none."""
import http.client
import http.server
import socket
import ssl
import subprocess
import threading
import urllib.parse


def relay(one, other):
    """Bytes of each go to the other, until one of them ends."""
    def pump(source, sink):
        try:
            while data := source.recv(1 << 16):
                sink.sendall(data)
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    back = threading.Thread(target=pump, args=(other, one), daemon=True)
    back.start()
    pump(one, other)
    back.join()


class Way:
    """A server of its own, in threads: `url` is where it listens."""

    def __init__(self, server, scheme):
        self.server = server
        self.server.daemon_threads = True
        self.server.handle_error = lambda *_: None
        self.url = f"{scheme}://localhost:{server.server_port}"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


class Proxy(Way):
    """`hosts`: names that it alone knows, and the address of each. `asked`: what it was asked for."""

    def __init__(self, hosts):
        asked = self.asked = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                url = urllib.parse.urlsplit(self.path)
                asked.append((self.command, url.netloc, self.headers.get("Authorization")))
                connection = http.client.HTTPConnection(hosts.get(url.netloc, url.netloc))
                connection.request(self.command, url.path + (f"?{url.query}" if url.query else ""),
                                   headers={**dict(self.headers), "Host": url.netloc})
                answer = connection.getresponse()
                self.send_response_only(answer.status)
                for name, value in answer.getheaders():
                    self.send_header(name, value)
                self.end_headers()
                body = answer.read()
                if self.command == "GET":
                    self.wfile.write(body)
                connection.close()

            do_HEAD = do_GET

            def do_CONNECT(self):
                asked.append((self.command, self.path, self.headers.get("Authorization")))
                host, port = hosts.get(self.path, self.path).rsplit(":", 1)
                with socket.create_connection((host, int(port))) as other:
                    self.send_response_only(200)
                    self.end_headers()
                    relay(self.connection, other)

            def log_message(self, *args):
                pass

        super().__init__(http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler), "http")


class Tls(Way):
    """TLS before `port`, with a certificate for localhost that is written into `folder`."""

    def __init__(self, port, folder):
        self.certificate, key = folder / "cert.pem", folder / "key.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost",
                        "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", self.certificate],
                       check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, key)

        class Handler(http.server.BaseHTTPRequestHandler):
            def handle(self):
                with context.wrap_socket(self.request, server_side=True) as inner, \
                        socket.create_connection(("127.0.0.1", port)) as other:
                    relay(inner, other)

        super().__init__(http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler), "https")
