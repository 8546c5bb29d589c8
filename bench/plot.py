"""The plots of README.md as SVG: speed compared with the other engine, and speed by batch size with the machine's limits.
Colours and text are readable on a light and on a dark background."""
import math
from xml.sax.saxutils import escape

STYLE = """
text { font: 12px system-ui, sans-serif; fill: #57606a } .title { font-weight: 600; font-size: 13px; fill: #24292f }
.axis { stroke: #8b949e; stroke-width: 1; fill: none } .grid { stroke: #8b949e; stroke-opacity: .25 }
.ours { fill: #1f6feb } .peer { fill: #9aa4ae } .line { stroke: #1f6feb; stroke-width: 2; fill: none }
.limit { stroke: #d29922; stroke-width: 1.5; fill: none; stroke-dasharray: 5 4 } .limit2 { stroke: #bf3989 }
@media (prefers-color-scheme: dark) { text { fill: #9aa4ae } .title { fill: #e6edf3 } .ours { fill: #4493f8 }
.line { stroke: #4493f8 } .peer { fill: #6e7681 } .limit2 { stroke: #f778ba } }
"""
KINDS = """
.kind { stroke-width: 2; fill: none } .k0 { stroke: #8b949e; stroke-dasharray: 5 4 } .k1 { stroke: #1f6feb }
.k2 { stroke: #1a7f37 }
.k3 { stroke: #bf3989 } .k4 { stroke: #bc4c00 } .k5 { stroke: #8250df } .k6 { stroke: #9a6700 }
@media (prefers-color-scheme: dark) { .k1 { stroke: #4493f8 } .k2 { stroke: #3fb950 }
.k3 { stroke: #f778ba } .k4 { stroke: #f0883e }
.k5 { stroke: #a371f7 } .k6 { stroke: #d29922 } }
"""
WIDTH, PANEL, LEFT, TOP, BAR = 860, 400, 190, 48, 13


def text(x, y, content, anchor="start", kind=""):
    attributes = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{attributes}>{escape(str(content))}</text>'


def rectangle(x, y, width, height, kind):
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 1):.1f}" height="{height:.1f}" rx="1.5" class="{kind}"/>'


def path(points, kind):
    return f'<path class="{kind}" d="M' + " L".join(f"{x:.1f} {y:.1f}" for x, y in points) + '"/>'


def short(value):
    return f"{value / 1000:.0f}k" if value >= 9950 else f"{value / 1000:.1f}k" if value >= 1000 else f"{value:.0f}"


def bars(rows, x, height):
    """A pair of bars for each row, on a common logarithmic scale, followed by the ratio."""
    out = [text(x, 20, f"Tokens a second, beside {rows[0]['peer']}", kind="title")]
    step = (height - TOP - 24) / len(rows)
    values = [row[key] for row in rows for key in ("tokens_per_second", "peer_tokens_per_second")]
    low, high = math.log10(min(values)) - 0.3, math.log10(max(values))
    room = PANEL - LEFT - 48

    def length(value):
        return room * (math.log10(value) - low) / (high - low)

    for i, row in enumerate(rows):
        y = TOP + step * i
        level = f" {row['level']}" if row["level"] else ""
        name = f"{row['model']} {row['compute']}{level}, b{row['batch_size']}, {row['threads']}t"
        out.append(text(x + LEFT - 8, y + BAR + 4, name, "end"))
        for line, key, kind in ((0, "tokens_per_second", "ours"), (1, "peer_tokens_per_second", "peer")):
            out.append(rectangle(x + LEFT, y + line * (BAR - 1), length(row[key]), BAR - 3, kind))
            ratio = f"{short(row[key])}  ×{row['ratio']:.1f}" if line == 0 else short(row[key])
            out.append(text(x + LEFT + length(row[key]) + 4, y + line * (BAR - 1) + 9, ratio))
    out.append(rectangle(x, height - 18, 10, 10, "ours") + text(x + 15, height - 9, "translate"))
    out.append(rectangle(x + 90, height - 18, 10, 10, "peer") + text(x + 105, height - 9, rows[0]["peer"]))
    out.append(text(x + 225, height - 9, "b: batch, t: threads; log scale"))
    return out


