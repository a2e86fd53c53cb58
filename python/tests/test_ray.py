"""A model in Ray Serve. Needs ray[serve] (a quarter of a gigabyte, which scripts/setup does not install), OCTAVO_LIBRARY,
OCTAVO_TEST_DATA.

    OCTAVO_LIBRARY=build/release/liboctavo.so OCTAVO_TEST_DATA=... PYTHONPATH=python python python/tests/test_ray.py
"""
import contextlib
import http.client
import importlib.util
import json
import os
import socket
import threading
import time
import unittest

import support


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


@unittest.skipUnless(importlib.util.find_spec("ray"), "ray[serve] is not installed")
class Served(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        import octavo.ray
        import ray
        from ray import serve
        cls.serve, cls.port = serve, free_port()
        os.environ["PYTHONPATH"] = support.PACKAGES
        ray.init(num_cpus=4, include_dashboard=False, configure_logging=False,
                 runtime_env={"env_vars": {"PYTHONPATH": support.PACKAGES, "OCTAVO_LIBRARY": os.environ["OCTAVO_LIBRARY"]}})
        cls.addClassCleanup(ray.shutdown)
        serve.start(http_options={"host": "127.0.0.1", "port": cls.port})
        cls.addClassCleanup(serve.shutdown)
        cls.app = staticmethod(octavo.ray.app)
        cls.build = staticmethod(octavo.ray.build)

    def ask(self, body, path="/v1/chat/completions"):
        return self.request("POST", path, json.dumps(body))

    def request(self, method, path, body=None):
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)) as connection:
            connection.request(method, path, body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()

    def cached_share(self, turns=4):
        """Of five conversations by turns."""
        histories = [[{"role": "user", "content": f"{place} and what lies around {place}: tell me of it. " * 20}]
                     for place in ("Rome", "Oslo", "Lima", "Cairo", "Quito")]
        prompt_tokens = cached_tokens = 0
        for _ in range(turns):
            for history in histories:
                status, text = self.ask({"messages": history, "max_tokens": 8, "temperature": 0})
                self.assertEqual(status, 200, text)
                answer = json.loads(text)
                prompt_tokens += answer["usage"]["prompt_tokens"]
                cached_tokens += answer["usage"]["prompt_tokens_details"]["cached_tokens"]
                history += [answer["choices"][0]["message"], {"role": "user", "content": "And then? " * 20}]
        return cached_tokens / prompt_tokens

    def run_app(self, app):
        self.serve.run(app, name="octavo", route_prefix="/")

    def num_running(self):
        return self.serve.status().applications["octavo"].deployments["Replica"].replica_states.get("RUNNING", 0)

    def test_replicas_find_what_they_have_cached(self):
        options = {"cpus": 1, "engine": {"kv_memory": "64MiB"}}
        self.run_app(self.app(support.MODEL, **options))
        of_one = self.cached_share()
        self.run_app(self.app(support.MODEL, 2, **options))
        self.assertEqual(self.num_running(), 2)
        self.assertGreaterEqual(self.cached_share(), 0.95 * of_one)

    def test_streams_errors_and_other_routes_are_those_of_the_server(self):
        self.run_app(self.build({"model": support.MODEL, "cpus": "1", "max_tokens": "3"}))
        status, text = self.ask({"messages": [{"role": "user", "content": "Hi"}], "stream": True})
        self.assertEqual(status, 200, text)
        self.assertLessEqual(text.count('"content"'), 4)  # one has the role
        self.assertTrue(text.endswith("data: [DONE]\n\n"), text)
        status, text = self.ask({"messages": 5})
        self.assertEqual((status, json.loads(text)["error"]["param"]), (400, "messages"))
        status, text = self.ask({"prompt": "Hello"}, "/tokenize")
        self.assertEqual(status, 200, text)
        status, text = self.request("GET", "/v1/models")
        self.assertEqual((status, len(json.loads(text)["data"])), (200, 1))

    def test_more_come_where_requests_wait(self):
        self.run_app(self.app(support.MODEL, (1, 2), cpus=1, waiting=2, autoscaling={"upscale_delay_s": 1}))
        self.assertEqual(self.num_running(), 1)
        is_over = threading.Event()

        def stream(i):
            while not is_over.is_set():
                self.ask({"messages": [{"role": "user", "content": f"Stream {i}"}], "max_tokens": 100})

        threads = [threading.Thread(target=stream, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        end = time.monotonic() + 120
        while self.num_running() < 2 and time.monotonic() < end:
            time.sleep(0.5)
        is_over.set()
        for thread in threads:
            thread.join()
        self.assertEqual(self.num_running(), 2)

    def test_what_cannot_be_is_refused(self):
        for replicas in (0, (2, 1)):
            with self.assertRaisesRegex(ValueError, "replicas: found"):
                self.app(support.MODEL, replicas)


if __name__ == "__main__":
    unittest.main()
