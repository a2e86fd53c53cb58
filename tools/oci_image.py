#!/usr/bin/env python3
"""Makes a container image of the archive that `cpack -G TGZ` has made, without a container runtime.

    oci_image.py octavo-VERSION-Linux-ARCH.tar.gz octavo.oci.tar [--certificates /etc/ssl/certs/ca-certificates.crt]

The image is an OCI layout in a tar file, with the manifest that Docker looks for beside it:

    podman load -i octavo.oci.tar          docker load -i octavo.oci.tar
    podman run -p 8080:8080 -v ./models:/models:ro octavo -m /models/model.gguf

One layer holds the program, its libraries with their loader, the certificates of authorities, the names that the C library
looks up, and the bill of materials (tools/bill_of_materials.py), which is also written beside the image as
octavo.oci.tar.cdx.json; no shell. The same archive and certificates give the same bytes. The image's date is
SOURCE_DATE_EPOCH, where the environment has it. Needs nothing but Python.
"""
import argparse
import gzip
import hashlib
import io
import json
import os
import pathlib
import tarfile
import time

import bill_of_materials

NOBODY = 65534
LOADERS = {"ld-linux-x86-64.so.2": ("lib64/ld-linux-x86-64.so.2", "amd64"),
           "ld-linux-aarch64.so.1": ("lib/ld-linux-aarch64.so.1", "arm64")}
TEXTS = {"etc/passwd": "root:x:0:0:root:/:/\nnobody:x:65534:65534:nobody:/models:/\n",
         "etc/group": "root:x:0:\nnobody:x:65534:\n",
         "etc/nsswitch.conf": "hosts: files dns\n"}
CERTIFICATES = pathlib.Path("/etc/ssl/certs/ca-certificates.crt")  # those of Debian's package ca-certificates
BILL = "share/doc/octavo/octavo.cdx.json"
MEDIA = "application/vnd.oci.image."


class Layer:
    """Files of a root folder as a tar file, each written once."""

    def __init__(self):
        self.bytes = io.BytesIO()
        self.tar = tarfile.open(fileobj=self.bytes, mode="w", format=tarfile.GNU_FORMAT)
        self.folders = set()

    def folder(self, path, mode=0o755):
        if path in ("", ".") or path in self.folders:
            return
        self.folder(str(pathlib.PurePosixPath(path).parent))
        self.folders.add(path)
        info = tarfile.TarInfo(path)
        info.type, info.mode = tarfile.DIRTYPE, mode
        self.tar.addfile(info)

    def file(self, path, data, mode=0o644):
        self.folder(str(pathlib.PurePosixPath(path).parent))
        info = tarfile.TarInfo(path)
        info.size, info.mode = len(data), mode
        self.tar.addfile(info, io.BytesIO(data))

    def link(self, path, target):
        self.folder(str(pathlib.PurePosixPath(path).parent))
        info = tarfile.TarInfo(path)
        info.type, info.linkname = tarfile.SYMTYPE, target
        self.tar.addfile(info)

    def close(self):
        self.tar.close()
        return self.bytes.getvalue()


def bill_of(archive, packed, certificates):
    """The image's bill of materials."""
    for member in packed.getmembers():
        if member.name.partition("/")[2] == BILL:
            is_debians = certificates == CERTIFICATES
            installed = bill_of_materials.InstalledPackages().versions(["ca-certificates"]) if is_debians else {}
            return bill_of_materials.bill_of_image(packed.extractfile(member).read(), certificates.read_bytes(),
                                                   installed.get("ca-certificates", ""))
    raise SystemExit(f"{archive}: found no {BILL} in its folder, expected an archive of `cpack -G TGZ`")


def make_layer(archive, certificates):
    """The layer's bytes, the processor that it is for, and the bill of materials."""
    layer, architecture = Layer(), None
    layer.folder("tmp", 0o1777)
    layer.folder("models")
    with tarfile.open(archive) as packed:
        bill = bill_of(archive, packed, certificates)
        for member in sorted(packed.getmembers(), key=lambda m: m.name):
            name = pathlib.PurePosixPath(*pathlib.PurePosixPath(member.name).parts[1:])  # without the first folder
            if name.parent != pathlib.PurePosixPath("lib/octavo"):
                continue
            if member.issym():
                layer.link(f"usr/lib/{name.name}", member.linkname)
                continue
            data = packed.extractfile(member).read()
            if name.name in LOADERS:
                path, architecture = LOADERS[name.name]
                layer.file(path, data, 0o755)
            elif name.name == "octavo":
                layer.file("usr/bin/octavo", data, 0o755)
                layer.link("usr/bin/llama-server", "octavo")
            else:
                layer.file(f"usr/lib/{name.name}", data)  # where the loader looks by itself
    if architecture is None or "usr/bin" not in layer.folders:
        raise SystemExit(f"{archive}: found no program with its loader in lib/octavo, expected an archive of `cpack -G TGZ`")
    for path, text in TEXTS.items():
        layer.file(path, text.encode())
    layer.file("etc/ssl/certs/ca-certificates.crt", certificates.read_bytes())
    layer.file(f"usr/{BILL}", bill)
    return layer.close(), architecture, bill


def date():
    """When the image was made, where the environment says it, as its configuration has it."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    return {"created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(epoch)))} if epoch else {}


def canonical(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def digest(data):
    return hashlib.sha256(data).hexdigest()


def descriptor(kind, data):
    return {"mediaType": MEDIA + kind, "digest": f"sha256:{digest(data)}", "size": len(data)}


def write_image(archive, out, certificates):
    plain, architecture, bill = make_layer(archive, certificates)
    layer = gzip.compress(plain, compresslevel=6, mtime=0)
    config = canonical({
        **date(), "architecture": architecture, "os": "linux",
        "config": {"User": f"{NOBODY}:{NOBODY}", "ExposedPorts": {"8080/tcp": {}}, "WorkingDir": "/models",
                   "Env": ["PATH=/usr/bin", "HF_HOME=/models"], "StopSignal": "SIGTERM",
                   "Entrypoint": ["/usr/bin/octavo", "serve", "--host", "0.0.0.0"]},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest(plain)}"]}})
    manifest = canonical({"schemaVersion": 2, "mediaType": MEDIA + "manifest.v1+json",
                          "config": descriptor("config.v1+json", config),
                          "layers": [descriptor("layer.v1.tar+gzip", layer)]})
    name = {"org.opencontainers.image.ref.name": "latest", "io.containerd.image.name": "docker.io/library/octavo:latest"}
    index = canonical({"schemaVersion": 2, "mediaType": MEDIA + "index.v1+json",
                       "manifests": [{**descriptor("manifest.v1+json", manifest), "annotations": name}]})
    image = Layer()
    image.file("oci-layout", canonical({"imageLayoutVersion": "1.0.0"}))
    image.file("index.json", index)
    image.file("manifest.json", canonical([{"Config": f"blobs/sha256/{digest(config)}", "RepoTags": ["octavo:latest"],
                                            "Layers": [f"blobs/sha256/{digest(layer)}"]}]))
    for data in (config, manifest, layer):
        image.file(f"blobs/sha256/{digest(data)}", data)
    out.write_bytes(image.close())
    out.with_name(out.name + ".cdx.json").write_bytes(bill)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archive", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--certificates", type=pathlib.Path, default=CERTIFICATES)
    args = parser.parse_args()
    write_image(args.archive, args.out, args.certificates)


if __name__ == "__main__":
    main()
