#!/usr/bin/env python3
"""How far a reader must go to follow one sentence: translate "今天天气很好", default model, built with -O0.

  files    source files of src and include with at least one executed line (gcov). A header counts where code of its own
           ran, such as a static inline function; tables, types and prototypes have no lines that are executed.
  frames   the deepest stack of main's thread (-T 1) at the int8 matrix product inside the decoder (gdb): main is the
           first frame, the product the last. Functions that are always inlined are frames, too.
  climbs   calls of function pointers that go back up: pairs of call site and function called, seen while it runs
           (-finstrument-functions) where the disassembly has an indirect call. A call climbs if the file of the
           function called includes a header of the caller's file, itself or through the project's headers, and the
           two are not of one module. A .c file's headers are that of its own name and those that declare a function
           that it defines; a header's is itself. It climbs "by folder", counted apart, where that does not hold but
           some file in the folder of the function called includes a header in the caller's folder, another one. All
           others stay or go down, such as calls of a table of kernels. Calls from libraries are not counted.
  circles  circles of includes: strongly connected components of the files of src and include, where x.c and x.h are one
           module and macros that name a header count as includes.
  size     files, tokens and lines of C and C++ by folder (a comment is no token; strings, numbers and names are one
           each, directives count), and files and lines of Python and shell.

The build lies in ROOT/build-path and is kept: later runs build what has changed. path.py --json of two checkouts can be
compared, --root measures another one."""
import argparse
import bisect
import collections
import json
import os
import pathlib
import re
import subprocess
import sys

SENTENCE = "今天天气很好"
PRODUCT = "i8_matmul"  # multiplies int8
DECODER = "tr_decoder_forward"  # on the stack when it is the decoder that multiplies
WHAT = ("files", "frames", "climbs", "circles", "size")
FOLDERS = ("include", "examples", "tests", "tools", "bench")  # besides those of src
INSTRUMENTED = "--coverage -finstrument-functions"

# Notes each pair of function and call site once, and where in the function it was noted: elsewhere it was inlined.
HOOK = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum { MOST = 1 << 17 };
static struct call { void *at[3]; } calls[MOST]; /* function, where it was noted, call site */
static atomic_flag taken = ATOMIC_FLAG_INIT;
void __cyg_profile_func_enter(void *function, void *site)
{
    const struct call call = {{function, __builtin_return_address(0), site}};
    size_t i = ((uintptr_t)function * 31 + (uintptr_t)call.at[1] * 17 + (uintptr_t)site * 7) % MOST;
    while (atomic_flag_test_and_set(&taken)) { }
    while (calls[i].at[0] && memcmp(&calls[i], &call, sizeof call) != 0)
        i = (i + 1) % MOST;
    calls[i] = call;
    atomic_flag_clear(&taken);
}
void __cyg_profile_func_exit(void *function, void *site) { (void)function, (void)site; }
__attribute__((destructor)) static void write_calls(void)
{
    FILE *out = fopen(getenv("PATH_CALLS"), "w");
    for (size_t i = 0; i < MOST; i++, calls[i - 1].at[0] ? fputc('\n', out) : 0)
        for (int k = 0; k < 3 && calls[i].at[0]; k++) {
            Dl_info of = {0};
            dladdr(calls[i].at[k], &of);
            fprintf(out, "%jx %s %s ", (uintmax_t)((char *)calls[i].at[k] - (char *)of.dli_fbase),
                    of.dli_fname ? strrchr(of.dli_fname, '/') + 1 : "?", of.dli_sname ? of.dli_sname : "?");
        }
    fclose(out);
}
"""


def output(*command, **more):
    """What a command writes; the end if it fails."""
    try:
        done = subprocess.run([str(c) for c in command], capture_output=True, encoding="utf-8", **more)
    except FileNotFoundError as error:
        sys.exit(f"{error.filename}: not found")
    if done.returncode != 0:
        said = (done.stdout + done.stderr)[-3000:]
        sys.exit(f"{' '.join(map(str, command[:3]))} ...: status {done.returncode}\n{said}")
    return done.stdout


def build(root):
    folder = root / "build-path"
    if not (folder / "build.ninja").exists():
        output("meson", "setup", "--buildtype=debug", "-Ddefault_library=static", "-Dtests=false", "-Dbench=false",
               f"-Dc_args={INSTRUMENTED}", f"-Dcpp_args={INSTRUMENTED}", "-Dc_link_args=--coverage",
               "-Dcpp_link_args=--coverage", folder, root)
    output("ninja", "-C", folder, "-j2", "translate")
    return folder


def translate(folder, threads):
    """Runs the program once: its coverage and its calls lie in the build folder then."""
    for old in folder.rglob("*.gcda"):
        old.unlink()
    (folder / "hook.c").write_text(HOOK)
    output("gcc", "-O1", "-shared", "-fPIC", "-o", folder / "hook.so", folder / "hook.c")
    env = dict(os.environ, LD_PRELOAD=str(folder / "hook.so"), PATH_CALLS=str(folder / "calls.txt"))
    output(folder / "translate", "-T", threads, SENTENCE, env=env)


def in_project(root, name):
    """A file's name from the root on, or None if it is not one of src or include."""
    path = pathlib.Path(os.path.normpath(root / "build-path" / name))
    own = any(path.is_relative_to(root / top) for top in ("src", "include"))
    return str(path.relative_to(root)) if own else None


