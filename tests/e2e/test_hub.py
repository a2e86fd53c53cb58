"""From a name to an answer, on an empty home, against a hub that is local and now and then misbehaves: a file has its
name when its hash is right, and nobody but the hub sees the token."""
import hashlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import huggingface_hub
import ollama

import hub_server
import hub_ways
import model_folder
import split_model
import support
import tiny_tower
from server_support import Server, SideBySide

REPO = "test/SmolLM2-135M-Instruct"
VOCAB = support.TEST_DATA / "ggml-vocab-qwen35.gguf"  # of models that see
NAME = "SmolLM2-135M-Instruct-Q4_1.gguf"
SHORT = 2_000_000  # bytes of files that are fetched and not opened
SHORT_STALL = {"HF_HUB_DOWNLOAD_TIMEOUT": "1"}


def load_tests(_loader, tests, _pattern):
    """Most of the time is waited: before something is tried again, and for what stands still or comes slowly."""
    return SideBySide.of(tests)


def other_names(server, model):
    """Of a model."""
    return next(m["aliases"] for m in json.loads(server.get("/v1/models")[2])["data"] if m["id"] == model)


class HubTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.home = pathlib.Path(folder.name)
        self.content = os.urandom(SHORT)

    def serve(self, files=None, **options):
        hub = hub_server.Hub({REPO: files or {NAME: self.content}}, **options)
        self.enterContext(hub)
        return hub

    def octavo(self, hub, *args, **env):
        return support.octavo(*args, env={**hub.environment(self.home), **env}, timeout=120)

    def pull(self, hub, name=REPO, **env):
        done = self.octavo(hub, "pull", name, **env)
        self.assertEqual(done.returncode, 0, done.stderr)
        return pathlib.Path(done.stdout.strip())

    @property
    def cache(self):
        return self.home / ".cache/huggingface/hub"

    @property
    def repo_folder(self):
        return self.cache / ("models--" + REPO.replace("/", "--"))

    def assert_fetched(self, path, content=None):
        self.assertEqual(hashlib.sha256(path.read_bytes()).hexdigest(),
                         hashlib.sha256(content or self.content).hexdigest())
        self.assertEqual([p.name for p in self.repo_folder.rglob("*.incomplete")], [])

    def wait_for(self, condition):
        end = time.monotonic() + support.TIMEOUT_S
        while not condition():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)

    def assert_no_file(self):
        """Nothing has a name that a model has."""
        self.assertEqual([p for p in self.cache.rglob("*.gguf")], [])
        self.assertEqual([p for p in (self.repo_folder / "blobs").glob("*") if p.suffix != ".incomplete"], [])


