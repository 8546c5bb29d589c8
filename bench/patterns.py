#!/usr/bin/env python3
"""Draws docs/patterns.svg: which keys (across) the queries (down) see in each kind of attention, as the library reports, and
the computation of the kinds without a score matrix: patterns.py [PROGRAM [SVG]]. PROGRAM is attention.c, built."""
import pathlib
import subprocess
import sys

import common
import plot

LENGTH, CELL, STEP, TOP, SIDE = 24, 5, 143, 30, 120
WINDOW, BLOCK, LOCAL_BLOCKS, GLOBAL_TOKENS = 3, 4, 1, 2
STYLE = plot.STYLE + """
.frame { fill: none; stroke: #8b949e; stroke-width: 1 } .seen { fill: #1f6feb }
.global { fill: #1a7f37 } .random { fill: #bc4c00 }
.small { font-size: 11px } .soft { fill: #1f6feb; fill-opacity: .18; stroke: #1f6feb }
@media (prefers-color-scheme: dark) { .seen { fill: #4493f8 } .global { fill: #3fb950 } .random { fill: #f0883e }
.soft { fill: #4493f8; fill-opacity: .25; stroke: #4493f8 } }
"""


def patterns(program):
    """The kind's rows: for each key whether it is seen, as the library reports."""
    kinds = ("exact", f"local:{WINDOW}", f"block-sparse:{BLOCK},{LOCAL_BLOCKS},1,{GLOBAL_TOKENS}")
    said = subprocess.run([program, "--pattern", str(LENGTH), *kinds], check=True, capture_output=True,
                          text=True).stdout.splitlines()
    return [[[cell == "#" for cell in line] for line in said[i + 1:i + 1 + LENGTH]] for i in range(0, len(said), LENGTH + 1)]


def why(i, j):
    """The reason why query i of block-sparse attention sees key j."""
    if min(i, j) < GLOBAL_TOKENS:
        return "global"
    return "seen" if abs(i // BLOCK - j // BLOCK) <= LOCAL_BLOCKS else "random"


def cells(x, rows, kind):
    """A square for each key that is seen; the squares of one reason are a path."""
    squares = {}
    for i, row in enumerate(rows):
        for j in range(LENGTH):
            if row[j]:
                squares.setdefault(kind(i, j), []).append(f"M{x + j * CELL} {TOP + i * CELL}h4.4v4.4h-4.4z")
    return [*(f'<path class="{name}" d="{"".join(parts)}"/>' for name, parts in squares.items()),
            f'<rect x="{x - 1}" y="{TOP - 1}" width="{SIDE + 1.4}" height="{SIDE + 1.4}" class="frame"/>']


def box(x, y, width, height, name):
    return [f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" class="soft"/>',
            plot.text(x + width / 2, y + height / 2 + 4, name, "middle", "small")]


def linear(x):
    """f(Q) [n, d] times f(K)^T V [d, d]."""
    return [*box(x + 10, TOP, 30, SIDE, "f(Q)"), plot.text(x + 54, TOP + SIDE / 2 + 4, "×", "middle"),
            *box(x + 66, TOP + SIDE / 2 - 22, 44, 44, "f(K)ᵀV")]


def low_rank(x):
    """Scores [n, r] times F V [r, d]."""
    return [*box(x + 4, TOP, 44, SIDE, "Q(EK)ᵀ"), plot.text(x + 61, TOP + SIDE / 2 + 4, "×", "middle"),
            *box(x + 74, TOP + SIDE / 2 - 22, 38, 44, "FV")]


def draw(program):
    exact, local, sparse = patterns(program)
    causal = [[seen and j <= i for j, seen in enumerate(row)] for i, row in enumerate(exact)]
    seen = lambda i, j: "seen"
    panels = [("exact", lambda x: cells(x, exact, seen), [("all keys", "")]),
              ("exact, causal", lambda x: cells(x, causal, seen), [("what came before", "")]),
              ("local", lambda x: cells(x, local, seen), [(f"window {WINDOW}", "")]),
              ("block-sparse", lambda x: cells(x, sparse, why), [("local", "seen"), ("global", "global"),
                                                                 ("random", "random")]),
              ("linear", linear, [("n × d times d × d", "")]),
              ("low-rank", low_rank, [("n × r times r × d", "")])]
    body = []
    for i, (name, picture, caption) in enumerate(panels):
        x = 10 + i * STEP
        body += [plot.text(x, 20, name, kind="title"), *picture(x)]
        for word, kind in caption:
            body.append(plot.text(x, TOP + SIDE + 17, word, kind=f"small {kind}".strip()))
            x += 6 * len(word) + 7
    width, height = STEP * len(panels), TOP + SIDE + 26
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            'role="img" '
            f'aria-label="Which keys the queries see in each kind of attention">\n<style>{STYLE}</style>\n' +
            "\n".join(body) + "\n</svg>\n")


if __name__ == "__main__":
    program, file = [*sys.argv[1:],
                     *(common.ROOT / "build/bench/attention", common.ROOT / "docs/patterns.svg")[len(sys.argv) - 1:]]
    pathlib.Path(file).write_text(draw(program), encoding="utf-8")
