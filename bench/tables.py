"""README.md's tables, made from the results; each section has its place between two markers there."""
import pathlib
import re
import textwrap

import plot

PARTS = (("encoder", "encoder"), ("self_attention", "self-attention"), ("cross_attention", "cross-attention"),
         ("feed_forward", "feed-forward"), ("output", "output"), ("rest", "the rest"))


def table(header, rows):
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def number(value):
    """Three significant digits, or all those before the point."""
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def thousands(value):
    return f"{value:,.0f}"


def percent(part, whole):
    return f"{100 * part / whole:.0f} %" if whole else "?"


def paragraph(text):
    return textwrap.fill(text, 120, break_long_words=False, break_on_hyphens=False)


def where(section):
    settings = ", ".join(f"{key} {value}" for key, value in section["settings"].items() if not isinstance(value, dict))
    return paragraph(f"Measured on {section['machine']}, {section['date']} ({settings}).")


def unique(values):
    return list(dict.fromkeys(values))


def kernels(section):
    parts = []
    for level in unique(row["level"] for row in section["rows"]):
        rows = [row for row in section["rows"] if row["level"] == level]
        counts = unique(row["rows"] for row in rows)
        body = []
        for kind, inputs, outputs in unique((row["type"], row["inputs"], row["outputs"]) for row in rows):
            here = {row["rows"]: row for row in rows if (row["type"], row["inputs"],
                                                         row["outputs"]) == (kind, inputs, outputs)}
            one = here[counts[0]]
            cells = [f"{number(one['gbs'])} ({percent(one['gbs'], one['read_gbs'])})"]
            cells += [f"{number(here[n]['gmacs'])} ({percent(here[n]['gmacs'], here[n]['peak_gmacs'])})" if n in here else ""
                      for n in counts[1:]]
            body.append([f"{kind} {inputs} × {outputs}", *cells])
        header = [f"{level}, one thread", "1 row: GB/s of weights (of reading)",
                  *(f"{n} rows: GMAC/s (of peak)" for n in counts[1:])]
        peaks = unique((row["type"], row["peak_gmacs"]) for row in rows)
        peaks_text = ", ".join(f"{kind} {number(peak)}" for kind, peak in peaks)
        parts.append(f"{table(header, body)}\n\nPeaks of {level}, GMAC/s: {peaks_text}.")
    return "\n\n".join(parts)


def cell(row):
    return f"{thousands(row['tokens_per_second'])} ({row['memory_percent']:.0f} / {row['arithmetic_percent']:.0f})"


def end_to_end(section):
    parts = []
    for model in unique(row["model"] for row in section["rows"]):
        rows = [row for row in section["rows"] if row["model"] == model]
        threads = unique(row["threads"] for row in rows)
        found = {(row["compute"], row["batch_size"], row["threads"]): row for row in rows}
        body = [[f"{kind}, batch {batch}", *(cell(found[kind, batch, n]) for n in threads)]
                for kind, batch in unique((row["compute"], row["batch_size"]) for row in rows)]
        header = [f"{model}: tokens/s (% of memory / % of arithmetic)", *(f"{n} thread{'s' * (n > 1)}" for n in threads)]
        parts.append(table(header, body))
    chosen = [row for row in section["rows"] if row["compute"] == "int8" and row["batch_size"] in (1, 32)
              and row["threads"] == 1]
    body = [[f"{row['model']}, batch {row['batch_size']}", *(percent(row[f"seconds_{key}"], row["seconds_parts"])
                                                           for key, _ in PARTS)] for row in chosen]
    parts.append(table(["where the time goes: int8, 1 thread", *(title for _, title in PARTS)], body))
    body = [[f"{row['model']}, batch {row['batch_size']}", number(row["step_mb"]), number(row["read_gbs"]),
             thousands(row["memory_tokens_per_second"]), number(row["target_token_mmacs"]), number(row["peak_gmacs"]),
             thousands(row["arithmetic_tokens_per_second"])] for row in chosen]
    parts.append(table(["the limits: int8, 1 thread", "MB a decoding step reads", "GB/s", "so, tokens/s",
                        "million multiply-adds a token", "G multiply-adds/s", "so, tokens/s"], body))
    return "\n\n".join(parts)


