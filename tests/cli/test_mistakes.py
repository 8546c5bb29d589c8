"""What newcomers get wrong, and what the command then says: the whole message, after "translate: "."""
import json
import os
import shlex

import support
from support import CommandTest, environment

WORD = "(for the word itself: translate -- {})"
PAIR = "this model translates zh to en; another model may do: translate pull Helsinki-NLP/opus-mt-{}, or --models DIR"
MISSING = "No such file or directory; "
TRY = " (try 'translate --help')"

# Command line after "translate", exit status, message. The folder holds zh.txt, b.txt, a.docx, a.pdf, a.png, notes.txt,
# my-model.gguf (a model) and out.gguf (a text); the cache holds no model.
MISTAKES = [
    # a command that is none
    ("trasnlate 你好", 2, "trasnlate: no such command, did you mean 'translate TEXT'? " + WORD.format("trasnlate")),
    ("translate 你好", 2, "translate: no such command, did you mean 'translate TEXT'? " + WORD.format("translate")),
    ("benhc", 2, "benhc: no such command, did you mean 'translate bench'? " + WORD.format("benhc")),
    ("benchmark", 2, "benchmark: no such command, did you mean 'translate bench'? " + WORD.format("benchmark")),
    ("inof my-model.gguf", 2, "inof: no such command, did you mean 'translate info'? " + WORD.format("inof")),
    ("pul Helsinki-NLP/opus-mt-zh-en", 2, "pul: no such command, did you mean 'translate pull'? " + WORD.format("pul")),
    ("convret in out.gguf", 2, "convret: no such command, did you mean 'translate convert'? " + WORD.format("convret")),
    ("-help", 2, "-help: long options have two dashes: --help" + TRY),
    ("-m my-model.gguf bench", 2, "bench: a command comes first: translate bench [OPTIONS] "
     "(for the word itself: -- bench)" + TRY),
    ("-s cn 你好", 2, "source language cn: this model translates zh to en; cn is no code of a language, "
     "did you mean zh?" + TRY),
    ("--overwrite 你好", 2, "--overwrite: unknown option, -o replaces an older file without it" + TRY),
    ("convert my-model.gguf --output out.gguf", 2, "--output: unknown option, the file to write is the second argument "
     "(try 'translate convert --help')"),
    ("help", 2, "help: no such command, did you mean 'translate -h'? " + WORD.format("help")),
    ("help bench", 2, "help: no such command, type translate bench -h"),
    ("version", 2, "version: no such command, did you mean 'translate -V'? " + WORD.format("version")),
    ("list", 2, "list: no such command, did you mean 'translate pull --list'? " + WORD.format("list")),
    ("server", 2, "server: no such command, did you mean 'translate serve'? " + WORD.format("server")),
    ("server --port 80", 2, "server: no such command, did you mean 'translate serve'? " + WORD.format("server")),
    ("serve 你好", 2, "你好: unexpected argument; usage: translate serve [OPTIONS] (try 'translate serve --help')"),
    # files where text should be
    ("zh.txt", 2, "zh.txt: is a file; its lines are read with: translate -i zh.txt " + WORD.format("zh.txt")),
    ("zh.txt b.txt", 2, "zh.txt, b.txt: are files; they are translated with: translate -O DIR zh.txt b.txt"),
    ("-i zh.txt b.txt", 2, "b.txt: is another file beside -i zh.txt; several are translated with: "
     "translate -O DIR zh.txt b.txt"),
    ("my-model.gguf", 2, "my-model.gguf: is a file; a model is given with -m: translate -m my-model.gguf TEXT"),
    ("tokenize zh.txt", 2, "zh.txt: is a file; its lines are read with: translate tokenize -i zh.txt "
     "(for the word itself: translate tokenize -- zh.txt)"),
    ("score zh.txt b.txt", 2, "zh.txt, b.txt: are files; their lines are scored with: paste zh.txt b.txt | translate score"),
    ("attention zh.txt -o view.html", 2, "zh.txt: is a file, where a sentence should be "
     "(for the word itself: translate attention -- zh.txt)"),
    ("-i zh.txt 你好", 2, "--input zh.txt: TEXT is given too; only one of them" + TRY),
    ("-i none.txt", 1, "none.txt: No such file or directory"),
    ("-i a.docx", 1, "a.docx: is not a zip archive, or truncated: its directory is missing"),
    ("-i a.pdf", 1, "a.pdf: is a PDF document: turn it into text first (pdftotext)"),
    ("-i a.png", 1, "a.png: is a PNG picture, not text"),
    ("-i my-model.gguf", 1, "my-model.gguf: is a model, not text: give it with -m"),
    ("-i zh.txt -o zh.txt", 2, "zh.txt: is the input and the output" + TRY),
    # models
    ("-m Helsinki-NLP/opus-mt-zh-en 你好", 1, "Helsinki-NLP/opus-mt-zh-en: " + MISSING +
     "from Hugging Face: hf:Helsinki-NLP/opus-mt-zh-en, or translate pull Helsinki-NLP/opus-mt-zh-en"),
    ("-m my_model.gguf 你好", 1, "my_model.gguf: " + MISSING + "there is my-model.gguf"),
    ("-m empty/none.gguf 你好", 1, "empty/none.gguf: " + MISSING + "translate pull OWNER/NAME downloads a model"),
    ("bench -m my-modle.gguf", 1, "my-modle.gguf: " + MISSING + "there is my-model.gguf"),
    ("convert Helsinki-NLP/opus-mt-zh-en new.gguf", 1, "Helsinki-NLP/opus-mt-zh-en: " + MISSING +
     "from Hugging Face: hf:Helsinki-NLP/opus-mt-zh-en, or translate pull Helsinki-NLP/opus-mt-zh-en"),
    ("-t fr 你好", 2, "target language fr: " + PAIR.format("zh-fr")),
    ("-t zh hello", 2, "target language zh: " + PAIR.format("en-zh")),
    ("-s en hello", 2, "source language en: " + PAIR.format("en-zh")),
    ("-s fra -t deu bonjour", 2, "source language fra: " + PAIR.format("fr-de")),
    ("pull Helsinki-NLP", 2, "Helsinki-NLP: is not the name of a repository, OWNER/NAME or OWNER/NAME@REVISION"
     " (try 'translate pull --help')"),
    # options of other programs
    ("--format json 你好", 1, "TEXT: line 1, column 1: expected a value (a JSON object for each line of output: --json)"),
    ("--format foo 你好", 2, "--format foo: is none of csv docx epub html json markdown odt po pptx srt text tsv vtt xliff "
     "xlsx xml yaml (a JSON object for each line of output: --json)" + TRY),
    ("'-5 degrees'", 2, "-5 degrees: unknown option; put -- before text that begins with a dash" + TRY),
    ("-天气很冷", 2, "-天气很冷: unknown option; put -- before text that begins with a dash" + TRY),
    ("--output-format json 你好", 2, "--output-format: unknown option, did you mean --json?" + TRY),
    ("bench --format json", 2, "--format: unknown option, did you mean --json? (try 'translate bench --help')"),
    ("--html '<b>你好</b>'", 2, "--html: unknown option, tags in a text are kept without an option (--protect on)" + TRY),
    ("--model-path my-model.gguf", 2, "--model-path: unknown option, did you mean --model?" + TRY),
    ("--src zh --tgt en 你好", 2, "--src: unknown option, did you mean --source?" + TRY),
    ("--tgt en 你好", 2, "--tgt: unknown option, did you mean --target?" + TRY),
    ("--lang en 你好", 2, "--lang: unknown option, did you mean --target?" + TRY),
    ("--to-lang en 你好", 2, "--to-lang: unknown option, did you mean --target?" + TRY),
    ("--beam-size 4 你好", 2, "--beam-size: unknown option, did you mean --beam?" + TRY),
    ("--beam_size=4 你好", 2, "--beam_size: unknown option, did you mean --beam?" + TRY),
    ("--num-threads 2 你好", 2, "--num-threads: unknown option, did you mean --threads?" + TRY),
    ("--file zh.txt", 2, "--file: unknown option, did you mean --input?" + TRY),
    ("-f zh.txt", 2, "-f: unknown option, did you mean --input?" + TRY),
    ("--device cuda 你好", 2, "--device: unknown option, it runs on the CPU, with the threads of -T" + TRY),
    ("--ouput en.txt 你好", 2, "--ouput: unknown option, did you mean --output?" + TRY),
    ("-x 你好", 2, "-x: unknown option" + TRY),
    # values
    ("--beam many 你好", 2, "--beam: 'many' is not a whole number from 1 to 64, or auto" + TRY),
    ("-b1 --n-best 4 你好", 2, "--n-best 4: more than --beam 1 finds; use --beam 4, --sample or --alternatives" + TRY),
    ("--compute int4 你好", 2, "--compute: 'int4' is not available, only auto|f32|f16|bf16|int8" + TRY),
    ("--resume -i zh.txt", 2, "--resume: needs --output FILE" + TRY),
    ("convert my-model.gguf out.gguf", 1, "out.gguf: exists and is not a model; --force replaces it all the same"),
    ("-i zh.txt -o my-model.gguf", 1, "my-model.gguf: is a model or a shortlist, which no text replaces; delete it, "
     "or name another file"),
]


