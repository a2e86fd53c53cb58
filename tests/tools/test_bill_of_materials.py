"""tools/bill_of_materials.py: what a program has inside or needs, by packages and their versions."""
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import bill_of_materials  # noqa: E402

CXX = os.environ["OCTAVO_CXX"]
OWNERS = "libinner.so inner1 1:2.0-1\nlibouter.so outer2 3.1+b1\nlibmore.so outer2 3.1+b1\n- libcli11-dev 2.1\n"


class BillOfMaterials(unittest.TestCase):
    """A program that needs libouter.so and libmore.so of one package; libouter.so needs libinner.so."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.libraries = self.root / "usr/lib/some-linux-gnu"
        self.libraries.mkdir(parents=True)
        for name, text, needs in (("inner", "int inner() { return 1; }", ()), ("more", "int more() { return 2; }", ()),
                                  ("outer", "int inner(); int outer() { return inner(); }", ("inner",))):
            self.link(self.libraries / f"lib{name}.so", text, needs, "-shared", "-fPIC")
        self.program = self.root / "program"
        main = 'int outer(); int more(); extern "C" void _start() { outer(); more(); }'
        self.link(self.program, main, ("outer", "more"))
        self.owners = self.root / "owners.txt"
        self.owners.write_text(OWNERS, encoding="ascii")

    def link(self, out, text, needs, *options):
        source = self.root / "source.cc"
        source.write_text(text, encoding="ascii")
        subprocess.run([CXX, "-nostdlib", *options, source, "-o", out, f"-L{self.libraries}",
                        f"-Wl,-rpath-link,{self.libraries}", *(f"-l{name}" for name in needs)], check=True)

    def bill(self, kind):
        out = self.root / "doc" / f"{kind}.json"
        subprocess.run([sys.executable, bill_of_materials.__file__, "--kind", kind, "--version", "1.2.3",
                        "--architecture", "arm64", "--program", self.program, "--triplet", "some-linux-gnu",
                        "--root", self.root, "--packages", self.owners, "--to", out], check=True)
        return json.loads(out.read_text(encoding="utf-8"))

    def test_a_folder_has_all_libraries_inside_with_their_digests(self):
        bill = self.bill("folder")
        self.assertEqual((bill["bomFormat"], bill["specVersion"], bill["version"]), ("CycloneDX", "1.5", 1))
        octavo = bill["metadata"]["component"]
        self.assertEqual((octavo["type"], octavo["version"], octavo["purl"]),
                         ("application", "1.2.3", "pkg:generic/octavo@1.2.3?arch=arm64"))
        self.assertEqual(octavo["components"][0]["hashes"][0]["content"],
                         hashlib.sha256(self.program.read_bytes()).hexdigest())
        parts = {part["purl"]: part for part in bill["components"]}
        cli11, inner, outer = (f"pkg:deb/debian/{of}?arch=arm64&distro=debian-12"
                               for of in ("libcli11-dev@2.1", "inner1@1%3A2.0-1", "outer2@3.1%2Bb1"))
        self.assertEqual(list(parts), [cli11, inner, outer])
        self.assertEqual([file["name"] for file in parts[outer]["components"]], ["libmore.so", "libouter.so"])
        self.assertEqual(parts[inner]["components"][0]["hashes"][0]["content"],
                         hashlib.sha256((self.libraries / "libinner.so").read_bytes()).hexdigest())
        self.assertEqual(bill["dependencies"], [{"ref": octavo["bom-ref"], "dependsOn": [cli11, inner, outer]}])

    def test_a_debian_package_needs_the_packages_that_its_program_names(self):
        bill = self.bill("deb")
        self.assertEqual(bill["metadata"]["component"]["purl"], "pkg:deb/octavo/octavo@1.2.3?arch=arm64")
        self.assertEqual([(part["name"], part["version"]) for part in bill["components"]],
                         [("cli11", "2.1"), ("outer2", "3.1+b1")])
        self.assertFalse(any("components" in part for part in bill["components"]))

    def test_a_library_of_no_package_is_named_with_its_digest(self):
        self.owners.write_text(OWNERS.replace("libinner.so", "libother.so"), encoding="ascii")
        (part,) = (part for part in self.bill("folder")["components"] if part["name"] == "libinner.so")
        self.assertEqual(part["bom-ref"], "libinner.so")
        self.assertNotIn("purl", part)
        self.assertEqual(part["components"][0]["name"], "libinner.so")

    def test_the_same_files_give_the_same_bytes_and_others_another_number(self):
        first = self.bill("folder")
        self.assertEqual(self.bill("folder"), first)
        self.owners.write_text(OWNERS.replace("3.1+b1", "3.1+b2"), encoding="ascii")
        self.assertNotEqual(self.bill("folder")["serialNumber"], first["serialNumber"])

    @unittest.skipUnless(os.path.exists("/var/lib/dpkg/status"), "this machine has no packages of Debian's")
    def test_dpkg_knows_whose_a_library_is_by_either_name_of_its_folder(self):
        packages = bill_of_materials.InstalledPackages()
        (loader,) = (path for path in map(pathlib.Path, ("/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"))
                     if path.exists())
        for library in (loader, pathlib.Path(f"/usr{loader}")):
            self.assertEqual(packages.owners([library, self.program]), {loader.name: "libc6"})
        versions = packages.versions(["libc6", "no-such-package"])
        self.assertEqual(list(versions), ["libc6"])
        self.assertRegex(versions["libc6"], r"^\d+\.\d")


if __name__ == "__main__":
    unittest.main()
