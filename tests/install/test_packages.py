"""The packages: what is in them, and that what is in them runs: from a folder of any name, with nothing set."""
import ctypes
import errno
import gzip
import hashlib
import json
import os
import pathlib
import re
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

BUILD = pathlib.Path(os.environ["OCTAVO_BUILD"])
MODEL = pathlib.Path(os.environ["OCTAVO_TEST_DATA"], "SmolLM2-135M-Instruct.Q4_1.gguf")
TOOLS = pathlib.Path(__file__).parents[2] / "tools"
PLAIN = {"PATH": "/usr/bin:/bin"}


def run(*command, env=None):
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, env=env, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{command}: exit code {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout


def pack(folder, umask=0o022):
    """The packages of the build, as scripts/package makes them."""
    done = subprocess.run([TOOLS / "pack.sh", BUILD, folder], capture_output=True, text=True, check=False,
                          env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}, umask=umask)
    if done.returncode != 0:
        raise AssertionError(f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}")


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def serves(program, *args, preexec_fn=None):
    """The program loads a model and answers; with these arguments, or some of ours."""
    args = args or ("serve", "-m", MODEL, "--port", 0, "--access-log", "off")
    command = [str(program), *map(str, args)]
    with tempfile.TemporaryFile("w+") as log, \
            subprocess.Popen(command, stderr=log, env=PLAIN, preexec_fn=preexec_fn) as process:
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


def system_calls(names):
    """Numbers of system calls and of groups of them, as systemd knows these and the kernel's header those."""
    header = pathlib.Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h").read_text(encoding="ascii")
    numbers = {name: int(number) for name, number in re.findall(r"#define __NR_(\w+) (\d+)", header)}
    found = set()
    for name in names:
        if name.startswith("@"):
            members = [line.strip() for line in run("systemd-analyze", "syscall-filter", name).splitlines()[1:]]
            found |= system_calls([member for member in members if member and not member.startswith("#")])
        elif name in numbers:
            found.add(numbers[name])
    return found


def allow_only(calls):
    """From now on this process and its children get EPERM from all other system calls."""
    def instruction(code, jump_true, jump_false, value):
        return struct.pack("HBBI", code, jump_true, jump_false, value)

    load, equal, give, allow, error = 0x20, 0x15, 0x06, 0x7FFF0000, 0x00050000
    program = instruction(load, 0, 0, 0)  # the number of the call
    for call in sorted(calls):
        program += instruction(equal, 0, 1, call) + instruction(give, 0, 0, allow)
    program += instruction(give, 0, 0, error | errno.EPERM)
    buffer = ctypes.create_string_buffer(program, len(program))
    filter_program = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    no_new_privileges, set_filter = 38, 22
    for arguments in ((no_new_privileges, 1, 0, 0, 0), (set_filter, 2, filter_program, 0, 0)):
        if libc.prctl(*arguments) != 0:
            raise OSError(ctypes.get_errno(), "prctl")


