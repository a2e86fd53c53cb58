"""A model in Ray Serve, on one machine and on several. Needs ray[serve] (a quarter of a gigabyte, which
scripts/setup does not install), OCTAVO_LIBRARY, OCTAVO_TEST_DATA.

    OCTAVO_LIBRARY=build/release/liboctavo.so OCTAVO_TEST_DATA=... PYTHONPATH=python python python/tests/test_ray.py
"""
import contextlib
import http.client
import importlib.util
import json
import os
import socket
import subprocess
import sys
import threading
import time
import unittest

import support


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


class Asked(unittest.TestCase):
    """A test that asks an application at `port`."""

    def ask(self, body, path="/v1/chat/completions"):
        return self.request("POST", path, json.dumps(body))

    def request(self, method, path, body=None):
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)) as connection:
            connection.request(method, path, body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()

    def num_running(self):
        return self.serve.status().applications["octavo"].deployments["Replica"].replica_states.get("RUNNING", 0)

    def wait_until(self, condition, seconds=120):
        end = time.monotonic() + seconds
        while not condition():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.2)


@unittest.skipUnless(importlib.util.find_spec("ray"), "ray[serve] is not installed")
class Served(Asked):
    @classmethod
    def setUpClass(cls):
        import octavo.ray
        import ray
        from ray import serve
        cls.serve, cls.port = serve, free_port()
        os.environ["PYTHONPATH"] = support.PACKAGES
        ray.init(address="local", num_cpus=4, include_dashboard=False, configure_logging=False,
                 runtime_env={"env_vars": {"PYTHONPATH": support.PACKAGES, "OCTAVO_LIBRARY": os.environ["OCTAVO_LIBRARY"]}})
        cls.addClassCleanup(ray.shutdown)
        serve.start(http_options={"host": "127.0.0.1", "port": cls.port})
        cls.addClassCleanup(serve.shutdown)
        cls.app = staticmethod(octavo.ray.app)
        cls.build = staticmethod(octavo.ray.build)

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
        with contextlib.ExitStack() as ending:
            ending.callback(is_over.set)
            self.wait_until(lambda: self.num_running() == 2)
        for thread in threads:
            thread.join()

    def test_what_cannot_be_is_refused(self):
        for replicas in (0, (2, 1)):
            with self.assertRaisesRegex(ValueError, "replicas: found"):
                self.app(support.MODEL, replicas)

    def test_one_command_serves_a_model(self):
        import ray
        with self.command("run", "--address", ray.get_runtime_context().gcs_address, "--non-blocking", "--name", "octavo",
                          "octavo.ray:build", f"model={support.MODEL}", "replicas=1-2", "cpus=1") as command:
            self.assertEqual(command.wait(300), 0)
        self.assertIn(self.num_running(), (1, 2))
        status, text = self.ask({"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 2})
        self.assertEqual(status, 200, text)

    @staticmethod
    def command(*arguments):
        return subprocess.Popen([sys.executable, "-m", "ray.serve.scripts", *arguments])


@unittest.skipUnless(importlib.util.find_spec("ray"), "ray[serve] is not installed")
class SeveralMachines(Asked):
    """Two nodes of a cluster, as two machines have them."""

    def setUp(self):
        import ray
        from ray import serve
        from ray.cluster_utils import Cluster
        self.serve, self.port = serve, free_port()
        os.environ["PYTHONPATH"] = support.PACKAGES
        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
        self.addCleanup(cluster.shutdown)
        self.other, self.cluster = cluster.add_node(num_cpus=1), cluster
        ray.init(address=cluster.address, configure_logging=False)
        self.addCleanup(ray.shutdown)
        serve.start(proxy_location="HeadOnly", http_options={"host": "127.0.0.1", "port": self.port})
        self.addCleanup(serve.shutdown)

    def test_a_machine_that_goes_takes_no_answer_along(self):
        import octavo
        import octavo.ray
        import openai
        self.serve.run(octavo.ray.app(support.MODEL, 2, cpus=1, most_ahead=1), name="octavo", route_prefix="/")
        self.assertEqual(self.num_running(), 2)
        client = openai.OpenAI(base_url=f"http://127.0.0.1:{self.port}/v1", api_key="-", max_retries=0, timeout=300)

        def stream(client, i):
            chunks = client.chat.completions.create(
                model="", stream=True, max_tokens=100, temperature=1, seed=i, extra_body={"ignore_eos": True},
                messages=[{"role": "user", "content": f"Tell me of {i}."}])
            for chunk in chunks:
                yield "".join(choice.delta.content or "" for choice in chunk.choices)

        whole = ["".join(stream(client, i)) for i in range(6)]
        got, begun = [""] * len(whole), threading.Semaphore(0)

        def read(i):
            for text in stream(octavo.resuming(client), i):
                got[i] += text
                begun.release()

        threads = [threading.Thread(target=read, args=(i,)) for i in range(len(whole))]
        for thread in threads:
            thread.start()
        for _ in range(60):
            begun.acquire(timeout=60)
        self.cluster.remove_node(self.other, allow_graceful=False)
        for thread in threads:
            thread.join()
        self.assertEqual(got, whole)
        self.wait_until(lambda: self.num_running() == 1)


if __name__ == "__main__":
    unittest.main()
