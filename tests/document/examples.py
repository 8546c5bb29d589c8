#!/usr/bin/env python3
"""examples.py TOOL MODEL [--update]: examples/documents/english is what the program makes of examples/documents."""
import os
import pathlib
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "examples" / "documents"


def main():
    tool, model = sys.argv[1:3]
    names = sorted(p.name for p in FOLDER.iterdir()
                   if p.is_file() and p.suffix != ".png" and p.name not in ("README.md", "mail.txt"))
    environment = {k: v for k, v in os.environ.items() if not k.startswith("TRANSLATE_")}
    different = []
    with tempfile.TemporaryDirectory() as out:
        files = [str(FOLDER / name) for name in names]
        subprocess.run([tool, "-m", model, "-O", out, *files], check=True, env=environment)
        subprocess.run([tool, "-m", model, "--paragraphs", "-i", FOLDER / "mail.txt", "-o", f"{out}/mail.txt"], check=True,
                       env=environment)
        for name in [*names, "mail.txt"]:
            made, kept = (pathlib.Path(out) / name).read_bytes(), FOLDER / "english" / name
            if "--update" in sys.argv:
                kept.parent.mkdir(exist_ok=True)
                kept.write_bytes(made)
            elif not kept.exists() or kept.read_bytes() != made:
                different.append(name)
    if different:
        sys.exit(f"examples/documents/english: these would be others now: {' '.join(different)}")
    print(f"{len(names) + 1} documents")


if __name__ == "__main__":
    main()
