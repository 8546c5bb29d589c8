#!/usr/bin/env python3
"""Makes the root of an image without a container engine: does the steps of the Dockerfile in roots made with mmdebstrap.
Needs Debian's mmdebstrap, and root; an architecture other than this machine's also qemu-user-static and binfmt_misc.

root.py FOLDER                        the last stage, in FOLDER/image; of the files that .dockerignore leaves of this tree
root.py FOLDER --stage development    another stage, in FOLDER/development
root.py FOLDER --check                starts the image's command in FOLDER/image as an engine would, read-only and without
                                      rights, asks it, and prints what it takes
Stages that are there already are kept, and after a failure the last step is done again; remove FOLDER to begin anew.
"""
import argparse
import fnmatch
import http.client
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import time

PROJECT = pathlib.Path(__file__).resolve().parent.parent.parent
DOCKERFILE = PROJECT / "packaging/container/Dockerfile"
TEXTS = ["今天天气很好", "你叫什么名字？", "我们明天早上八点在火车站见面。", "这本书我已经看了三遍，还想再看一遍。",
         "会议推迟到下周二下午两点。", "请把窗户打开，房间里太热了。", "他在北京工作，每个月回家一次。", "价格是二十五元。"]

# What an engine gives a container: its own mounts and process ids, /proc, and a /dev with the usual devices. $1: the root,
# $2: ro or rw, then the command, which runs outside of the root but for chroot.
ENTER = r"""
set -eu
root=$1 mode=$2
shift 2
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys" # with the limits of cgroups
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
for device in full null random tty urandom zero; do
    : >"$root/dev/$device"
    mount --bind "/dev/$device" "$root/dev/$device"
done
ln -s /proc/self/fd "$root/dev/fd"
if [ "$mode" = rw ]; then
    : >>"$root/etc/resolv.conf"
    mount --bind /etc/resolv.conf "$root/etc/resolv.conf"
else
    mount -o remount,bind,ro "$root"
fi
exec "$@"
"""
NAMESPACES = ["unshare", "--mount", "--pid", "--ipc", "--uts", "--fork", "--kill-child", "sh", "-c", ENTER, "sh"]


class Stage:
    def __init__(self, name, base):
        self.name, self.base, self.steps = name, base, []

    def last(self, word, default=""):
        return ([rest for w, rest in self.steps if w == word] or [default])[-1]

    def environment(self):
        """Of ENV alone, over what the base has."""
        env = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
        env |= {k: v for k, v in os.environ.items() if k.lower().endswith("_proxy")}
        for word, rest in self.steps:
            if word == "ENV":
                name, value = rest.split("=", 1)
                env[name] = re.sub(r"\$(\w+)", lambda m: env.get(m[1], ""), value)
        return env


def read_stages(text):
    """The stages of a Dockerfile, by name; the last is named image."""
    stages = {}
    text = re.sub(r"^#.*\n", "", text, flags=re.M).replace("\\\n", " ")
    for line in filter(None, map(str.strip, text.splitlines())):
        word, rest = line.split(None, 1)
        if word == "FROM":
            base, _, name = re.fullmatch(r"(\S+)( AS (\S+))?", rest).groups()
            stage = Stage(name or "image", base)
            if base in stages:
                stage.steps += stages[base].steps
            stage.inherited = len(stage.steps)
            stages[stage.name] = stage
        else:
            stage.steps.append((word, rest.strip()))
    return stages


def context():
    """The names of the files that .dockerignore leaves."""
    lines = [line for line in (PROJECT / ".dockerignore").read_text().split("\n") if line and not line.startswith("#")]

    def is_left_out(name):
        out = False
        parts = name.split("/")
        for line in lines:
            pattern = line.lstrip("!").strip("/")
            if pattern.startswith("**/"):
                matches = any(fnmatch.fnmatchcase(part, pattern[3:]) for part in parts)
            else:  # a folder with all that is in it
                wanted = pattern.split("/")
                matches = len(parts) >= len(wanted) and all(map(fnmatch.fnmatchcase, parts, wanted))
            out = not line.startswith("!") if matches else out
        return out
    tops = {line[1:].strip("/").split("/")[0] for line in lines if line.startswith("!")}
    files = (p for top in sorted(tops) for p in [PROJECT / top, *(PROJECT / top).rglob("*")] if p.is_file())
    return [name for name in (p.relative_to(PROJECT).as_posix() for p in files) if not is_left_out(name)]