def sources(root, *tops):
    return {str(p.relative_to(root)): p.read_text(encoding="utf-8")
            for top in tops for p in sorted((root / top).rglob("*")) if p.suffix in (".c", ".h", ".cc")}


def files(root, folder):
    executed = collections.defaultdict(set)
    data = sorted(folder.rglob("*.gcda"))
    for line in output("gcov", "--json-format", "--stdout", *data, cwd=folder).splitlines():
        for file in json.loads(line)["files"]:
            name = in_project(root, file["file"])
            if name:
                executed[name].update(row["line_number"] for row in file["lines"] if row["count"] > 0)
    return {name: len(lines) for name, lines in sorted(executed.items()) if lines}


def frames(root, folder, product, decoder):
    script = folder / "frames.gdb"
    script.write_text("set debuginfod enabled off\nset width 0\nset print frame-arguments none\n"
                      "set startup-with-shell off\nset print thread-events off\n"
                      f"break {product}\ncommands\nsilent\nbt\ncontinue\nend\nrun\n")
    env = {k: v for k, v in os.environ.items() if k not in ("LINES", "COLUMNS")}
    text = output("gdb", "-nx", "-batch", "-x", script, "--args", folder / "translate", "-T", "1", SENTENCE, env=env)
    deepest = []
    for stack in re.split(r"^(?=#0 )", text, flags=re.MULTILINE)[1:]:
        found = re.findall(r"^#\d+ +(?:0x[0-9a-f]+ in )?(.+?) \(.*\) at (.+):(\d+)$", stack, flags=re.MULTILINE)
        names = [name for name, _, _ in found]
        if decoder in names and names[-1] == "main" and len(found) > len(deepest):
            deepest = found
    if not deepest:
        sys.exit(f"no stack from main over {decoder} to {product}: name them with --decoder and --product")
    return [[name, f"{in_project(root, file) or file}:{line}"] for name, file, line in reversed(deepest)]


def includes(root, texts):
    """The project's headers that each file includes. Also those that a macro names, for #include MACRO."""
    found = {}
    for name, text in texts.items():
        near = (pathlib.Path(name).parent, pathlib.Path("src"), pathlib.Path("include"))
        named = re.findall(r'^\s*#\s*(?:include|define\s+\w+)\s+["<]([^">]+\.h)[">]', text, flags=re.MULTILINE)
        paths = (next((p for d in near if (p := os.path.normpath(d / header)) in texts), None) for header in named)
        found[name] = {p for p in paths if p}
    return found


def module(name):
    return os.path.splitext(name)[0]


def folder_of(name):
    return "/".join(name.split("/")[:2])


def closure(start, graph):
    """All that start leads to; itself only in a circle."""
    seen, todo = set(), [start]
    while todo:
        for to in graph.get(todo.pop(), set()) - seen:
            seen.add(to)
            todo.append(to)
    return seen