def scaling(section):
    parts = []
    for model in unique(row["model"] for row in section["rows"]):
        rows = [row for row in section["rows"] if row["model"] == model]
        body = []
        for batch in unique(row["batch_size"] for row in rows if row["by"] == "threads"):
            here = [row for row in rows if row["by"] == "threads" and row["batch_size"] == batch]
            for row in here:
                body.append([f"batch {batch}, {row['threads']} thread{'s' * (row['threads'] > 1)}",
                             thousands(row["tokens_per_second"]),
                             f"{row['tokens_per_second'] / here[0]['tokens_per_second']:.2f}"])
        parts.append(table([f"{model}, int8, by threads", "tokens/s", "over one thread"], body))
        body = [[row["batch_size"], thousands(row["tokens_per_second"]), f"{row['memory_percent']:.0f} %",
                 f"{row['arithmetic_percent']:.0f} %"] for row in rows if row["by"] == "batch"]
        parts.append(table([f"{model}, int8, one thread, by batch size", "tokens/s", "of memory", "of arithmetic"], body))
        body = [[row["source_tokens"], number(row["encoder_ms"]), number(row["cross_attention_ms"]),
                 number(row["sentence_ms"])]
                for row in rows if row["by"] == "length"]
        parts.append(table([f"{model}, int8, one thread, batch 1, by source tokens", "encoder, ms", "cross-attention, ms",
                            "a sentence, ms"], body))
    return "\n\n".join(parts)


def sources(section):
    rows = section["rows"]
    body = [[thousands(row["source_tokens"]), number(row["encoder_ms"]),
             f"{1e3 * row['encoder_ms'] / row['source_tokens']:.0f}",
             number(row["cross_attention_ms"]), number(row["sentence_ms"]), f"{row['peak_rss_mb']:.1f}",
             f"{1e3 * (row['peak_rss_mb'] - rows[0]['peak_rss_mb']) / (row['source_tokens'] - rows[0]['source_tokens']):.1f}"
             if row is not rows[0] else ""] for row in rows]
    shape = ", ".join(f"{key} {value}" for key, value in section["settings"]["shape"].items())
    what = paragraph(f"A small model ({shape}), random weights, one sentence of each length, 32 target tokens.")
    return f"{what}\n\n" + table(["source tokens", "encoder, ms", "µs a token", "cross-attention, ms", "all, ms",
                                  "peak memory, MB", "KB a token more than the first"], body)


def beside(rows):
    body = []
    for row in rows:
        level = f", {row['level']} on both sides" if row["level"] else ""
        length = "to EOS" if row["length"] == 0 else f"{row['length']} tokens"
        beam = f", beam {row['beam']}" if row.get("beam", 1) > 1 else ""
        body.append([f"{row['model']} {row['compute']}{level}, {length}{beam}, batch {row['batch_size']}, "
                     f"{row['threads']} thread{'s' * (row['threads'] > 1)}", thousands(row["peer_tokens_per_second"]),
                     thousands(row["tokens_per_second"]), f"{row['ratio']:.2f}"])
    return table(["tokens/s", rows[0]["peer"], "translate", "ratio"], body)


def peers(section):
    return beside(section["rows"])


def search(section):
    body = [[f"{row['model']} int8, batch {row['batch_size']}, beam {row['beam']}", f"{row['peak_rss_mb']:.1f}",
             f"{row['more_mb']:.1f}", f"{row['cache_mb']:.1f}"] for row in section["rows"]["memory"]]
    memory = table(["one thread", "peak memory, MB", "more than one sentence greedily, MB", "of it keys and values, MB"],
                   body)
    body = [[f"{row['model']} int8, batch {row['batch_size']}, beam {row['beam']}", thousands(row["tokens_per_second"]),
             f"{row['arithmetic_percent']:.0f} %", thousands(row["score_tokens_per_second"]),
             f"{row['score_arithmetic_percent']:.0f} %", f"{row['score_speedup']:.2f}"]
            for row in section["rows"]["scoring"]]
    scoring = table(["tokens/s, one thread", "translating", "of what multiply-adds allow", "scoring",
                     "of what multiply-adds allow",
                     "ratio"], body)
    return f"{beside(section['rows']['speed'])}\n\n{memory}\n\n{scoring}"


def startup(section):
    body = [[row["what"], f"{row['ms']:.1f} ms", f"{row['least_ms']:.1f} ms",
             f"{row['peak_mb']:.1f} MB" if row["peak_mb"] else ""] for row in section["rows"]]
    return table(["`今天天气很好`, exec to exit", "median", "least", "peak memory"], body)