class Answers(HubTest):
    def test_a_name_on_an_empty_home_answers_and_is_not_fetched_again(self):
        model = support.tiny_model("tiny-qwen3")
        hub = self.serve({NAME: model.read_bytes(), "README.md": b"hello"})
        args = ("run", "-m", f"{REPO}:Q4_1", "Hello", "--temp", "0", "-n", "8")
        first = self.octavo(hub, *args)
        self.assertEqual(first.returncode, 0, first.stderr)
        self.assertIn(f"octavo: fetching {NAME} of {REPO}", first.stderr)
        expected = support.octavo_ok("run", "-m", model, "Hello", "--temp", "0", "-n", "8")
        self.assertEqual(first.stdout, expected)
        num_requests = len(hub.requests)
        for host in ("", "hf.co/", "https://huggingface.co/"):
            second = self.octavo(hub, "run", "-m", f"{host}{REPO}:Q4_1", *args[3:])
            self.assertEqual((second.returncode, second.stdout), (0, expected), second.stderr)
            self.assertNotIn("fetching", second.stderr)
        self.assertEqual(len(hub.requests), num_requests, "what is there is used without asking")
        offline = self.octavo(hub, "info", REPO, HF_HUB_OFFLINE="1")
        self.assertEqual(offline.returncode, 0, offline.stderr)

    def test_a_model_in_several_files_is_fetched_whole(self):
        whole = support.tiny_model("tiny-qwen3")
        shards = split_model.split_model(whole, self.home / "tiny-Q8_0.gguf", 12)
        self.assertGreater(len(shards), 1)
        hub = self.serve({f"q8/{shard.name}": shard.read_bytes() for shard in shards})
        path = self.pull(hub, f"{REPO}:q8_0")
        self.assertEqual(path.name, shards[0].name)
        self.assertEqual(sorted(p.name for p in path.parent.iterdir()), [shard.name for shard in shards])
        done = self.octavo(hub, "logits", "-m", REPO, "--ids", "1,2,3")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, support.octavo_ok("logits", "-m", whole, "--ids", "1,2,3"))


    def test_a_repository_of_safetensors_is_fetched_as_a_folder(self):
        made = self.home / "made"
        model_folder.write_folder(support.tiny_model("tiny-llama", types=("F32",), untied=True), made, "BF16", files=2)
        files = {path.name: path.read_bytes() for path in made.iterdir()}
        hub = self.serve({**files, "README.md": b"text", "consolidated.safetensors": b"others"})
        fetched = self.octavo(hub, "logits", "-m", REPO, "--ids", "1,2", "--json")
        self.assertEqual(fetched.returncode, 0, fetched.stderr)
        self.assertIn(f"octavo: fetching {len(files)} files of {REPO}", fetched.stderr)
        again = self.octavo(hub, "logits", "-m", REPO, "--ids", "1,2", "--json", HF_HUB_OFFLINE="1")
        self.assertEqual(again.stdout, fetched.stdout)
        (snapshot,) = (self.repo_folder / "snapshots").iterdir()
        self.assertEqual({path.name for path in snapshot.iterdir()}, set(files))
        self.assertEqual(self.pull(hub, f"{REPO}:safetensors"), snapshot)
        listed = json.loads(self.octavo(hub, "list", "--json").stdout)["models"]
        self.assertEqual([(m["name"], m["type"]) for m in listed], [(f"{REPO}:safetensors", "BF16")])
        self.assertEqual(self.octavo(hub, "rm", f"{REPO}:safetensors").returncode, 0)
        self.assertEqual(list((self.repo_folder / "blobs").iterdir()), [])

    def test_a_draft_file_is_fetched_with_its_model_found_beside_it_and_removed(self):
        draft = "mtp-tiny-qwen35-F32.gguf"
        whole = support.tiny_model("tiny-qwen35", head=True)
        files = {"tiny-qwen35-F32.gguf": support.tiny_model("tiny-qwen35").read_bytes(), draft: whole.read_bytes()}
        hub = self.serve(files)
        pulled = self.octavo(hub, "pull", REPO)
        self.assertEqual(pulled.returncode, 0, pulled.stderr)
        self.assertIn(f"fetching tiny-qwen35-F32.gguf and {draft} of {REPO}", pulled.stderr)
        path = pathlib.Path(pulled.stdout.strip())
        self.assertEqual(sorted(p.name for p in path.parent.iterdir()), sorted(files))
        listed = json.loads(self.octavo(hub, "list", "--json").stdout)["models"]
        self.assertEqual([m["name"] for m in listed], [f"{REPO}:tiny-qwen35-F32.gguf"], "a draft file is no model")
        plain = self.answer(hub, "-m", REPO, "--draft", "off")
        drafted = self.answer(hub, "-m", REPO, "--draft", "mtp", says=f"the draft file is {draft}, beside the model")
        self.assertEqual(drafted["text"], plain["text"])
        self.assertGreater(drafted["memory"]["weight_bytes"], plain["memory"]["weight_bytes"], "it has a head")
        self.assertEqual(self.octavo(hub, "rm", listed[0]["name"]).returncode, 0)
        self.assertEqual(list((self.repo_folder / "blobs").iterdir()), [])

    def seeing(self, beside=True):
        """The files of a model that sees, which lies in a folder of its repository."""
        shape = tiny_tower.SEEING["tiny-qwen35"]
        model = support.tiny_model("tiny-qwen35", VOCAB, types=("F32",), words=support.FEW_WORDS, sees=True)
        path = self.home / "mmproj.gguf"
        tiny_tower.write(path, shape)
        files = {"q/m-F32.gguf": model.read_bytes(), "mmproj-F16.gguf": path.read_bytes()}
        return files if beside else {"q/m-F32.gguf": files["q/m-F32.gguf"]}, files["mmproj-F16.gguf"]

    def test_an_encoder_is_fetched_with_its_model_found_and_removed(self):
        files, _ = self.seeing()
        hub = self.serve({**files, "mmproj-F32.gguf": b"GGUF", "other/mmproj-F32.gguf": b"GGUF"})
        pulled = self.octavo(hub, "pull", f"{REPO}:m-F32.gguf")
        self.assertEqual(pulled.returncode, 0, pulled.stderr)
        self.assertIn(f"fetching q/m-F32.gguf and mmproj-F32.gguf of {REPO}", pulled.stderr)
        hub = self.serve(files)
        pulled = self.octavo(hub, "pull", REPO)
        self.assertEqual(pulled.returncode, 0, pulled.stderr)
        path = pathlib.Path(pulled.stdout.strip())
        self.assertTrue((path.parent / "mmproj-F16.gguf").exists(), "beside the model, where an engine looks")
        self.assertTrue((path.parent.parent / "mmproj-F16.gguf").exists(), "where it lies on the hub")
        self.assertIn("pictures are read by", self.octavo(hub, "info", REPO).stdout)
        listed = json.loads(self.octavo(hub, "list", "--json").stdout)["models"]
        self.assertEqual([m["name"] for m in listed], [f"{REPO}:q/m-F32.gguf"], "an encoder is no model")
        self.assertEqual(self.octavo(hub, "rm", listed[0]["name"]).returncode, 0)
        self.assertEqual(list((self.repo_folder / "blobs").iterdir()), [])

    def test_commands_that_see_fetch_the_encoder_unless_they_are_told_not_to(self):
        files, _ = self.seeing()
        hub = self.serve(files)
        told = self.octavo(hub, "run", "-m", REPO, "--no-mmproj", "--raw", "--max-tokens", "1", "A")
        self.assertEqual(told.returncode, 0, told.stderr)
        self.assertNotIn("mmproj", told.stderr)
        shutil.rmtree(self.repo_folder)
        counted = self.octavo(hub, "tokenize", "-m", REPO, "A")
        self.assertEqual(counted.returncode, 0, counted.stderr)
        self.assertNotIn("mmproj", counted.stderr, "it has no use for one")
        shutil.rmtree(self.repo_folder)
        seen = self.octavo(hub, "run", "-m", REPO, "--raw", "--max-tokens", "1", "A")
        self.assertIn(f"fetching q/m-F32.gguf and mmproj-F16.gguf of {REPO}", seen.stderr)
        self.assertIn("pictures are read by mmproj-F16.gguf, beside the model", seen.stderr)

    def test_an_encoder_by_its_name_on_the_hub_is_fetched_alone(self):
        (files, encoder) = self.seeing(beside=False)
        hub = self.serve({"mmproj-F32.gguf": encoder, "mmproj-Q8_0.gguf": b"GGUF", "m-Q4_0.gguf": self.content})
        model = self.home / "m.gguf"
        model.write_bytes(files["q/m-F32.gguf"])
        for name in (f"{REPO}:F32", f"https://huggingface.co/{REPO}/resolve/main/mmproj-F32.gguf?download=true"):
            seen = self.octavo(hub, "run", "-m", model, "--mmproj", name, "--raw", "--max-tokens", "1", "A")
            self.assertEqual(seen.returncode, 0, seen.stderr)
            self.assertEqual("fetching mmproj-F32.gguf" in seen.stderr, name.endswith("F32"), "the second finds it")
        for name, words in ((f"{REPO}:Q5_0", "mmproj-F32.gguf, mmproj-Q8_0.gguf"),
                            ("https://example.org/mmproj.gguf", "expected a file's address on the hub")):
            wrong = self.octavo(hub, "run", "-m", model, "--mmproj", name, "A")
            self.assertEqual(wrong.returncode, 1)
            self.assertIn(words, wrong.stderr)

    def test_a_draft_file_by_its_name_on_the_hub_is_fetched_alone(self):
        model = support.tiny_model("tiny-qwen35")
        whole = support.tiny_model("tiny-qwen35", head=True)
        hub = self.serve({"m-Q4_K_M.gguf": self.content, "MTP/m-BF16-MTP.gguf": self.content,
                          "MTP/m-Q8_0-MTP.gguf": whole.read_bytes()})
        plain = self.answer(hub, "-m", model, "--draft", "off")
        first = self.answer(hub, "-m", model, "--draft", REPO, says=f"fetching MTP/m-Q8_0-MTP.gguf of {REPO}")
        self.assertEqual(first["text"], plain["text"])
        self.assertGreater(first["memory"]["weight_bytes"], plain["memory"]["weight_bytes"], "it has a head")
        num_requests = len(hub.requests)
        again = self.answer(hub, "-m", model, "--draft", f"{REPO}:q8_0")
        self.assertEqual(again["text"], plain["text"])
        self.assertEqual(len(hub.requests), num_requests, "what is there is used without asking")
        wrong = self.octavo(hub, "run", "-m", model, "--draft", f"{REPO}:Q5_0", "Hello")
        self.assertEqual(wrong.returncode, 1)
        self.assertIn("no file of the name 'Q5_0'", wrong.stderr)
        self.assertIn("MTP/m-BF16-MTP.gguf, MTP/m-Q8_0-MTP.gguf", wrong.stderr)

    def answer(self, hub, *args, says=""):
        """A greedy answer, as `run --json` tells it."""
        done = self.octavo(hub, "run", *args, "Hello", "--temp", "0", "-n", "24", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(says, done.stderr)
        return json.loads(done.stdout)

    def test_it_is_listed_found_by_a_part_of_its_name_and_removed(self):
        hub = self.serve({NAME: support.SMOLLM2.read_bytes()})
        path = self.pull(hub)
        models = json.loads(self.octavo(hub, "list", "--json").stdout)["models"]
        self.assertEqual([m["name"] for m in models], [f"{REPO}:{NAME}"])
        self.assertEqual((models[0]["architecture"], models[0]["type"], models[0]["files"]), ("llama", "Q4_1", [str(path)]))
        self.assertEqual(models[0]["largest_context"], 8192)
        info = self.octavo(hub, "info", "smollm2-135m", HF_HUB_OFFLINE="1")
        self.assertEqual(info.returncode, 0, info.stderr)
        self.assertIn(f"octavo: smollm2-135m is {REPO}:{NAME}", info.stderr)
        done = self.octavo(hub, "rm", f"{REPO}:{NAME}")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_no_file()
        self.assertEqual(json.loads(self.octavo(hub, "list", "--json").stdout), {"models": []})


class Cache(HubTest):
    def test_huggingface_hub_finds_what_was_fetched(self):
        hub = self.serve()
        path = self.pull(hub)
        found = huggingface_hub.hf_hub_download(REPO, NAME, cache_dir=self.cache, local_files_only=True)
        self.assertEqual(pathlib.Path(found), path)
        self.assertEqual(huggingface_hub.try_to_load_from_cache(REPO, NAME, cache_dir=self.cache), found)
        report = huggingface_hub.scan_cache_dir(self.cache)
        self.assertEqual(report.warnings, [])
        self.assertEqual([(r.repo_id, r.size_on_disk) for r in report.repos], [(REPO, SHORT)])

    def test_what_huggingface_hub_fetched_is_found(self):
        hub = self.serve()
        huggingface_hub.hf_hub_download(REPO, NAME, cache_dir=self.cache, endpoint=hub.hub_url)
        before = len(hub.requests)
        done = self.octavo(hub, "info", REPO, HF_HUB_OFFLINE="1")
        self.assertIn("not a GGUF file", done.stderr, "random bytes, but they are the file")
        self.assertEqual(len(hub.requests), before)

    def test_it_lies_where_the_variables_say(self):
        hub = self.serve()
        for variable, folder in (("HF_HOME", "hf/hub"), ("HF_HUB_CACHE", "cache")):
            value = self.home / folder.split("/")[0]
            path = self.pull(hub, **{variable: str(value)})
            self.assertTrue(path.is_relative_to(self.home / folder), path)

    def test_offline_nothing_is_asked(self):
        hub = self.serve()
        for args in (("pull", REPO), ("run", "-m", REPO, "Hello")):
            done = self.octavo(hub, *args, HF_HUB_OFFLINE="1")
            self.assertEqual(done.returncode, 1)
            self.assertIn("HF_HUB_OFFLINE", done.stderr)
        self.assertEqual(hub.requests, [])


class Token(HubTest):
    def test_the_hub_alone_sees_it(self):
        hub = self.serve(token="hf_secret")
        self.assert_fetched(self.pull(hub))
        self.assertEqual({r[3] for r in hub.requests if r[0] == "hub"}, {"Bearer hf_secret"})
        self.assertEqual({r[3] for r in hub.requests if r[0] == "files"}, {None})

    def test_it_is_read_from_its_file(self):
        hub = self.serve(token="hf_secret")
        file = self.home / ".cache/huggingface/token"
        file.parent.mkdir(parents=True)
        file.write_text("hf_secret\n")
        self.assert_fetched(self.pull(hub, HF_TOKEN=""))

    def test_without_it_the_error_says_so(self):
        hub = self.serve(token="hf_secret")
        for token, word in (("", "set HF_TOKEN"), ("hf_wrong", "does not take this token")):
            done = self.octavo(hub, "pull", REPO, HF_TOKEN=token)
            self.assertEqual(done.returncode, 1)
            self.assertIn(word, done.stderr)
            self.assertIn("Invalid credentials", done.stderr)
            self.assertNotIn("hf_wrong", done.stderr)


class Faults(HubTest):
    def test_what_may_pass_is_tried_again_and_goes_on(self):
        for faults in (["cut"], ["cut", "whole"], ["stall"], ["503"], ["429"], ["cut", "416"], ["500", "cut", "503"]):
            with self.subTest(faults=faults), tempfile.TemporaryDirectory() as home:
                self.home = pathlib.Path(home)
                hub = self.serve()
                hub.faults = list(faults)
                self.assert_fetched(self.pull(hub, **(SHORT_STALL if faults == ["stall"] else {})))
                self.assertEqual(hub.faults, [])
                ranges = [r[2] for r in hub.fetched()]
                if faults in (["cut"], ["stall"]):
                    self.assertEqual(ranges, [None, f"bytes={SHORT // 2}-"])

    def test_lists_are_tried_again(self):
        hub = self.serve()
        hub.list_faults = ["503", "429"]
        self.assert_fetched(self.pull(hub))

    def test_what_is_wrong_is_refused_and_gets_no_name(self):
        for fault, word in (("longer", "expected 2000000"), ("shorter", "expected 2000000"), ("endless", "goes on behind"),
                            ("other range", "expected one from byte"), ("junk", "another hash"), ("changed", "changed meanwhile"),
                            ("loop", "redirected more than"), ("403", "grant access"), ("404", "no such model or file"),
                            ("429 long", "again after 7200")):
            with self.subTest(fault=fault), tempfile.TemporaryDirectory() as home:
                self.home = pathlib.Path(home)
                hub = self.serve()
                hub.faults = [fault] * 20 if fault == "loop" else [fault]
                done = self.octavo(hub, "pull", REPO)
                self.assertEqual(done.returncode, 1, done.stdout)
                self.assertIn(word, done.stderr)
                self.assertNotIn("signature=secret", done.stderr)
                self.assert_no_file()
                hub.faults = []
                self.assert_fetched(self.pull(hub))

    def test_a_hub_that_never_recovers_is_an_error_in_bounded_time(self):
        hub = self.serve()
        hub.list_faults = ["503"] * 20
        done = self.octavo(hub, "pull", REPO)
        self.assertEqual(done.returncode, 1)
        self.assertIn("status 503", done.stderr)
        self.assertEqual(len(hub.list_faults), 15, "five attempts")

    def test_a_list_that_trickles_is_cut(self):
        hub = self.serve()
        hub.list_faults = ["trickle"] * 5  # where the machine makes it stand still, the next attempt trickles again
        done = self.octavo(hub, "pull", REPO, **SHORT_STALL)
        self.assertEqual(done.returncode, 1)
        self.assertIn("the list of files takes more than 4 s", done.stderr)

    def test_what_was_there_and_does_not_fit_is_fetched_anew(self):
        hub = self.serve()
        partial = self.repo_folder / "blobs" / (hashlib.sha256(self.content).hexdigest() + ".incomplete")
        partial.parent.mkdir(parents=True)
        partial.write_bytes(b"junk" * 1000)
        self.assert_fetched(self.pull(hub))
        self.assertEqual([r[2] for r in hub.fetched()], ["bytes=4000-", None])

    def test_unknown_names_are_answered_with_what_there_is(self):
        hub = self.serve({NAME: self.content, "other-Q8_0.gguf": b"x"})
        done = self.octavo(hub, "pull", f"{REPO}:Q5_K_M")
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"{NAME}, other-Q8_0.gguf", done.stderr)
        done = self.octavo(hub, "pull", "test/absent")
        self.assertEqual(done.returncode, 1)
        self.assertIn("no such model", done.stderr)