class Maker:
    def __init__(self, folder, architecture):
        self.folder, self.architecture = folder, architecture
        self.stages = read_stages(DOCKERFILE.read_text(encoding="utf-8"))

    def make(self, name):
        root = self.folder / name
        if root.exists():
            return root
        stage = self.stages[name]
        new, done = self.folder / f"{name}.new", self.folder / f"{name}.done"
        if not done.exists():
            shutil.rmtree(new, ignore_errors=True)
            self.begin(stage.base, new)
            done.write_text(str(stage.inherited))
        place = pathlib.PurePosixPath("/")
        for number, (word, rest) in enumerate(stage.steps):
            if word == "WORKDIR":
                place /= rest
                (new / str(place).lstrip("/")).mkdir(parents=True, exist_ok=True)
            if number < int(done.read_text()):
                continue
            if word == "COPY":
                self.copy(new, place, shlex.split(rest))
            elif word == "RUN":
                print(f"{name}: {' '.join(rest.split())}", flush=True)
                self.run(stage, new, place, rest)
            done.write_text(str(number + 1))
        new.rename(root)
        done.unlink()
        return root

    def begin(self, base, root):
        if base == "scratch":
            root.mkdir(parents=True)
            return
        if base in self.stages:
            subprocess.run(["cp", "-a", "--reflink=auto", self.make(base), root], check=True)
            return
        suite = re.fullmatch(r"debian:(\w+)-slim", base)[1]
        tar = self.folder / f"{suite}.tar"
        if not tar.exists():
            print(f"mmdebstrap {suite}", flush=True)
            command = ["mmdebstrap", "--quiet", "--variant=minbase", f"--architectures={self.architecture}", suite, tar]
            subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
        root.mkdir()
        subprocess.run(["tar", "-C", root, "-xf", tar, "--exclude=./dev/*"], check=True)

    def copy(self, root, place, words):
        target = root / str(place / words[-1]).lstrip("/")
        if words[0].startswith("--from="):
            source = self.make(words[0].partition("=")[2]) / words[1].lstrip("/")
            subprocess.run(["cp", "-a", f"{source}/.", target], check=True)
            return
        files = context()
        for word in words[:-1]:
            chosen = files if word == "." else [f for f in files if f == word]
            if not chosen:
                sys.exit(f"COPY {word}: .dockerignore leaves nothing of it")
            for name in chosen:
                to = target / (name if word == "." else pathlib.Path(name).name)
                to.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(PROJECT / name, to)

    @staticmethod
    def run(stage, root, place, command):
        inside = ["chroot", root, "/bin/sh", "-c", f"cd {place} && {command}"]
        subprocess.run([*NAMESPACES, root, "rw", *inside], check=True, env=stage.environment(), stdin=subprocess.DEVNULL)


