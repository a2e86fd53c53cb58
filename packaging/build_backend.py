"""What pip and other installers call to build the Python package (PEP 517), as pyproject.toml says.

The wheel is that of scripts/wheel, and the source distribution that of scripts/wheel --source. Needs what scripts/setup
--wheel installs; what is missing it installs itself, as root or with sudo.
"""
from __future__ import annotations

import pathlib
import shutil
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]


def make(to: str, *options: str, suffix: str) -> str:
    """The name of the file that scripts/wheel makes, which is put into the folder."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([ROOT / "scripts/wheel", *options, folder], check=True)
        (made,) = pathlib.Path(folder).glob(f"octavo-*{suffix}")
        shutil.copyfile(made, pathlib.Path(to, made.name))
        return made.name


def build_wheel(wheel_directory: str, config_settings: dict | None = None,
                metadata_directory: str | None = None) -> str:
    refuse(config_settings)
    return make(wheel_directory, suffix=".whl")


def build_sdist(sdist_directory: str, config_settings: dict | None = None) -> str:
    refuse(config_settings)
    return make(sdist_directory, "--source", suffix=".tar.gz")


def refuse(config_settings: dict | None) -> None:
    if config_settings:
        found = ", ".join(config_settings)
        raise ValueError(f"config_settings: found {found}, expected none: the wheel has no options")