class Ways(HubTest):
    def test_a_proxy_is_asked_as_the_variables_say(self):
        hub = self.serve(token="secret")
        address = hub.hub_url.removeprefix("http://")
        with hub_ways.Proxy({"hub.octavo.invalid": address}) as proxy:
            env = {"HF_ENDPOINT": "http://hub.octavo.invalid", "http_proxy": proxy.url, "no_proxy": "", "HF_TOKEN": "secret"}
            self.assert_fetched(self.pull(hub, **env))
        hosts = {host for _, host, _ in proxy.asked}
        self.assertEqual(hosts, {"hub.octavo.invalid", hub.files_url.removeprefix("http://")})
        shown = {host for _, host, authorization in proxy.asked if authorization}
        self.assertEqual(shown, {"hub.octavo.invalid"}, "the token is for the hub alone")

    def test_no_proxy_names_hosts_that_are_asked_directly(self):
        hub = self.serve()
        with hub_ways.Proxy({}) as proxy:
            self.assert_fetched(self.pull(hub, http_proxy=proxy.url, no_proxy="127.0.0.1"))
        self.assertEqual(proxy.asked, [])

    def test_certificates_are_checked_also_through_a_proxy(self):
        hub = self.serve()
        hub.redirects = False  # to a host without TLS, which would be refused
        with hub_ways.Tls(hub.servers[0].server_port, self.home) as tls, hub_ways.Proxy({}) as proxy:
            env = {"HF_ENDPOINT": tls.url}
            done = self.octavo(hub, "pull", REPO, **env)
            self.assertEqual(done.returncode, 1)
            self.assertIn("certificate", done.stderr)
            self.assertEqual(hub.requests, [], "nothing is said to a host that is not proved")
            env["SSL_CERT_FILE"] = str(tls.certificate)
            self.assert_fetched(self.pull(hub, **env, https_proxy=proxy.url, no_proxy=""))
            self.assertEqual({method for method, _, _ in proxy.asked}, {"CONNECT"})

    def test_a_redirect_out_of_tls_is_refused(self):
        hub = self.serve()
        with hub_ways.Tls(hub.servers[0].server_port, self.home) as tls:
            done = self.octavo(hub, "pull", REPO, HF_ENDPOINT=tls.url, SSL_CERT_FILE=str(tls.certificate))
        self.assertEqual(done.returncode, 1)
        self.assertIn("redirect", done.stderr)
        self.assert_no_file()


