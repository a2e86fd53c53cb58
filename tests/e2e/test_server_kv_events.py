"""Events about KV blocks, as a subscriber has them that knows vLLM's own structs: what it ends with is the truth about the
replica, also where it has missed some."""
import contextlib
import pathlib
import socket
import tempfile
import time
import unittest

import msgspec
import support
import zmq
from server_support import Server, free_port, in_threads, noise

END_OF_REPLAY = (-1).to_bytes(8, "big", signed=True)
KEY = "000102030405060708090a0b0c0d0e0f"
PATIENCE_MS = 20_000


# vLLM's structs (vllm/distributed/kv_events.py of 0.33): an array around maps with their names under "type".
class Event(msgspec.Struct, omit_defaults=True, tag=True):
    pass


class BlockStored(Event):
    block_hashes: list[int]
    parent_block_hash: int | None
    token_ids: list[int]
    block_size: int
    lora_id: int | None
    medium: str | None
    lora_name: str | None
    extra_keys: list | None = None
    group_idx: int | None = None
    kv_cache_spec_kind: str | None = None
    kv_cache_spec_sliding_window: int | None = None


class BlockRemoved(Event):
    block_hashes: list[int]
    medium: str | None
    group_idx: int | None = None


class AllBlocksCleared(Event):
    pass


class Batch(msgspec.Struct, array_like=True, omit_defaults=True):
    ts: float
    events: list[BlockStored | BlockRemoved | AllBlocksCleared]
    data_parallel_rank: int | None = None


DECODER = msgspec.msgpack.Decoder(Batch)


class Subscriber:
    """Follows one replica: {hash: (parent, tokens)}. It asks again for what it missed."""

    def __init__(self, port, replay_port=None, topic="kv@"):
        self.context = zmq.Context()
        self.socket = self.context.socket(zmq.SUB)
        self.socket.setsockopt_string(zmq.SUBSCRIBE, topic)
        self.socket.connect(f"tcp://127.0.0.1:{port}")
        self.port, self.replay_port, self.topics = port, replay_port, set()
        self.blocks, self.expected, self.num_replays = {}, None, 0

    def close(self):
        self.context.destroy(linger=0)

    def apply(self, payload):
        for event in DECODER.decode(payload).events:
            if isinstance(event, AllBlocksCleared):
                self.blocks = {}
            elif isinstance(event, BlockRemoved):
                for block in event.block_hashes:
                    del self.blocks[block]
            else:
                assert event.medium == "GPU" and len(event.token_ids) == event.block_size * len(event.block_hashes), event
                parent = event.parent_block_hash
                for i, block in enumerate(event.block_hashes):
                    assert parent is None or parent in self.blocks, event
                    tokens = event.token_ids[i * event.block_size:(i + 1) * event.block_size]
                    self.blocks[block] = (parent, tuple(tokens))
                    parent = block

    def replay(self, first):
        self.num_replays += 1
        with contextlib.closing(self.context.socket(zmq.DEALER)) as asked:
            asked.linger = 0
            asked.connect(f"tcp://127.0.0.1:{self.replay_port}")
            asked.send_multipart([b"", first.to_bytes(8, "big")])
            while True:
                if not asked.poll(PATIENCE_MS):
                    raise AssertionError("no end of the replay")
                _, topic, number, payload = asked.recv_multipart()
                if number == END_OF_REPLAY:
                    return
                self.topics.add(topic.decode())
                self.expected = int.from_bytes(number, "big") + 1
                self.apply(payload)

    def wait(self, most_ms):
        """Until something has come."""
        if not self.socket.poll(most_ms):
            raise AssertionError("nothing has come")

    def follow(self, quiet_ms=300):
        """Applies what has come, until nothing does for so long. What comes first is everything, or follows a replay."""
        while self.socket.poll(quiet_ms):
            topic, number, payload = self.socket.recv_multipart()
            self.topics.add(topic.decode())
            number = int.from_bytes(number, "big")
            if self.expected is None:
                self.expected = number
            if number < self.expected:
                continue
            if number > self.expected:
                self.replay(self.expected)
            if number == self.expected:
                self.expected = number + 1
                self.apply(payload)

    def chain(self, tokens, size=16):
        """How many leading tokens it knows to be cached."""
        children = {(parent, block_tokens): block for block, (parent, block_tokens) in self.blocks.items()}
        block, known = None, 0
        while (block := children.get((block, tuple(tokens[known:known + size])))) is not None:
            known += size
        return known


