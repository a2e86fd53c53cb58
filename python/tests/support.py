"""What tests share: the real model's file, and processes of Python."""
import os
import pathlib
import subprocess
import sys

import octavo

MODEL = str(pathlib.Path(os.environ["OCTAVO_TEST_DATA"]) / "SmolLM2-135M-Instruct.Q4_1.gguf")
PACKAGES = str(pathlib.Path(octavo.__file__).parents[1])


def resident_kib():
    """KiB of this process's memory."""
    status = pathlib.Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.split("VmRSS:")[1].split()[0])


def python(code, *arguments, **variables):
    """A Python process that runs code, with the model's path as argv[1] unless other arguments are given."""
    return subprocess.Popen([sys.executable, "-c", code, *(arguments or [MODEL])], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, env=dict(os.environ, PYTHONPATH=PACKAGES, **variables))
