"""Completion in real shells: what the TAB key offers. A shell that is not installed is skipped."""
import os
import pathlib
import shutil
import subprocess

from support import CommandTest, Terminal

PACKAGE = pathlib.Path("/usr/share/bash-completion/bash_completion")

# A command line up to the cursor, what must be among the offers, what must not.
CASES = [
    ("translate ben", ["bench"], ["info"]),
    ("translate --comp", ["--compute", "--completion"], ["--json"]),
    ("translate --compute ", ["auto", "f32", "f16", "bf16", "int8"], ["on"]),
    ("translate --compute bf", ["bf16"], ["f16"]),
    ("translate --protect ", ["on", "off"], ["auto"]),
    ("translate --completion f", ["fish"], ["bash"]),
    ("translate bench --fix", ["--fixed-length"], ["--force"]),
    ("translate bench --compute i", ["int8"], ["f16"]),
    ("translate convert --fo", ["--force"], ["--forbid"]),
    ("translate convert --allowed ", ["script", "off"], ["auto"]),
    ("translate serve --up", ["--upload-limit"], ["--url-prefix"]),
    ("translate serve --glossaries ", ["folder"], ["data.txt"]),
    ("translate serve --api-keys da", ["data.txt"], ["folder"]),
    ("translate info da", ["data.txt"], ["folder"]),
    ("translate -i da", ["data.txt"], ["folder"]),
    ("translate -m fol", ["folder"], ["data.txt"]),
    ("translate --models ", ["folder"], ["data.txt"]),
    ("translate --shortlist ", ["auto", "off", "data.txt"], ["on"]),
]
EQUALS = [("translate --compute=bf", ["bf16"], ["f16"]), ("translate --models=", ["folder"], ["data.txt"])]


class Completion(CommandTest):
    def setUp(self):
        super().setUp()
        self.file("data.txt", b"x\n")
        (self.folder / "folder").mkdir()
        (self.folder / "home").mkdir()

    def script(self, shell, name):
        return self.file(name, self.good("--completion", shell))

    def environment(self, **more):
        return {"HOME": str(self.folder / "home"), "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "TERM": "dumb",
                **{name: str(value) for name, value in more.items()}}

    def need(self, *programs):
        for program in programs:
            if not shutil.which(program):
                self.skipTest(f"{program} is not installed")

    def run_shell(self, *command, **more):
        r = subprocess.run(command, capture_output=True, cwd=self.folder, env=self.environment(**more), timeout=60)
        self.assertEqual((r.returncode, r.stderr.decode()), (0, ""), command)
        return r.stdout.decode()

    def check(self, offers, cases):
        for line, there, absent in cases:
            offered = {o.rstrip("/") for o in offers(line)}
            self.assertLessEqual(set(there), offered, (line, offered))
            self.assertFalse(set(absent) & offered, (line, offered))

    def terminal(self, command, **more):
        terminal = Terminal()
        self.addCleanup(terminal.close)
        p = subprocess.Popen(command, stdin=terminal.slave, stdout=terminal.slave, stderr=terminal.slave, cwd=self.folder,
                             env=self.environment(**more), start_new_session=True)
        self.addCleanup(p.wait)
        self.addCleanup(p.kill)
        terminal.close_slave()
        return terminal

    def type(self, terminal, keys, until):
        os.write(terminal.master, keys.encode())
        self.assertIn(until.encode(), terminal.read(until=until.encode(), seconds=60))

    def bash_offers(self, line):
        """Bash itself splits a line at = as well."""
        words = line.replace("=", " = ").split(" ")
        words = words[:-1] if line.endswith("=") else words
        quoted = " ".join(f"'{w}'" for w in words)
        return self.run_shell("bash", "--norc", "-c", f". ./translate.bash; COMP_WORDS=({quoted}); "
                              "COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _translate; "
                              "printf '%s\\n' \"${COMPREPLY[@]}\"").splitlines()

    def test_bash(self):
        self.script("bash", "translate.bash")
        self.check(self.bash_offers, CASES + EQUALS)

    def test_bash_with_the_tab_key(self):
        """As bash is on its own, without the package bash-completion."""
        self.script("bash", "translate.bash")
        terminal = self.terminal(["bash", "--norc", "--noprofile", "-i"], PS1="ready> ")
        self.type(terminal, ". ./translate.bash; PS1='done> '\n", "\r\ndone> ")
        self.type(terminal, "translate --compute=bf\t", "--compute=bf16 ")
        self.type(terminal, "-i da\t", "-i data.txt ")
        self.type(terminal, "--protect o\t\t", "off")

    def test_bash_completion_loads_it(self):
        """The package finds the file where it is installed, when the command is first completed."""
        if not PACKAGE.exists():
            self.skipTest("bash-completion is not installed")
        (self.folder / "share/bash-completion/completions").mkdir(parents=True)
        self.script("bash", "share/bash-completion/completions/translate.bash")
        terminal = self.terminal(["bash", "--norc", "--noprofile", "-i"], PS1="ready> ",
                                 XDG_DATA_DIRS=self.folder / "share")
        self.type(terminal, f". {PACKAGE}; PS1='done> '\n", "\r\ndone> ")
        self.type(terminal, "translate --compute=bf\t", "--compute=bf16 ")

    def test_zsh(self):
        """zsh completes only at a terminal: there a key lists what matches, and another one ends the line."""
        self.need("zsh")
        (self.folder / "functions").mkdir()
        self.script("zsh", "functions/_translate")
        terminal = self.terminal(["zsh", "-f", "-i"], PS1="ready> ", COLUMNS=200)
        setup = ("fpath=($PWD/functions $fpath); autoload -Uz compinit; compinit -u -D; unsetopt prompt_cr prompt_sp; "
                 "stty -echo columns 200; bindkey '^I' list-choices; bindkey '^X' kill-buffer; LISTMAX=1000; "
                 "PS1='do''ne> '\n")
        self.type(terminal, setup, "done> ")

        def offers(line):
            terminal.shown = b""
            self.type(terminal, f"{line}\t", "")
            self.type(terminal, "\x18print -r en''d\n", "end")
            return terminal.shown.decode().replace(line, "", 1).split()
        self.check(offers, [c for c in CASES if len(c[1]) > 1])

    def test_zsh_with_the_tab_key(self):
        self.need("zsh")
        self.script("zsh", "_translate")
        terminal = self.terminal(["zsh", "-f", "-i"], PS1="ready> ")
        self.type(terminal, "autoload -Uz compinit; compinit -u -D; . ./_translate; PS1='do''ne> '\n", "done> ")
        for line, there, _ in CASES + EQUALS:
            if len(there) == 1:
                terminal.shown = b""
                os.write(terminal.master, f"\x15{line}\t".encode())
                end = there[0].encode()
                terminal.read(until=end[end.startswith(b"--") * 2:], seconds=60)
                os.write(terminal.master, b"\x15")

    def test_fish(self):
        self.need("fish")
        self.script("fish", "translate.fish")

        def offers(line):
            shown = self.run_shell("fish", "--no-config", "-c", f"source translate.fish; complete -C '{line}'")
            return [row.split("\t")[0].split("=")[-1] for row in shown.splitlines()]
        self.check(offers, CASES + EQUALS)

    def test_descriptions_are_those_of_the_help(self):
        self.need("fish")
        self.script("fish", "translate.fish")
        shown = self.run_shell("fish", "--no-config", "-c", "source translate.fish; complete -C 'translate --targ'")
        self.assertEqual(shown, "--target\tlanguage of the output\n")
