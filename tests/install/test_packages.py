"""The packages: what is in them, and that what is in them runs: from a folder of any name, with nothing set."""
import os
import pathlib
import re
import subprocess
import tempfile
import time
import unittest
import urllib.request

BUILD = pathlib.Path(os.environ["OCTAVO_BUILD"])
MODEL = pathlib.Path(os.environ["OCTAVO_TEST_DATA"], "SmolLM2-135M-Instruct.Q4_1.gguf")
PLAIN = {"PATH": "/usr/bin:/bin"}


def run(*command, env=None):
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, env=env, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{command}: exit code {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout


def serves(program):
    """The program loads a model and answers."""
    command = [str(program), "serve", "-m", str(MODEL), "--port", "0", "--access-log", "off"]
    with tempfile.TemporaryFile("w+") as log, subprocess.Popen(command, stderr=log, env=PLAIN) as process:
        try:
            for _ in range(6000):
                text = os.pread(log.fileno(), 1 << 16, 0).decode()
                if match := re.search(r"ready at (\S+)", text):
                    with urllib.request.urlopen(match.group(1) + "/ready", timeout=60) as answer:
                        return answer.status == 200
                if process.poll() is not None:
                    raise AssertionError(f"exit code {process.returncode}: {text}")
                time.sleep(0.01)
        finally:
            process.terminate()
    return False


class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        run("cpack", "--config", BUILD / "CPackConfig.cmake", "-B", cls.folder / "out")
        (cls.archive,), (cls.package,) = (list((cls.folder / "out").glob(p)) for p in ("*.tar.gz", "*.deb"))

    def test_the_archive_runs_wherever_it_is_unpacked_with_its_own_libraries(self):
        place = self.folder / "some where else"
        place.mkdir()
        run("tar", "xf", self.archive, "-C", place)
        (root,) = place.iterdir()
        program = root / "bin" / "octavo"
        self.assertRegex(run(program, "--version", env=PLAIN), r"^octavo \d")
        libraries = [line.split("=>")[1].split("(")[0].strip() for line in run("ldd", program, env=PLAIN).splitlines()
                     if "=>" in line]
        own = [path for path in libraries if path.startswith(str(root))]
        for name in ("libfmt", "libspdlog", "libboost_json", "libssl", "libpcre2-8", "libprometheus-cpp-core",
                     "libedit"):
            self.assertTrue(any(pathlib.Path(path).name.startswith(name) for path in own), f"{name} in {libraries}")
        self.assertTrue(serves(program))

    def test_the_debian_package_has_the_program_the_service_and_its_dependencies(self):
        fields = run("dpkg-deb", "--field", self.package)
        self.assertIn("Package: octavo\n", fields)
        depends = re.search(r"^Depends: (.*)$", fields, re.MULTILINE).group(1)
        for name in ("libc6", "libfmt9", "libssl3", "libboost-json1.81.0", "libprometheus-cpp-core1.0"):
            self.assertIn(name, depends)
        place = self.folder / "installed"
        run("dpkg-deb", "--extract", self.package, place)
        for path in ("usr/bin/octavo", "usr/lib/systemd/system/octavo.service", "etc/octavo/octavo.conf"):
            self.assertTrue((place / path).is_file(), path)
        self.assertFalse((place / "usr/lib/octavo").exists())
        self.assertFalse((place / "usr/include").exists())
        self.assertTrue(serves(place / "usr/bin/octavo"))

    def test_the_settings_of_the_service_are_options_of_the_program(self):
        place = self.folder / "settings"
        run("dpkg-deb", "--extract", self.package, place)
        text = (place / "etc/octavo/octavo.conf").read_text(encoding="utf-8")
        names = re.findall(r"^#([a-z-]+) = ", text, re.MULTILINE)
        self.assertGreater(len(names), 3)
        for name in names:
            self.assertIn("--" + name, run(place / "usr/bin/octavo", "serve", "--help"))


if __name__ == "__main__":
    unittest.main()
