"""The files for Kubernetes: they have the form of its schemas, and what they say to octavo serve is what it takes."""
import pathlib
import re
import subprocess
import unittest
import warnings

import kubernetes_validate
import support
import yaml

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "packaging" / "kubernetes"
VERSION = "1.37"


def documents(name):
    return list(yaml.safe_load_all((FOLDER / name).read_text(encoding="utf-8")))


def valid(document):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kubernetes_validate.validate(document, VERSION, strict=True)


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
        # KServe's schema has Kubernetes' own containers in it.
        valid({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": runtime["spec"]["containers"]}})

    def test_a_wrong_file_is_seen(self):
        document = documents("octavo.yaml")[1]
        document["spec"]["template"]["spec"]["containers"][0]["readinessProbe"]["path"] = "/ready"
        with self.assertRaises(kubernetes_validate.ValidationError):
            valid(document)

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