def curve(rows, x, height):
    """Tokens a second by batch size, and the limits of memory and arithmetic; both axes logarithmic."""
    out = [text(x, 20, f"Tokens a second by batch size ({rows[0]['model']}, {rows[0]['compute']}, 1 thread)", kind="title")]
    left, right, top, bottom = x + 44, x + PANEL - 20, TOP, height - 58
    keys = ("tokens_per_second", "memory_tokens_per_second", "arithmetic_tokens_per_second")
    low = math.floor(math.log10(min(row[key] for row in rows for key in keys)))
    high = math.ceil(math.log10(max(row[key] for row in rows for key in keys)))
    most = math.log2(max(row["batch_size"] for row in rows)) or 1

    def at(row, key):
        across = math.log2(row["batch_size"]) / most
        return left + (right - left) * across, bottom - (bottom - top) * (math.log10(row[key]) - low) / (high - low)

    for power in range(low, high + 1):
        y = bottom - (bottom - top) * (power - low) / (high - low)
        out.append(path([(left, y), (right, y)], "grid") + text(left - 6, y + 4, short(10**power), "end"))
    for row in rows:
        across = at(row, keys[0])[0]
        out.append(text(across, bottom + 16, row["batch_size"], "middle"))
    out.append(path([(left, top), (left, bottom), (right, bottom)], "axis"))
    for key, kind in zip(keys, ("line", "limit", "limit limit2")):
        out.append(path([at(row, key) for row in rows], kind))
    out += [f'<circle cx="{at(row, keys[0])[0]:.1f}" cy="{at(row, keys[0])[1]:.1f}" r="3" class="ours"/>' for row in rows]
    place = x
    for kind, name, width in (("line", "reached", 85), ("limit", "allowed by memory", 150),
                              ("limit limit2", "by arithmetic", 120)):
        out.append(path([(place, height - 13), (place + 22, height - 13)], kind) + text(place + 27, height - 9, name))
        place += width
    return out


def logarithmic(lines, x, height, title, units, first_name):
    """Lines of (length, value), both axes logarithmic, each with its own style; the name of the first is beside it."""
    out = [text(x, 20, title, kind="title")]
    left, right, top, bottom = x + 52, x + PANEL - 12, TOP, height - 58
    points = [point for line in lines for point in line if point[1] > 0]
    low, high = (side(math.log10(value) for _, value in points) for side in (min, max))
    low, high = math.floor(low), math.ceil(high)
    first, last = (side(math.log2(length) for length, _ in points) for side in (min, max))

    def at(length, value):
        return (left + (right - left) * (math.log2(length) - first) / (last - first),
                bottom - (bottom - top) * (math.log10(value) - low) / (high - low))

    for power in range(low, high + 1):
        y = at(2**first, 10**power)[1]
        name = f"{10**(power - 3):g} {units[1]}" if power >= 3 else f"{10**power:g} {units[0]}"
        out.append(path([(left, y), (right, y)], "grid") + text(left - 6, y + 4, name, "end"))
    for length in dict.fromkeys(length for length, _ in points):
        out.append(text(at(length, 10**low)[0], bottom + 16, short(length) if length < 1000 else f"{length // 1024}k",
                        "middle"))
    out.append(path([(left, top), (left, bottom), (right, bottom)], "axis"))
    across, up = at(*lines[0][-1])
    out.append(text(across - (28 if up < top + 20 else 8), up + (4 if up < top + 20 else -8), first_name, "end"))
    return out + [path([at(*point) for point in line if point[1] > 0], f"kind k{i}") for i, line in enumerate(lines) if line]


def draw_attention(sections):
    """Time and working memory of attention by length, a line for each kind; None if there are no results."""
    found = sections.get("attention")
    if not found:
        return None
    rows = [row for row in found["rows"]["speed"] if not row["causal"] and row["element"] == "f32"]
    threads = max(row["threads"] for row in rows)
    rows = [row for row in rows if row["threads"] == threads]
    kinds, memory, height = list(rows[0]["ms"]), found["rows"]["memory"], 400
    heads = found["settings"]["heads"]
    times = [[(row["length"], row["peer_ms"]) for row in rows]]
    times += [[(row["length"], row["ms"][kind]) for row in rows] for kind in kinds]
    bytes_of = [[(row["length"], 4e-6 * heads * row["length"]**2) for row in memory]]
    bytes_of += [[(row["length"], 1e-6 * row["working_bytes"][kind]) for row in memory] for kind in kinds]
    size = found["settings"]["size"]
    body = logarithmic(times, 10, height, f"A call by length, f32, {heads} heads of {size}, {threads} threads", ("ms", "s"),
                       "PyTorch")
    body += logarithmic(bytes_of, WIDTH - PANEL, height, "Working memory by length", ("MB", "GB"), "all scores")
    place = 10
    for i, name in enumerate(kinds, 1):
        body.append(path([(place, height - 13), (place + 20, height - 13)],
                         f"kind k{i}") + text(place + 25, height - 9, name))
        place += 56 + 6.6 * len(name)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
            'role="img" '
            f'aria-label="Attention by length">\n<style>{STYLE}{KINDS}</style>\n' + "\n".join(body) + "\n</svg>\n")


def draw(sections):
    """The drawing; None if there are no results."""
    compared = sections.get("peers", {}).get("rows", [])
    scaled = [row for row in sections.get("scaling", {}).get("rows", []) if row["by"] == "batch"]
    last = [row for row in scaled if row["model"] == scaled[-1]["model"]]
    if not compared and not last:
        return None
    height = max(300, TOP + 34 * len(compared) + 24)
    width = WIDTH if compared and last else PANEL + 20
    body = bars(compared, 10, height) if compared else []
    body += curve(last, WIDTH - PANEL if compared else 10, height) if last else []
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            'role="img" '
            f'aria-label="Speed of translate">\n<style>{STYLE}</style>\n' + "\n".join(body) + "\n</svg>\n")