def side_by_side(section, rows):
    """A table of milliseconds by length for the rows of one element, number of threads and mask."""
    kinds = list(rows[0]["ms"])
    body = [[thousands(row["length"]), number(row["peer_ms"]), number(row["ms"]["exact"]),
             f"{row['peer_ms'] / row['ms']['exact']:.2f}", *(number(row["ms"][kind]) for kind in kinds[1:])] for row in rows]
    what = f"{rows[0]['element']}, {rows[0]['threads']} thread{'s' * (rows[0]['threads'] > 1)}"
    return table([f"{what}: ms by length", f"PyTorch {section['settings']['torch'].split('+')[0]}", "exact", "ratio",
                  *kinds[1:]], body)


def attention(section):
    rows = section["rows"]["speed"]
    whole = [row for row in rows if not row["causal"]]
    parts = [side_by_side(section, [row for row in whole if (row["element"], row["threads"]) == key])
             for key in unique((row["element"], row["threads"]) for row in whole)]
    causal = [row for row in rows if row["causal"]]
    body = [[f"{row['element']}, {row['threads']} thread{'s' * (row['threads'] > 1)}", thousands(row["length"]),
             number(row["peer_ms"]), number(row["ms"]["exact"]), f"{row['peer_ms'] / row['ms']['exact']:.2f}",
             number(row["ms"]["linear"])] for row in causal]
    parts.append(table(["causal: ms", "length", "PyTorch", "exact", "ratio", "linear"], body))
    body = [[f"{row['kind']}, {row['element']}, {row['threads']} thread{'s' * (row['threads'] > 1)}",
             number(row["us_a_position"]), f"{100 * row['deviation']:.1f} %"] for row in section["rows"]["fits"]]
    parts.append(table(["a straight line through 1,024 to 16,384", "µs a position", "largest deviation"], body))
    rows = section["rows"]["memory"]
    kinds = list(rows[0]["working_bytes"])
    body = [[thousands(row["length"]), number(row["arguments_bytes"] / 1e6),
             *(f"{number(row['working_bytes'][kind] / 1e6)} ({number(row['grown_bytes'][kind] / 1e6)})" for kind in kinds)]
            for row in rows]
    parts.append(table(["working memory by length: MB (grown by)", "arguments", *kinds], body))
    rows = section["rows"]["errors"]
    cases = unique((row["inputs"], row["element"], row["length"]) for row in rows)
    found = {(row["kind"], row["inputs"], row["element"], row["length"]): row["error"] for row in rows}
    body = [[kind, *(f"{found[kind, *case]:.2g}" for case in cases)] for kind in unique(row["kind"] for row in rows)]
    parts.append(table(["error", *(f"{inputs}, {element}, {thousands(length)}" for inputs, element, length in cases)], body))
    return "\n\n".join(parts)


def published(section):
    body = [[row["what"], thousands(row["size_mb"]), f"{row['direct_s']:.2f}", thousands(row["direct_mb"]),
             f"{row['convert_s']:.1f}", thousands(row["convert_mb"]), thousands(row["largest_mb"] + 100),
             f"{row['file_s']:.2f}",
             thousands(row["file_mb"])] for row in section["rows"]]
    return table(["model", "MB", "first line as it is, s", "peak, MB", "convert to int8, s", "peak, MB", "its limit, MB",
                  "first line of the file, s", "peak, MB"], body)


SECTIONS = {"kernels": kernels, "end-to-end": end_to_end, "scaling": scaling, "sources": sources, "peers": peers,
            "search": search, "startup": startup, "attention": attention, "published": published}


def render(results, folder):
    """Writes the table of each section with results between its markers in folder's README.md, and draws the plots."""
    readme = pathlib.Path(folder) / "README.md"
    text = readme.read_text(encoding="utf-8")
    for name, section in results.sections.items():
        begin, end = f"<!-- bench:{name} -->", f"<!-- end:{name} -->"
        if begin not in text or end not in text:
            raise SystemExit(f"bench.py: {readme}: the markers of {name} are missing")
        new = f"{begin}\n{where(section)}\n\n{SECTIONS[name](section)}\n{end}"
        text = re.sub(re.escape(begin) + ".*?" + re.escape(end), lambda _: new, text, flags=re.DOTALL)
    readme.write_text(text, encoding="utf-8")
    for file, drawing in (("speed.svg", plot.draw(results.sections)),
                          ("attention.svg", plot.draw_attention(results.sections))):
        if drawing:
            (pathlib.Path(folder) / file).write_text(drawing, encoding="utf-8")