class Service(unittest.TestCase):
    UNIT = pathlib.Path(__file__).parents[2] / "packaging/octavo.service"

    def settings(self, name):
        return re.findall(rf"^{name}=(.*)$", self.UNIT.read_text(encoding="ascii"), re.MULTILINE)

    def test_its_memory_is_bounded_and_it_leaves_no_core(self):
        (memory,) = self.settings("MemoryMax")
        self.assertRegex(memory, r"^[5-9]\d%$")
        self.assertEqual(self.settings("LimitCORE"), ["0"])
        self.assertEqual(self.settings("SystemCallFilter"), ["@system-service", "~@privileged"])

    def test_its_template_has_the_same_bounds_and_a_port_a_node(self):
        def settings(name):
            lines = (self.UNIT.parent / name).read_text(encoding="ascii").splitlines()
            return [line for line in lines if line and not line.startswith("#")]
        own = {"Description=Octavo, a server of language models, on node %i", "User=octavo",
               "ExecStart=/usr/bin/octavo serve --config /etc/octavo/octavo.conf --port 808%i"}
        template, unit = settings("octavo@.service"), settings("octavo.service")
        self.assertEqual(set(template) - set(unit), own)
        self.assertEqual([line for line in template if line not in own],
                         [line for line in unit if not line.startswith(("Description=", "ExecStart="))])
        for node in ("0", "1"):
            self.assertEqual(settings(f"node_{node}.conf"),
                             ["[Service]", "CPUAffinity=numa", "NUMAPolicy=bind", f"NUMAMask={node}"])

    @unittest.skipUnless(shutil.which("systemd-analyze"), "systemd-analyze is not here")
    def test_systemd_finds_it_little_exposed(self):
        run("systemd-analyze", "security", "--offline=true", "--threshold=20", self.UNIT)

    @unittest.skipUnless(shutil.which("systemd-analyze") and os.uname().machine == "x86_64",
                         "systemd-analyze is not here, or this is no x86-64")
    def test_the_program_serves_with_the_system_calls_that_the_unit_leaves_it(self):
        allowed, removed = self.settings("SystemCallFilter")
        calls = system_calls([allowed]) - system_calls([removed.removeprefix("~")])
        self.assertGreater(len(calls), 150)
        self.assertTrue(serves(BUILD / "octavo", preexec_fn=lambda: allow_only(calls)))
        (chown,) = system_calls(["chown"])
        self.assertNotIn(chown, calls)
        done = subprocess.run(["chown", "0", "/dev/null"], preexec_fn=lambda: allow_only(calls), capture_output=True,
                              text=True, check=False)
        self.assertIn("Operation not permitted", done.stderr)