class Events(unittest.TestCase):
    def serve(self, *args, topic=True, memory="16MiB"):
        """(server, subscriber), which has what there is to have at first."""
        port, replay_port = free_port(), free_port()
        options = ["--kv-events", port, "--kv-events-replay", replay_port]
        if topic:
            options += ["--kv-events-topic", "kv@test:1@small"]
        server = self.enterContext(Server(*options, "--kv-memory", memory, *args, model=noise()))
        subscriber = Subscriber(port, replay_port)
        self.addCleanup(subscriber.close)
        subscriber.replay(0)
        return server, subscriber

    def prompt(self, server, text):
        return server.post("/tokenize", {"prompt": text})["tokens"]

    def test_a_subscriber_knows_what_is_cached(self):
        server, subscriber = self.serve()
        text = "The weather of the week. " * 20
        server.complete(text, max_tokens=20, ignore_eos=True)
        subscriber.follow()
        tokens = self.prompt(server, text)
        self.assertEqual(subscriber.chain(tokens), len(tokens) // 16 * 16)
        self.assertEqual(subscriber.topics, {"kv@test:1@small"})
        usage = server.complete(text, max_tokens=1)["usage"]
        self.assertEqual(usage["prompt_tokens_details"]["cached_tokens"], min(subscriber.chain(tokens), (len(tokens) - 1) // 16 * 16))

    def test_it_ends_with_the_true_set_while_blocks_come_and_go(self):
        server, subscriber = self.serve("--max-context", 768, memory="1MiB")
        def ask(i):
            server.complete(f"Story number {i % 30}. " * (20 + i), max_tokens=8, ignore_eos=True)
        in_threads(ask, range(60))
        subscriber.follow()
        late = Subscriber(1, subscriber.replay_port)
        self.addCleanup(late.close)
        late.replay(0)
        self.assertEqual(late.blocks, subscriber.blocks)
        self.assertGreater(server.metric("prefix_cache_evictions_total"), 0)
        self.assertEqual(len(subscriber.blocks), int(server.metric("kv_blocks_cached")))

    def test_who_subscribes_late_has_all_that_is_cached_without_a_question(self):
        server, subscriber = self.serve("--max-context", 768, memory="1MiB")
        for i in range(12):
            server.complete(f"Story number {i}. " * 30, max_tokens=8, ignore_eos=True)
        late = Subscriber(subscriber.port, subscriber.replay_port)
        self.addCleanup(late.close)
        late.wait(20_000)  # somebody has had everything some seconds ago
        text = "A story which is told to both of them. " * 20
        server.complete(text, max_tokens=1)
        for one in (subscriber, late):
            one.follow()
        self.assertEqual(late.num_replays, 0)
        self.assertEqual(late.blocks, subscriber.blocks)
        self.assertEqual(len(late.blocks), int(server.metric("kv_blocks_cached")))
        self.assertGreater(late.chain(self.prompt(server, text)), 0)

    def test_what_was_missed_is_had_again(self):
        server, subscriber = self.serve()
        for i in range(3):
            server.complete(f"Chapter {i}. " * 30, max_tokens=1)
        subscriber.socket.poll(5000)
        time.sleep(0.5)
        while subscriber.socket.poll(0):
            subscriber.socket.recv_multipart()  # lost
        server.complete("The last chapter. " * 30, max_tokens=1)
        before = subscriber.num_replays
        subscriber.follow()
        self.assertEqual(subscriber.num_replays, before + 1)
        for text in ["The last chapter. " * 30, "Chapter 0. " * 30]:
            self.assertGreater(subscriber.chain(self.prompt(server, text)), 0)

    def test_released_memory_is_told(self):
        server, subscriber = self.serve("--idle-release", 1)
        server.complete("The weather of the week. " * 20, max_tokens=1)
        subscriber.follow()
        self.assertGreater(len(subscriber.blocks), 0)
        server.wait_until(lambda: server.metric("kv_blocks_cached") == 0)
        subscriber.follow()
        self.assertEqual(subscriber.blocks, {})

    def test_nothing_is_told_of_a_salted_request(self):
        server, subscriber = self.serve()
        server.complete("A secret of mine. " * 30, max_tokens=20, ignore_eos=True, cache_salt="mine")
        subscriber.follow()
        self.assertEqual(subscriber.blocks, {})
        self.assertGreater(server.metric("kv_blocks_cached"), 0)
        server.complete("No secret at all. " * 30, max_tokens=1)
        subscriber.follow()
        secret = self.prompt(server, "A secret of mine. " * 30)
        self.assertFalse(set(secret[1:]) & {token for _, tokens in subscriber.blocks.values() for token in tokens}
                         - set(self.prompt(server, "No secret at all. " * 30)))

    def test_replicas_with_one_key_have_one_hash_for_one_block(self):
        text = "The weather of the week. " * 20
        with tempfile.TemporaryDirectory() as folder:
            key = pathlib.Path(folder, "key")
            key.write_text(KEY, encoding="ascii")
            key.chmod(0o600)
            told = []
            for options in (["--kv-events-key", key], ["--kv-events-key", key], []):
                server, subscriber = self.serve(*options)
                server.complete(text, max_tokens=1)
                subscriber.follow()
                told.append(subscriber.blocks)
            self.assertEqual(told[0], told[1])
            self.assertFalse(set(told[0]) & set(told[2]))
            key.chmod(0o644)
            self.refused("others than its owner have rights to this key", "--kv-events", free_port(), "--kv-events-topic", "a",
                         "--kv-events-key", key)

    def test_the_topic_names_the_server_and_the_model(self):
        port = free_port()
        server, subscriber = self.serve("--port", port, "--served-model-name", "small", topic=False)
        server.complete("The weather of the week. " * 20, max_tokens=1)
        subscriber.follow()
        self.assertEqual(subscriber.topics, {f"kv@127.0.0.1:{port}@small"})

    def test_what_cannot_be_is_refused(self):
        self.refused("expected a port, which the topic names", "--kv-events", free_port())
        self.refused("expected an address and a port", "--kv-events", "nowhere", "--kv-events-topic", "a")
        self.refused("found several models", "--kv-events", free_port(), "--kv-events-topic", "a", "-m", noise())
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            self.refused("kv_events: cannot listen at tcp://127.0.0.1", "--kv-events", taken.getsockname()[1],
                         "--kv-events-topic", "a")

    def refused(self, words, *args):
        with self.assertRaises(AssertionError) as raised:
            with Server(*args, model=noise()):
                pass
        self.assertIn(words, str(raised.exception))


if __name__ == "__main__":
    unittest.main()
