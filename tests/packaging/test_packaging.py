#!/usr/bin/env python3
"""test_packaging.py TRANSLATE: what packaging/ and .devcontainer/ say agrees with itself and with the program. Nothing is
built: packaging/container/root.py and packaging/check.sh do that."""
import importlib.util
import json
import pathlib
import re
import shlex
import subprocess
import sys
import unittest

try:
    import yaml
except ImportError:
    yaml = None

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CONTAINER = ROOT / "packaging/container"
spec = importlib.util.spec_from_file_location("container_root", CONTAINER / "root.py")
sys.dont_write_bytecode = True
container_root = importlib.util.module_from_spec(spec)
spec.loader.exec_module(container_root)


def settings():
    """The variables that translate serve reads."""
    text = subprocess.run([TOOL, "serve", "--help"], check=True, capture_output=True, encoding="utf-8").stdout
    names = re.findall(r"^ {2}(?:-\w, | {4})--([\w-]+)", text, re.M)
    return {f"TRANSLATE_{name.upper().replace('-', '_')}" for name in names}


class Dockerfile(unittest.TestCase):
    def setUp(self):
        self.stages = container_root.read_stages((CONTAINER / "Dockerfile").read_text(encoding="utf-8"))
        self.image = self.stages["image"]

    def test_copies_are_in_the_context(self):
        files = container_root.context()
        for stage in self.stages.values():
            for words in (shlex.split(rest) for word, rest in stage.steps if word == "COPY"):
                if words[0].startswith("--from="):
                    self.assertIn(words[0].partition("=")[2], self.stages)
                    continue
                for name in words[:-1]:
                    self.assertTrue(name == "." or name in files, name)
        self.assertLessEqual({"models/zh-en.gguf", "models/en-zh.gguf"}, set(files))
        self.assertFalse([f for f in files if f.startswith(("tests/", "build", "."))])

    def test_programs_and_lists_exist(self):
        lists = "\n".join(p.read_text(encoding="utf-8") for p in (ROOT / "tools").glob("*.sh"))
        for stage in self.stages.values():
            for command in (rest for word, rest in stage.steps if word == "RUN"):
                for script in re.findall(r"\b(?:tools|packaging)/\S+", command):
                    self.assertTrue((ROOT / script).stat().st_mode & 0o100, script)
                for name in shlex.split(command.partition("install_needs.sh")[2].partition("&&")[0]):
                    self.assertRegex(lists, rf"(?m)^{name}_needs=\(")

    def test_version(self):
        version = re.search(r"version: '([\d.]+)'", (ROOT / "meson.build").read_text(encoding="utf-8"))[1]
        self.assertIn(f'image.version="{version}"', self.image.last("LABEL"))
        self.assertIn(f"image: translate:{version}\n", (ROOT / "packaging/kubernetes/translate.yaml").read_text("utf-8"))
        self.assertIn(f"docker build -t translate -t translate:{version} ", (ROOT / "docs/packaging.md").read_text("utf-8"))

    def test_it_runs_without_rights(self):
        self.assertEqual(self.image.base, "scratch")
        self.assertRegex(self.image.last("USER"), r"^[1-9]\d*:[1-9]\d*$")
        self.assertIn(f"\nuser={self.image.last('USER').partition(':')[0]} ", (CONTAINER / "install.sh").read_text("utf-8"))

    def test_variables_are_settings(self):
        known = settings()
        for path in ["container/Dockerfile", "container/compose.yaml", "kubernetes/translate.yaml",
                     "systemd/translate.service.in"]:
            names = set(re.findall(r"\bTRANSLATE_\w+(?==|:|, value)", (ROOT / "packaging" / path).read_text("utf-8")))
            self.assertLessEqual(names, known, path)
            self.assertTrue(names, path)

    def test_development_container(self):
        at = ROOT / ".devcontainer"
        build = json.loads((at / "devcontainer.json").read_text(encoding="utf-8"))["build"]
        self.assertTrue((at / build["dockerfile"]).is_file())
        self.assertTrue((at / build["context"] / "meson.build").is_file())
        self.assertIn(build["target"], self.stages)


@unittest.skipUnless(yaml, "python3-yaml is not there")
class Manifests(unittest.TestCase):
    def setUp(self):
        stages = container_root.read_stages((CONTAINER / "Dockerfile").read_text(encoding="utf-8"))
        self.image = stages["image"]

    def test_compose(self):
        service = yaml.safe_load((CONTAINER / "compose.yaml").read_text(encoding="utf-8"))["services"]["translate"]
        context = (CONTAINER / service["build"]["context"]).resolve()
        self.assertTrue((context / service["build"]["dockerfile"]).is_file())
        folder = re.match(r"\$\{MODELS:-(.*?)\}", service["volumes"][0])[1]
        self.assertTrue(list((CONTAINER / folder).glob("*.gguf")))
        check = json.loads(self.image.last("HEALTHCHECK").partition("CMD ")[2])
        self.assertEqual(service["healthcheck"]["test"], ["CMD", *check])
        self.assertTrue(service["read_only"])
        self.assertEqual(service["cap_drop"], ["ALL"])

    def test_kubernetes(self):
        texts = (ROOT / "packaging/kubernetes/translate.yaml").read_text(encoding="utf-8")
        parts = {part["kind"]: part for part in yaml.safe_load_all(texts)}
        pod = parts["Deployment"]["spec"]["template"]
        box = pod["spec"]["containers"][0]
        self.assertEqual(f"{pod['spec']['securityContext']['runAsUser']}:{pod['spec']['securityContext']['runAsGroup']}",
                         self.image.last("USER"))
        self.assertFalse(pod["spec"]["enableServiceLinks"])
        port = box["ports"][0]
        self.assertEqual(str(port["containerPort"]), self.image.last("EXPOSE"))
        sources = "\n".join(p.read_text(encoding="utf-8") for p in (ROOT / "src/serve").glob("*.c"))
        for probe in ("livenessProbe", "readinessProbe"):
            self.assertEqual(box[probe]["httpGet"]["port"], port["name"])
            self.assertIn(f'"GET", "{box[probe]["httpGet"]["path"]}"', sources)
        metric = parts["HorizontalPodAutoscaler"]["spec"]["metrics"][0]["pods"]["metric"]["name"]
        self.assertIn(f'"{metric}"', sources)
        grace = next(int(v["value"]) for v in box["env"] if v["name"] == "TRANSLATE_GRACE")
        stop = box["lifecycle"]["preStop"]["sleep"]["seconds"]
        self.assertGreater(pod["spec"]["terminationGracePeriodSeconds"], grace + stop)
        labels = pod["metadata"]["labels"]
        for kind, where in (("Service", ["selector"]), ("Deployment", ["selector", "matchLabels"]),
                            ("PodDisruptionBudget", ["selector", "matchLabels"]),
                            ("NetworkPolicy", ["podSelector", "matchLabels"])):
            chosen = parts[kind]["spec"]
            for key in where:
                chosen = chosen[key]
            self.assertEqual(chosen, labels, kind)
        if parts["HorizontalPodAutoscaler"]["spec"]["maxReplicas"] > 1:  # a document is in the memory of one pod
            self.assertEqual(parts["Service"]["spec"]["sessionAffinity"], "ClientIP")
        self.assertEqual(parts["NetworkPolicy"]["spec"]["policyTypes"], ["Ingress", "Egress"])
        self.assertNotIn("egress", parts["NetworkPolicy"]["spec"])


if __name__ == "__main__":
    TOOL = sys.argv.pop(1)
    unittest.main()
