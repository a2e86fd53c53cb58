"""Models that tests keep: made once, and the longest unused go when there are too many."""
import os
import pathlib
import tempfile
import time
import unittest

import made_models


class MadeModels(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name) / "synthetic"

    def put(self, name, age_s, size=100):
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(bytes(size))
        os.utime(path, (time.time() - age_s,) * 2)

    def names(self):
        return sorted(path.name for path in self.folder.iterdir())

    def test_a_model_is_made_once(self):
        made = []

        def write(path):
            made.append(path)
            path.write_bytes(b"model")

        for _ in range(2):
            path = made_models.make_once(self.folder / "a.gguf", write)
            self.assertEqual(path.read_bytes(), b"model")
        self.assertEqual(len(made), 1)
        self.assertEqual(self.names(), ["a.gguf"])

    def test_a_model_that_was_not_finished_is_not_there(self):
        def write(path):
            path.write_bytes(b"half")
            raise RuntimeError("cut short")

        with self.assertRaises(RuntimeError):
            made_models.make_once(self.folder / "a.gguf", write)
        self.assertFalse((self.folder / "a.gguf").exists())

    def test_the_longest_unused_go_until_the_rest_fits(self):
        for name, age_s in (("old.gguf", 9000), ("older.gguf", 10000), ("oldest.gguf", 11000), ("new.gguf", 10)):
            self.put(name, age_s)
        made_models.forget_unused(self.folder, most_bytes=250)
        self.assertEqual(self.names(), ["new.gguf", "old.gguf"])

    def test_a_model_that_is_used_is_no_longer_old(self):
        self.put("used.gguf", 10000)
        self.put("unused.gguf", 9000)
        made_models.make_once(self.folder / "used.gguf", lambda path: self.fail("it is there"))
        made_models.forget_unused(self.folder, most_bytes=100)
        self.assertEqual(self.names(), ["used.gguf"])

    def test_models_used_within_an_hour_stay_and_other_files_too(self):
        self.put("a.gguf", 3000)
        self.put("notes.txt", 10000)
        made_models.forget_unused(self.folder, most_bytes=0)
        self.assertEqual(self.names(), ["a.gguf", "notes.txt"])

    def test_a_run_begins_without_what_the_last_one_did_not_use(self):
        data, now = self.folder.parent, time.time()
        self.put("used.gguf", 8000)
        self.put("unused.gguf", 10000)
        self.put("notes.txt", 10000)
        self.put("../oracle/unused.npy", 10000)
        self.put("../given.gguf", 10000)
        self.assertEqual(made_models.begin_run(data, now - 9000), 0)  # nothing is known of a run before
        self.assertEqual(made_models.begin_run(data, now), 200)
        self.assertEqual(self.names(), ["notes.txt", "used.gguf"])
        self.assertEqual(list((data / "oracle").iterdir()), [])
        self.assertTrue((data / "given.gguf").exists())

    def test_a_run_that_begins_beside_another_keeps_what_was_used_within_an_hour(self):
        data, now = self.folder.parent, time.time()
        self.put("old.gguf", 4000)
        self.put("new.gguf", 3000)
        made_models.begin_run(data, now - 10)
        made_models.begin_run(data, now)
        self.assertEqual(self.names(), ["new.gguf"])


if __name__ == "__main__":
    unittest.main()