class Container:
    """The image's command, as it runs in the root."""

    def __init__(self, stage, root):
        for name in ("proc", "sys", "dev"):
            (root / name).mkdir(exist_ok=True)
        with socket.create_server(("127.0.0.1", 0)) as s:
            self.port = s.getsockname()[1]
        self.root, self.env = root, {**stage.environment(), "TRANSLATE_PORT": str(self.port)}
        self.inside = ["setpriv", "--no-new-privs", "--bounding-set=-all,+sys_chroot,+setuid,+setgid", "chroot",
                       f"--userspec={stage.last('USER')}", root, *json.loads(stage.last("ENTRYPOINT"))]
        self.started = time.monotonic()
        command = json.loads(stage.last("CMD"))
        self.process = subprocess.Popen([*NAMESPACES, root, "ro", *self.inside, *command], env=self.env,
                                        stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def ask(self, method, path, body=None, kind="application/json"):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request(method, path, json.dumps(body) if isinstance(body, dict) else body, {"Content-Type": kind})
        answer = connection.getresponse()
        return answer.status, answer.read()

    def translate_document(self, path):
        """The size of the translation, or what went wrong."""
        fields = "".join(f'--part\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
                         for name, value in (("source", "zh"), ("target", "en")))
        head = f'--part\r\nContent-Disposition: form-data; name="file"; filename="{path.name}"\r\n\r\n'
        body = fields.encode() + head.encode() + path.read_bytes() + b"\r\n--part--\r\n"
        status, answer = self.ask("POST", "/translate_file", body, "multipart/form-data; boundary=part")
        if status != 200:
            return answer.decode()
        return len(self.ask("GET", "/" + json.loads(answer)["translatedFileUrl"].split("/", 3)[3])[1])

    def wait(self):
        """Seconds from the start of the first process to /ready."""
        while True:
            try:
                if self.ask("GET", "/ready")[0] == 200:
                    return time.monotonic() - self.started
            except OSError:
                pass
            if self.process.poll() is not None or time.monotonic() - self.started > 120:
                sys.exit("the server does not start")
            time.sleep(0.002)

    def pid(self):
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return int(children[0])

    def memory(self):
        text = pathlib.Path(f"/proc/{self.pid()}/smaps_rollup").read_text()
        return {name: int(re.search(rf"^{name}: +(\d+) kB", text, re.M)[1]) / 1000 for name in ("Rss", "Pss", "Anonymous")}

    def status(self, *names):
        text = pathlib.Path(f"/proc/{self.pid()}/status").read_text()
        return {name: re.search(rf"^{name}:\t(.*)", text, re.M)[1] for name in names}

    def run(self, *arguments):
        """The status and output of the image's program, beside the server."""
        command = ["nsenter", f"--target={self.pid()}", "--mount", "--pid", *self.inside, *arguments]
        r = subprocess.run(command, env=self.env, check=False, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        return r.returncode, r.stdout.decode().rstrip()

    def end(self):
        os.kill(self.pid(), signal.SIGTERM)
        return self.process.wait(timeout=60)


def check(stage, root):
    size = sum(p.lstat().st_size for p in root.rglob("*") if p.is_file() and not p.is_symlink())
    print(f"root: {size / 1e6:.1f} MB in {sum(1 for p in root.rglob('*') if p.is_file())} files")
    times = []
    for _ in range(9):
        container = Container(stage, root)
        times.append(container.wait())
        container.end()
    print(f"start to /ready: {statistics.median(times) * 1000:.0f} ms, at least {min(times) * 1000:.0f}")
    container = Container(stage, root)
    good = []

    def show(what, result, works):
        print(f"{what}: {result}{'' if works else ' (FAILED)'}", flush=True)
        good.append(works)
    try:
        container.wait()
        status, _ = container.run("serve", "--health")
        show("translate serve --health", status, status == 0)
        process = container.status("Uid", "CapPrm", "NoNewPrivs", "Seccomp")
        show("process", process, process["CapPrm"].strip("0") == "" and not process["Uid"].startswith("0"))
        print("memory before the first text, MB:", container.memory())
        started = time.monotonic()
        status, answer = container.ask("POST", "/translate", {"q": TEXTS[0], "source": "zh", "target": "en"})
        show("first text", f"{(time.monotonic() - started) * 1000:.0f} ms, {answer.decode()}", status == 200)
        many = [container.ask("POST", "/v1/translate", {"text": text, "source": "zh", "target": "en"}) for text in TEXTS * 4]
        show("texts", len(many), all(status == 200 for status, _ in many))
        print("memory after them, MB:", container.memory())
        status, answer = container.ask("POST", "/translate", {"q": "<b>你好</b>", "source": "auto", "target": "en",
                                                              "format": "html"})
        show("HTML, detected", answer.decode(), status == 200)
        size = container.translate_document(PROJECT / "examples/documents/report.docx")
        show("size of a document", size, isinstance(size, int))
        print("memory after the document, MB:", container.memory())
        status, answer = container.ask("GET", "/")
        show("the page", f"{len(answer)} bytes", status == 200 and answer.lower().startswith(b"<!doctype html"))
        result = container.run(TEXTS[0])
        show("the command", result, result[0] == 0)
    finally:
        status = container.end()
    show("end", status, status == 0)
    sys.exit(not all(good))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--stage", default="image")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--architecture", help="as Debian names it; default: this machine's")
    o = parser.parse_args()
    o.folder.mkdir(parents=True, exist_ok=True)
    architecture = o.architecture or subprocess.run(["dpkg", "--print-architecture"], check=True, capture_output=True,
                                                    encoding="utf-8").stdout.strip()
    maker = Maker(o.folder.resolve(), architecture)
    root = maker.make(o.stage)
    if o.check:
        check(maker.stages[o.stage], root)


if __name__ == "__main__":
    main()
