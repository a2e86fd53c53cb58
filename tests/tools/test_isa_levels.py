"""OCTAVO_ISA_LEVELS: which kernels a build compiles, and what refuses a build that has not all of them."""
import os
import pathlib
import platform
import re
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
X86 = platform.machine() == "x86_64"
ALL = ["amx", "amxbf16", "avx2", "avx512vnni", "avxvnni", "scalar"] if X86 else ["neon", "scalar"]


def levels_of_machine():
    """This machine's levels, by the system's own list of what the processor has."""
    if not X86:
        return {"scalar", "neon"}
    flags = next(line for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("flags"))
    flags = set(flags.split())
    if not {"avx2", "fma", "f16c"} <= flags:
        return {"scalar"}
    levels = {"scalar", "avx2"}
    if {"avx512f", "avx512bw", "avx512vl", "avx512dq", "avx512_vnni"} <= flags:
        levels.add("avx512vnni")
        if {"amx_tile", "amx_int8"} <= flags:  # Linux permits tiles to whoever asks
            levels.add("amx")
            if {"amx_bf16", "avx512vbmi"} <= flags:
                levels.add("amxbf16")
    return levels | {"avxvnni"} if "avx_vnni" in flags else levels


def native():
    """The strongest level that auto chooses; beside amx the one on which it is built, and the one that is built on it."""
    levels = levels_of_machine()
    strongest = max(levels - {"amxbf16"}, key=["scalar", "avx2", "avxvnni", "avx512vnni", "amx", "neon"].index)
    return sorted(levels & {"amx", "amxbf16", "avx512vnni"}) if strongest == "amx" else [strongest]


class IsaLevels(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.build = pathlib.Path(folder.name)

    def configure(self, *options):
        return subprocess.run(["cmake", "-S", ROOT, "-B", self.build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                               f"-DCMAKE_CXX_COMPILER={os.environ['OCTAVO_CXX']}", "-DOCTAVO_BUILD_BENCH=OFF",
                               "-DOCTAVO_BUILD_EXAMPLES=OFF", *options], capture_output=True, text=True, check=False)

    def levels(self):
        targets = subprocess.run(["ninja", "-C", self.build, "-t", "targets", "all"], capture_output=True, text=True,
                                 check=True).stdout
        units = [line.split(":")[0] for line in targets.splitlines() if "/isa/kernels_" in line]
        names = (pathlib.Path(unit).name.removeprefix("kernels_").removesuffix(".cc.o") for unit in units)
        return sorted({name.partition("_")[0] for name in names})  # a level may have several units

    def test_native_is_the_strongest_level_alone_and_no_package_is_made_of_it(self):
        done = self.configure("-DOCTAVO_BUILD_TESTS=OFF", "-DOCTAVO_ISA_LEVELS=native")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.levels(), native())
        packed = subprocess.run(["cpack", "--config", self.build / "CPackConfig.cmake", "-G", "TGZ"], cwd=self.build,
                                capture_output=True, text=True, check=False)
        self.assertNotEqual(packed.returncode, 0)
        self.assertIn("OCTAVO_ISA_LEVELS=all", packed.stderr)

        done = self.configure("-DOCTAVO_ISA_LEVELS=all")  # as scripts/test does in a folder that scripts/run made
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.levels(), ALL)

    def test_tests_and_unknown_names_are_refused(self):
        done = self.configure("-DOCTAVO_BUILD_TESTS=ON", "-DOCTAVO_ISA_LEVELS=scalar")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("OCTAVO_ISA_LEVELS=all", done.stderr)
        done = self.configure("-DOCTAVO_BUILD_TESTS=OFF", "-DOCTAVO_ISA_LEVELS=sse9")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn('found "sse9"', done.stderr)

    @unittest.skipUnless(X86, "amx is a level of x86-64")
    def test_amx_is_built_beside_the_level_that_has_most_of_its_kernels(self):
        done = self.configure("-DOCTAVO_BUILD_TESTS=OFF", "-DOCTAVO_ISA_LEVELS=amx")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("which it needs beside it", " ".join(done.stderr.split()))
        done = self.configure("-DOCTAVO_BUILD_TESTS=OFF", "-DOCTAVO_ISA_LEVELS=avx512vnni;amx")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.levels(), ["amx", "avx512vnni"])
        done = self.configure("-DOCTAVO_BUILD_TESTS=OFF", "-DOCTAVO_ISA_LEVELS=avx512vnni;amxbf16")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("amxbf16 has most of its kernels from amx", " ".join(done.stderr.split()))

    @unittest.skipUnless(X86, "the emulated levels are those of x86-64")
    def test_levels_are_emulated_that_the_machine_lacks_or_that_are_named(self):
        def emulated(*options):
            done = self.configure("-DOCTAVO_ONLY_KERNELS=ON", *options)
            self.assertEqual(done.returncode, 0, done.stderr)
            targets = subprocess.run(["ninja", "-C", self.build, "-t", "targets", "all"], capture_output=True, text=True,
                                     check=True).stdout
            return set(re.findall(r"octavo_kernels_(\w+)_emulated\.dir/", targets))

        self.assertEqual(emulated(), {"avxvnni", "avx512vnni", "amx", "amxbf16"} - levels_of_machine())
        self.assertEqual(emulated("-DOCTAVO_EMULATED_LEVELS=avx512vnni"), {"avx512vnni"})
        done = self.configure("-DOCTAVO_EMULATED_LEVELS=avx2")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn('found "avx2"', done.stderr)


if __name__ == "__main__":
    unittest.main()