class Processes(HubTest):
    def start(self, hub):
        return subprocess.Popen([support.OCTAVO, "pull", REPO], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env={**os.environ, **hub.environment(self.home)})

    def test_killed_at_any_point_it_goes_on_and_ends_right(self):
        hub = self.serve(delay_s=0.02)
        for delay, num_bytes in ((0.0, 0), (0.02, 0), (0.1, 0), (0.0, 1), (0.0, SHORT // 8), (0.05, SHORT // 4)):
            process = self.start(hub)
            before = hub.sent_bytes
            self.wait_for(lambda: hub.sent_bytes >= before + num_bytes)
            time.sleep(delay)
            process.kill()
            process.communicate()
        path = self.pull(hub)
        self.assert_fetched(path)
        self.assertTrue(any(r[2] for r in hub.fetched()), "none of them went on")

    def test_two_at_once_fetch_once(self):
        hub = self.serve(delay_s=0.02)
        processes = [self.start(hub) for _ in range(3)]
        for process in processes:
            out, err = process.communicate(timeout=120)
            self.assertEqual(process.returncode, 0, err)
            self.assert_fetched(pathlib.Path(out.strip()))
        self.assertEqual(len(hub.fetched()), 1)


class OfClients(HubTest):
    """Models that clients of a server have fetched, by ollama's /api/pull."""

    def server(self, hub, *args, model=None, others=("-m", support.SMOLLM2)):
        model = model or support.tiny_model("tiny-qwen3")
        return self.enterContext(Server("--kv-memory", "64MiB", *others, *args, model=model, env=hub.environment(self.home)))

    def test_ollamas_client_pulls_a_model_lists_it_and_talks_to_it(self):
        hub = self.serve({NAME: support.SMOLLM2.read_bytes()})
        server = self.server(hub, "--allow-pull", others=("-m", support.tiny_model("tiny-llama")))
        client = ollama.Client(server.url)
        told = list(client.pull(f"{REPO}:Q4_1", stream=True))
        digest = "sha256:" + hashlib.sha256(support.SMOLLM2.read_bytes()).hexdigest()
        steps = [told[0].status, *dict.fromkeys(t.status for t in told[1:])]
        self.assertEqual(steps[0], "pulling manifest")
        self.assertEqual(steps[-3:], ["verifying sha256 digest", "writing manifest", "success"])
        self.assertLessEqual({(t.digest, t.total) for t in told if t.digest}, {(digest, support.SMOLLM2.stat().st_size)})
        self.assertIn("fetching", server.messages())
        (listed,) = [m for m in client.list().models if m.model == f"{REPO}:Q4_1"]
        self.assertEqual(other_names(server, listed.model), [], "what its file says is anybody's word")
        self.assertEqual(listed.details.quantization_level, "Q4_1")
        answer = client.generate(f"{REPO}:Q4_1", "Hello", options={"num_predict": 4, "temperature": 0})
        self.assertEqual(answer.eval_count, 4)
        num_fetched = len(hub.fetched())
        self.assertEqual(client.pull(f"{REPO}:Q4_1").status, "success")
        self.assertEqual(len(hub.fetched()), num_fetched, "what is there is not fetched again")
        self.assertEqual(server.metrics()['octavo:model_pulls_total{outcome="done"}'], 2)
        self.assertEqual(server.metric("model_pulled_bytes_total"), support.SMOLLM2.stat().st_size)
        logged = [(line["status"], line["finish_reason"]) for line in server.access_log(6) if line["path"] == "/api/pull"]
        self.assertEqual(logged, [(200, "stop")] * 2)

    def test_what_is_no_model_is_fetched_and_not_served(self):
        hub = self.serve()
        server = self.server(hub, "--allow-pull")
        done = server.post("/api/pull", {"model": REPO, "stream": False})
        self.assertEqual(done["status"], "success")
        self.assertIn("fetched, and not served", done["warnings"][0])
        self.assertIn("not served: ", server.messages())
        self.assertEqual(server.post("/v1/completions", {"prompt": "Hi", "max_tokens": 1})["usage"]["completion_tokens"], 1)

    def test_names_with_a_host_or_a_path_and_unknown_ones_are_refused(self):
        hub = self.serve()
        server = self.server(hub, "--allow-pull")
        num_requests = len(hub.requests)
        for name in ("llama3.2", "example.org/test/model", "http://127.0.0.1/a/b", "../../etc", "a/..", "a/b:../c", "a/b:/etc/x", "a/b/c",
                     "a" * 97 + "/b", "test/x:" + "q" * 1025, "a\\b/c", "a/b?c", "@host/x", "/a/b", ""):
            status, _, text = server.request("POST", "/api/pull", {"model": name})
            self.assertEqual(status, 400, (name, text))
            self.assertIn("model: found", json.loads(text)["error"])
        self.assertEqual(len(hub.requests), num_requests, "nobody was asked")
        status, _, text = server.request("POST", "/api/pull", {"model": "test/absent", "stream": False})
        self.assertEqual(status, 502, text)
        self.assertIn("no such model", json.loads(text)["error"])

    def test_a_client_that_leaves_stops_it_and_the_next_goes_on(self):
        self.content = os.urandom(8 << 20)
        hub = self.serve(delay_s=0.05)
        server = self.server(hub, "--allow-pull")
        stream = ollama.Client(server.url).pull(REPO, stream=True)
        next(told for told in stream if told.completed)
        stream.close()
        self.wait_for(lambda: server.metrics().get('octavo:model_pulls_total{outcome="stopped"}') == 1)
        (partial,) = (self.repo_folder / "blobs").glob("*.incomplete")
        size = partial.stat().st_size
        self.assertLess(0, size)
        self.assertLess(size, len(self.content))
        hub.delay_s = 0
        self.assertEqual(server.post("/api/pull", {"model": REPO, "stream": False})["status"], "success")
        self.assertEqual(hub.fetched()[-1][2], f"bytes={size}-")
        self.assertEqual(server.metric("model_pulled_bytes_total"), len(self.content), "none is counted twice")

    def test_sigterm_stops_it(self):
        self.content = os.urandom(1 << 20) * 64
        hub = self.serve(delay_s=0.05)
        server = self.server(hub, "--allow-pull")
        stream = ollama.Client(server.url).pull(REPO, stream=True)
        next(told for told in stream if told.completed)
        server.process.send_signal(signal.SIGTERM)
        with self.assertRaisesRegex(ollama.ResponseError, "shutting down"):
            list(stream)
        self.assertEqual(server.process.wait(60), 0)
        self.assertLess(hub.sent_bytes, len(self.content))
        (partial,) = (self.repo_folder / "blobs").glob("*.incomplete")
        self.assertLess(0, partial.stat().st_size, "the next one goes on there")

    def test_the_disk_that_they_take_is_bounded(self):
        hub = self.serve()
        server = self.server(hub, f"--allow-pull={SHORT - 1}")
        status, _, text = server.request("POST", "/api/pull", {"model": REPO, "stream": False})
        self.assertEqual(status, 507, text)
        self.assertIn(f"found {SHORT} bytes to fetch, expected at most {SHORT - 1}", json.loads(text)["error"])
        self.assertEqual(hub.fetched(), [])

    def test_a_file_that_is_longer_than_announced_is_cut_off(self):
        hub = self.serve()
        server = self.server(hub, "--allow-pull")
        hub.faults = ["endless"] * 5
        server.request("POST", "/api/pull", {"model": REPO, "stream": False})
        sizes = [path.stat().st_size for path in (self.repo_folder / "blobs").iterdir()]
        self.assertLessEqual(max(sizes), SHORT)

    def test_options_that_do_not_fit_are_errors(self):
        hub = self.serve()
        keys = self.home / "keys"
        keys.write_text("puller 0123456789abcdefghij\n")
        keys.chmod(0o600)
        for args, why in ((("--allow-pull", "--offline"), "expected a hub to ask"),
                          (("--allow-pull", "--api-key-file", keys), "expected --allow-pull-keys"),
                          (("--allow-pull", "--allow-pull-keys", "puller"), "expected --api-key-file"),
                          (("--allow-pull", "--allow-pull-keys", "pullr", "--api-key-file", keys), "found 'pullr'"),
                          (("--allow-pull-keys", "puller", "--api-key-file", keys), "needs --allow-pull"),
                          (("--allow-pull=much",), "expected a size"), (("--allow-pull=0",), "found '0'")):
            done = self.octavo(hub, "serve", "-m", support.SMOLLM2, "--port", "0", *args)
            self.assertIn(done.returncode, (1, 2), args)
            self.assertIn(why, done.stderr)


class Addresses(HubTest):
    def test_a_file_by_its_address_has_its_hash(self):
        hub = self.serve(token="hf_secret")
        url = f"{hub.files_url}/{REPO}/resolve/main/{NAME}"
        digest = hashlib.sha256(self.content).hexdigest()
        hub.faults = ["cut"]
        done = self.octavo(hub, "pull", url, "--sha256", digest)
        self.assertEqual(done.returncode, 0, done.stderr)
        path = pathlib.Path(done.stdout.strip())
        self.assertEqual(path, self.home / ".cache/octavo/models" / NAME)
        self.assertEqual(path.read_bytes(), self.content)
        self.assertEqual({r[3] for r in hub.requests}, {None})

    def test_another_hash_is_refused(self):
        hub = self.serve()
        done = self.octavo(hub, "pull", f"{hub.files_url}/{REPO}/resolve/main/{NAME}", "--sha256", "0" * 64)
        self.assertEqual(done.returncode, 1)
        self.assertIn("another hash", done.stderr)
        self.assertEqual(list((self.home / ".cache/octavo/models").glob("*.gguf")), [])

    def test_an_address_needs_a_hash_and_a_file(self):
        hub = self.serve()
        self.assertEqual(self.octavo(hub, "pull", hub.files_url + "/m.gguf").returncode, 2)
        done = self.octavo(hub, "pull", hub.files_url + "/m.bin", "--sha256", "0" * 64)
        self.assertEqual(done.returncode, 1)
        self.assertIn("ends in .gguf", done.stderr)
        self.assertEqual(hub.requests, [])


if __name__ == "__main__":
    unittest.main()