class Mistakes(CommandTest):
    def setUp(self):
        super().setUp()
        for name in ("zh.txt", "b.txt"):
            self.file(name, "你好\n".encode())
        self.file("a.docx", b"PK\x03\x04" + b"x" * 100)
        self.file("a.pdf", b"%PDF-1.7\n" + b"x" * 100)
        self.file("a.png", b"\x89PNG\r\n\x1a\n" + b"x" * 100)
        self.file("notes.txt", b"notes\n")
        self.file("out.gguf", b"notes\n")
        (self.folder / "empty").mkdir()
        os.symlink(os.path.abspath(support.MODEL), self.folder / "my-model.gguf")
        env = environment(TRANSLATE_MODEL=os.path.abspath(support.MODEL), TRANSLATE_CACHE=str(self.folder / "cache"),
                          HF_ENDPOINT="http://127.0.0.1:1")
        self.here = {"env": env, "cwd": self.folder, "executable": os.path.abspath(support.TOOL)}

    def test_each_says_what_to_type(self):
        self.assertGreaterEqual(len(MISTAKES), 30)
        for line, status, says in MISTAKES:
            with self.subTest(line):
                self.assertEqual(self.bad(status, *shlex.split(line), **self.here), f"translate: {says}\n")

    def source(self, *words):
        return json.loads(self.good(*words, **self.here, warnings=True))["source"]

    def test_text_stays_text(self):
        """Sentences that begin like a command, or have the name of a file in them; and all that follows --."""
        (self.folder / "你好").write_text("x")
        for words in (["help", "me", "please"], ["list", "of", "things"], ["beach", "ball"], ["看", "zh.txt"], ["你好"],
                      ["read zh.txt"], ["branch", "5", "is", "broken"], ["books"]):
            self.assertEqual(self.source(*words, "--json", "-q"), " ".join(words))
        for words in (["help"], ["benhc"], ["zh.txt"], ["zh.txt", "b.txt"], ["translate", "你好"]):
            self.assertEqual(self.source("--json", "-q", "--", *words), " ".join(words))

    def test_without_a_network(self):
        said = self.bad(1, "pull", "Helsinki-NLP/opus-mt-zh-en", "--retries", "0", **self.here)
        self.assertIn("http://127.0.0.1:1: ", said)
        self.assertIn("; without a network here: 'translate pull Helsinki-NLP/opus-mt-zh-en -o DIR' elsewhere, copy DIR, "
                      "then -m DIR (HF_ENDPOINT: a mirror)", said)