def circles(graph):
    """Strongly connected components of more than one module."""
    edges = collections.defaultdict(set)
    for name, headers in graph.items():
        edges[module(name)] |= {module(h) for h in headers}
    reach = {node: closure(node, edges) for node in list(edges)}
    found = {tuple(sorted(other for other in reach[node] if node in reach[other])) for node in reach}
    return sorted(list(c) for c in found if len(c) > 1)


def belonging(texts):
    """The headers of each file: see climbs above."""
    def outer(end, text):
        start = r"^(?!static\b|typedef\b|TR_INLINE\b)[A-Za-z_][\w *]*?\b(\w+)\("
        return set(re.findall(start + "[^;{}]*" + end, text, re.MULTILINE))

    declared = {h: outer(";", text) for h, text in texts.items() if h.endswith(".h")}
    found = {h: {h} for h in declared}
    for name in texts.keys() - declared.keys():
        defined = outer(r"\)\n\{", texts[name])
        found[name] = {h for h, names in declared.items() if module(h) == module(name) or names & defined}
    return found


def disassembled(program):
    """Where functions begin, and where indirect calls return to."""
    starts, returns, indirect = [], set(), False
    command = ["objdump", "-d", "--no-show-raw-insn", str(program)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8") as objdump:
        for line in objdump.stdout:
            if line.endswith(">:\n"):
                starts.append(int(line.split()[0], 16))
            elif line.startswith(" "):
                if indirect:
                    returns.add(int(line[:line.index(":")], 16))
                indirect = "call" in line and re.search(r"\tcall\w*\s+\*", line) is not None
    return starts, returns


def places(program, addresses):
    """Function, file and line of each address."""
    lines = output("addr2line", "-f", "-C", "-e", program, input="".join(f"{a:x}\n" for a in addresses)).splitlines()
    split = (re.match(r"(.*):(\d+|\?)", place).groups() for place in lines[1::2])
    return {a: (name, *place) for a, name, place in zip(addresses, lines[::2], split)}


def climbs(root, folder, texts, graph):
    program = folder / "translate"
    starts, returns = disassembled(program)
    calls = []
    for line in (folder / "calls.txt").read_text().splitlines():
        function, _, _, inside, _, _, site, site_object, site_symbol = line.split()
        function, inside, site = (int(a, 16) for a in (function, inside, site))
        own = site_object == program.name
        if starts[bisect.bisect_right(starts, inside) - 1] == function and (not own or site in returns):
            calls.append((function, site - 1 if own else None, f"{site_symbol} of {site_object}"))
    at = places(program, sorted({a for function, site, _ in calls for a in (function, site)} - {None}))
    headers = belonging(texts)
    folders = {(folder_of(name), folder_of(header)) for name, included in graph.items() for header in included}
    found = {"up": set(), "by folder": set(), "other": set(), "libraries": set()}
    for function, site, library in calls:
        callee, file, _ = at[function]
        file = in_project(root, file)
        if not file or callee == "main":
            continue
        caller, caller_file, line = at[site] if site else (library, "/", "")
        caller_file = in_project(root, caller_file)
        if not caller_file:
            found["libraries"].add((caller, f"{callee} ({file})"))
            continue
        kind = "other"
        if module(file) != module(caller_file) and headers[caller_file] & closure(file, graph):
            kind = "up"
        elif folder_of(file) != folder_of(caller_file) and (folder_of(file), folder_of(caller_file)) in folders:
            kind = "by folder"
        found[kind].add((f"{caller} ({caller_file}:{line})", f"{callee} ({file})"))
    return {kind: sorted(pairs) for kind, pairs in found.items()}


TOKEN = re.compile(r"""
    (?P<comment>//[^\n]*|/\*.*?\*/) | (?<=include)[ ]<[^>\n]+> | (?P<space>\s+)
  | (?:u8|[uUL])?R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)" | (?:u8|[uUL])?"(?:\\.|[^"\\\n])*" | [uUL]?'(?:\\.|[^'\\\n])+'
  | [A-Za-z_]\w* | \.?\d(?:[eEpP][+-]|[\w.'])*
  | \.\.\.|<<=|>>=|->|\+\+|--|<<|>>|[<>=!+\-*/%&|^]=|&&|\|\||\#\#|:: | .""", re.VERBOSE | re.DOTALL)


def tokens(text):
    return sum(not (m["comment"] or m["space"]) for m in TOKEN.finditer(text.replace("\\\n", "")))


def size(root):
    rows = {}
    for folder in sorted(str(p.relative_to(root)) for p in (root / "src").iterdir() if p.is_dir()) + list(FOLDERS):
        texts = sources(root, folder)
        scripts = [p.read_text(encoding="utf-8") for p in (root / folder).rglob("*") if p.suffix in (".py", ".sh")]
        rows[folder] = [len(texts), sum(map(tokens, texts.values())), sum(t.count("\n") for t in texts.values()),
                        len(scripts), sum(s.count("\n") for s in scripts)]
    rows["all of src"] = [sum(n) for n in zip(*(row for name, row in rows.items() if name.startswith("src/")))]
    return rows


def show(results, verbose):
    if "files" in results:
        print(f"files    {len(results['files']):5}   executed, {sum(results['files'].values())} lines")
        folders = collections.defaultdict(list)
        for name, lines in results["files"].items():
            folders[os.path.dirname(name)].append((os.path.basename(name), lines))
        for folder, rows in folders.items() if verbose else ():
            print(f"  {folder} ({len(rows)} files, {sum(n for _, n in rows)} lines):",
                  ", ".join(f"{name} {n}" for name, n in rows))
    if "frames" in results:
        print(f"frames   {len(results['frames']):5}   from main to the product")
        for i, (name, place) in enumerate(results["frames"], 1):
            print(f"  {i:2} {name:30} {place}")
    if "climbs" in results:
        c = results["climbs"]
        print(f"climbs   {len(c['up']):5}   and {len(c['by folder'])} by folder; {len(c['other'])} stay or go down, "
              f"{len(c['libraries'])} from libraries")
        for kind in c if verbose else ():
            print(f"  {kind}", *(f"    {caller} -> {callee}" for caller, callee in c[kind]), sep="\n")
    if "circles" in results:
        print(f"circles  {len(results['circles']):5}   of includes")
        for members in results["circles"]:
            print(f"  {' '.join(members)}")
    if "size" in results:
        print(f"{'size':16}{'C files':>9}{'tokens':>9}{'lines':>9}{'scripts':>9}{'lines':>9}")
        for name, row in results["size"].items():
            print(f"{name:16}" + "".join(f"{n:9}" for n in row))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", metavar="WHAT", help=f"{', '.join(WHAT)}; default: all")
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent,
                        metavar="DIR", help="the checkout to measure; default: this one")
    parser.add_argument("--threads", default="1", metavar="N", help="of the run for files and climbs (default 1)")
    parser.add_argument("--product", default=PRODUCT, metavar="NAME", help=f"for frames (default {PRODUCT})")
    parser.add_argument("--decoder", default=DECODER, metavar="NAME", help=f"for frames (default {DECODER})")
    parser.add_argument("--json", action="store_true", help="everything, as JSON")
    parser.add_argument("-v", "--verbose", action="store_true", help="files and calls one by one")
    o = parser.parse_args()
    if unknown := set(o.what) - set(WHAT):
        parser.error(f"{', '.join(sorted(unknown))}: not one of {', '.join(WHAT)}")
    root, what = o.root.resolve(), o.what or WHAT
    texts = sources(root, "src", "include")
    graph = includes(root, texts)
    results = {}
    if {"files", "frames", "climbs"} & set(what):
        folder = build(root)
        if {"files", "climbs"} & set(what):
            translate(folder, o.threads)
        measures = {"files": lambda: files(root, folder), "frames": lambda: frames(root, folder, o.product, o.decoder),
                    "climbs": lambda: climbs(root, folder, texts, graph)}
        results = {name: measure() for name, measure in measures.items() if name in what}
    if "circles" in what:
        results["circles"] = circles(graph)
    if "size" in what:
        results["size"] = size(root)
    if o.json:
        print(json.dumps(results, ensure_ascii=False, indent=1))
    else:
        show(results, o.verbose)


if __name__ == "__main__":
    main()
