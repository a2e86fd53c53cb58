"""The files for Kubernetes and KServe: they have the form of its schemas, and what they say to octavo serve is what it takes."""
import ast
import pathlib
import re
import subprocess
import unittest
import warnings

import kubernetes_validate
import support
import yaml

KSERVE = support.TEST_DATA / "kserve" / "kserve" / "models"  # scripts/setup --test
FOLDER = pathlib.Path(__file__).resolve().parents[2] / "packaging" / "kubernetes"
VERSION = "1.37"


def documents(name):
    return list(yaml.safe_load_all((FOLDER / name).read_text(encoding="utf-8")))


def valid(document):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kubernetes_validate.validate(document, VERSION, strict=True)


class KServeSchema:
    """KServe's types, as its package for Python has them: classes with the types of their attributes, written by OpenAPI's
    generator. They are read and not imported, which would need all that KServe does."""

    PLAIN = {"str": str, "int": int, "bool": bool, "float": float}

    def members(self, kind):
        """{name in YAML: type}; None: a type of Kubernetes' own."""
        name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", kind).lower()
        if not (KSERVE / f"{name}.py").exists():
            return None
        tree = ast.parse((KSERVE / f"{name}.py").read_text(encoding="utf-8"))
        told = {node.targets[0].id: ast.literal_eval(node.value) for node in ast.walk(tree)
                if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") in ("openapi_types", "attribute_map")}
        return {told["attribute_map"][name]: kind for name, kind in told["openapi_types"].items()}

    def check(self, value, kind, path):
        """Raises ValueError."""
        if match := re.fullmatch(r"list\[(.+)\]", kind):
            for i, element in enumerate(self.expect(value, list, path)):
                self.check(element, match.group(1), f"{path}[{i}]")
        elif match := re.fullmatch(r"dict\(str, (.+)\)", kind):
            for name, element in self.expect(value, dict, path).items():
                self.check(element, match.group(1), f"{path}.{name}")
        elif kind in self.PLAIN:
            self.expect(value, self.PLAIN[kind], path)
        elif (members := self.members(kind)) is not None:
            for name, element in self.expect(value, dict, path).items():
                if name not in members:
                    raise ValueError(f"{path}.{name}: found a member that {kind} does not have")
                self.check(element, members[name], f"{path}.{name}")

    @staticmethod
    def expect(value, kind, path):
        if not isinstance(value, kind):
            raise ValueError(f"{path}: found {value!r}, expected {kind.__name__}")
        return value


def containers():
    (deployment,) = (one for one in documents("octavo.yaml") if one["kind"] == "Deployment")
    (runtime,) = documents("serving_runtime.yaml")
    return [deployment["spec"]["template"]["spec"]["containers"][0], runtime["spec"]["containers"][0]]


class Files(unittest.TestCase):
    def test_they_have_the_form_of_the_schemas(self):
        for document in documents("octavo.yaml"):
            valid(document)
        (runtime,) = documents("serving_runtime.yaml")
        self.assertEqual((runtime["apiVersion"], runtime["kind"]), ("serving.kserve.io/v1alpha1", "ServingRuntime"))
        KServeSchema().check(runtime, "V1alpha1ServingRuntime", "runtime")
        # KServe's schema has Kubernetes' own containers in it.
        valid({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": runtime["spec"]["containers"]}})

    def test_a_wrong_file_is_seen(self):
        document = documents("octavo.yaml")[1]
        document["spec"]["template"]["spec"]["containers"][0]["readinessProbe"]["path"] = "/ready"
        with self.assertRaises(kubernetes_validate.ValidationError):
            valid(document)

    def test_a_wrong_runtime_is_seen(self):
        for change, found in ((lambda spec: spec.update(protocol="v2"), "runtime.spec.protocol: found a member"),
                              (lambda spec: spec.update(protocolVersions=2), "runtime.spec.protocolVersions: found 2"),
                              (lambda spec: spec["supportedModelFormats"][0].update(autoSelect="yes"),
                               "runtime.spec.supportedModelFormats[0].autoSelect: found 'yes'")):
            (runtime,) = documents("serving_runtime.yaml")
            change(runtime["spec"])
            with self.assertRaisesRegex(ValueError, re.escape(found)):
                KServeSchema().check(runtime, "V1alpha1ServingRuntime", "runtime")

    def test_the_options_are_those_of_the_program(self):
        text = subprocess.run([support.OCTAVO, "serve", "--help"], capture_output=True, text=True, check=True).stdout
        for container in containers():
            for argument in container["args"]:
                name = re.match(r"--[a-z-]+", argument).group(0)
                self.assertRegex(text, rf"{name}\b")

    def test_probes_ask_what_tells_it_and_there_is_time_to_leave(self):
        for container in containers():
            self.assertEqual(container["readinessProbe"]["httpGet"]["path"], "/ready")
            self.assertEqual(container["livenessProbe"]["httpGet"]["path"], "/health")
        (deployment,) = (one for one in documents("octavo.yaml") if one["kind"] == "Deployment")
        pod = deployment["spec"]["template"]["spec"]
        seconds = [int(re.fullmatch(r"--drain-\w+=(\d+)", argument).group(1))
                   for argument in pod["containers"][0]["args"] if argument.startswith("--drain-")]
        self.assertEqual(len(seconds), 2)
        self.assertGreater(pod["terminationGracePeriodSeconds"], sum(seconds) + 2)


if __name__ == "__main__":
    unittest.main()