class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.out = cls.folder / "out"
        pack(cls.out)
        (cls.archive,), (cls.package,), (cls.image,) = (
            list(cls.out.glob(form)) for form in ("*.tar.gz", "*.deb", "*.oci.tar"))

    def bill(self, package):
        """{name: component} of the bill of materials beside a package, and the digest of the program that it is of."""
        bill = json.loads((self.out / f"{package.name}.cdx.json").read_text(encoding="ascii"))
        self.assertEqual((bill["bomFormat"], bill["specVersion"]), ("CycloneDX", "1.5"))
        (program,) = bill["metadata"]["component"]["components"]
        return {part["name"]: part for part in bill["components"]}, program["hashes"][0]["content"]

    def assert_inside(self, parts, folder, left_out=()):
        """The files of a folder are those of the bill's components, with the same digests."""
        listed = {file["name"]: file["hashes"][0]["content"] for part in parts.values()
                  for file in part.get("components", ()) if file["name"] not in left_out}
        self.assertEqual(listed, {path.name: sha256(path) for path in folder.iterdir()
                                  if path.is_file() and path.name != "octavo"})

    def test_the_archive_runs_wherever_it_is_unpacked_with_its_own_libraries(self):
        place = self.folder / "some where else"
        place.mkdir()
        run("tar", "xf", self.archive, "-C", place)
        (root,) = place.iterdir()
        program = root / "bin" / "octavo"
        self.assertRegex(run(program, "--version", env=PLAIN), r"^octavo \d")
        parts, digest = self.bill(self.archive)
        self.assertEqual(sha256(root / "lib/octavo/octavo"), digest)
        self.assert_inside(parts, root / "lib/octavo")
        self.assertRegex(parts["libssl3"]["purl"], r"^pkg:deb/debian/libssl3@3\.")
        (loader,) = (root / "lib/octavo").glob("ld-linux*")
        listed = run(loader, "--library-path", loader.parent, "--list", loader.parent / "octavo", env=PLAIN)
        libraries = {line.split("=>")[0].strip(): line.split("=>")[1].split("(")[0].strip()
                     for line in listed.splitlines() if "=>" in line and "ld-linux" not in line}
        for name in ("libc.so.6", "libstdc++.so.6", "libssl.so.3", "libcurl.so.4"):
            self.assertIn(name, libraries)
        for name, path in libraries.items():
            self.assertEqual(pathlib.Path(path).resolve().parent, loader.parent, name)
        self.assertTrue(serves(program))
        self.assertRegex(run(root / "bin/llama-server", "--version", env=PLAIN), r"^version: \d")
        self.assertTrue(serves(root / "bin/llama-server", "-m", MODEL, "--port", 0))

    def test_packing_once_more_gives_the_same_bytes(self):
        again = self.folder / "again"
        pack(again, umask=0o077)
        lines = run(sys.executable, TOOLS / "compare_packages.py", self.out, again).splitlines()
        self.assertEqual(len(lines), 6, lines)  # three packages with their bills

    @unittest.skipUnless(os.geteuid() == 0, "only root may change its root")
    def test_the_image_runs_in_a_root_that_has_nothing_else(self):
        layout = self.folder / "layout"
        layout.mkdir()
        run("tar", "xf", self.image, "-C", layout)
        read = lambda descriptor: (layout / "blobs" / descriptor["digest"].replace(":", "/")).read_bytes()
        index = json.loads((layout / "index.json").read_text())
        manifest = json.loads(read(index["manifests"][0]))
        config = json.loads(read(manifest["config"]))
        for descriptor in (index["manifests"][0], manifest["config"], *manifest["layers"]):
            self.assertEqual("sha256:" + hashlib.sha256(read(descriptor)).hexdigest(), descriptor["digest"])
            self.assertEqual(len(read(descriptor)), descriptor["size"])
        (layer,) = manifest["layers"]
        self.assertEqual("sha256:" + hashlib.sha256(gzip.decompress(read(layer))).hexdigest(),
                         config["rootfs"]["diff_ids"][0])
        (for_docker,) = json.loads((layout / "manifest.json").read_text())
        self.assertEqual((layout / for_docker["Config"]).read_bytes(), read(manifest["config"]))
        self.assertEqual((layout / for_docker["Layers"][0]).read_bytes(), read(layer))
        self.assertEqual(config["created"], "2023-11-14T22:13:20Z")
        root = self.folder / "root"
        root.mkdir()
        run("tar", "xzf", layout / for_docker["Layers"][0], "-C", root)
        parts, program = self.bill(self.image)
        self.assertEqual(sha256(root / "usr/bin/octavo"), program)
        loaders = [path.name for path in root.glob("lib*/ld-linux*")]
        self.assert_inside(parts, root / "usr/lib", left_out=["ca-certificates.crt", *loaders])
        (certificates,) = parts["ca-certificates"]["components"]
        self.assertEqual(certificates["hashes"][0]["content"], sha256(root / "etc/ssl/certs/ca-certificates.crt"))
        self.assertEqual((root / "usr/share/doc/octavo/octavo.cdx.json").read_bytes(),
                         (self.out / f"{self.image.name}.cdx.json").read_bytes())
        shutil.copy(MODEL, root / "models/model.gguf")
        program, *args = config["config"]["Entrypoint"]
        self.assertEqual((program, args), ("/usr/bin/octavo", ["serve", "--host", "0.0.0.0"]))
        self.assertEqual(os.readlink(root / "usr/bin/llama-server"), "octavo")

        def enter():
            os.chroot(root)
            os.setgid(65534)
            os.setuid(65534)
        self.assertTrue(serves(program, *args, "-m", "/models/model.gguf", "--port", 0, "--access-log", "off",
                               preexec_fn=enter))

    def test_the_debian_package_has_the_program_the_service_and_its_dependencies(self):
        fields = run("dpkg-deb", "--field", self.package)
        self.assertIn("Package: octavo\n", fields)
        depends = re.search(r"^Depends: (.*)$", fields, re.MULTILINE).group(1)
        for name in ("libc6", "libfmt9", "libssl3", "libcurl4", "libboost-json1.81.0", "libprometheus-cpp-core1.0"):
            self.assertIn(name, depends)
        place = self.folder / "installed"
        run("dpkg-deb", "--extract", self.package, place)
        parts, digest = self.bill(self.package)
        self.assertEqual(sha256(place / "usr/bin/octavo"), digest)
        needed = [name for name in parts if name.startswith("lib")]
        listed = run("dpkg-query", "--show", "--showformat=${Package}, ${Provides}\n", *needed)
        owner = {name.split()[0]: line.split(",")[0] for line in listed.splitlines() for name in line.split(", ") if name}
        self.assertEqual({owner.get(depend.split()[0]) for depend in depends.split(", ")}, set(needed))
        self.assertEqual((place / "usr/share/doc/octavo/octavo.cdx.json").read_bytes(),
                         (self.out / f"{self.package.name}.cdx.json").read_bytes())
        for path in ("usr/bin/octavo", "usr/lib/systemd/system/octavo.service", "etc/octavo/octavo.conf"):
            self.assertTrue((place / path).is_file(), path)
        self.assertRegex(run(place / "usr/bin/llama-server", "--version"), r"^version: \d")
        self.assertIn("Conflicts: llama.cpp-tools\n", fields)
        self.assertFalse((place / "usr/lib/octavo").exists())
        self.assertFalse((place / "usr/include").exists())
        self.assertTrue(serves(place / "usr/bin/octavo"))

    def installed(self):
        """A root of its own into which dpkg has installed the package, beside all that this machine has."""
        root = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        state = root / "var/lib/dpkg"
        for name in ("info", "updates", "triggers"):
            (state / name).mkdir(parents=True)
        # dpkg compares the dependencies with what is installed here; it warns of file lists that are not there.
        shutil.copy("/var/lib/dpkg/status", state / "status")
        run("dpkg", f"--root={root}", "--install", self.package)
        return root

    @unittest.skipUnless(os.geteuid() == 0, "only root may install")
    def test_dpkg_installs_it_with_its_dependencies_and_keeps_the_settings(self):
        root = self.installed()
        self.assertEqual(run("dpkg-query", f"--admindir={root}/var/lib/dpkg", "--show",
                             "--showformat=${db:Status-Abbrev}", "octavo"), "ii ")
        settings = root / "etc/octavo/octavo.conf"
        self.assertEqual(oct(settings.stat().st_mode & 0o777), oct(0o644))
        settings.write_text("port = 1\n", encoding="ascii")
        run("dpkg", f"--root={root}", "--install", self.package)
        self.assertEqual(settings.read_text(encoding="ascii"), "port = 1\n")
        run("dpkg", f"--root={root}", "--remove", "octavo")
        self.assertFalse((root / "usr/bin/octavo").exists())
        self.assertTrue(settings.exists())
        run("dpkg", f"--root={root}", "--purge", "octavo")
        self.assertFalse(settings.exists())

    @unittest.skipUnless(os.geteuid() == 0, "only root may install")
    def test_the_command_of_the_service_serves(self):
        root = self.installed()
        unit = (root / "usr/lib/systemd/system/octavo.service").read_text(encoding="ascii")
        program, *args = shlex.split(re.search(r"^ExecStart=(.*)$", unit, re.MULTILINE).group(1))
        self.assertEqual((program, args), ("/usr/bin/octavo", ["serve", "--config", "/etc/octavo/octavo.conf"]))
        settings = root / "etc/octavo/octavo.conf"
        settings.write_text(f'model = "{MODEL}"\nport = 0\n', encoding="utf-8")
        self.assertTrue(serves(f"{root}{program}", "serve", "--config", settings))

    @unittest.skipUnless(shutil.which("systemd-analyze"), "systemd-analyze is not here")
    def test_systemd_finds_nothing_wrong_with_the_unit(self):
        place = self.folder / "unit"
        run("dpkg-deb", "--extract", self.package, place)
        units = place / "usr/lib/systemd/system"
        for name, instance in (("octavo.service", "octavo.service"), ("octavo@.service", "octavo@0.service")):
            unit = units / name
            unit.write_text(unit.read_text(encoding="ascii").replace("=/usr/bin/octavo ", f"={place}/usr/bin/octavo "),
                            encoding="ascii")
            if instance != name:
                (units / instance).symlink_to(name)
            done = subprocess.run(["systemd-analyze", "verify", "--man=no", units / instance], capture_output=True,
                                  text=True, check=False)
            self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""), instance)
        self.assertTrue((units / "octavo@1.service.d/node.conf").is_file())

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
