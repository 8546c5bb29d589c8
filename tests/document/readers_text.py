#!/usr/bin/env python3
"""readers_text.py TOOL: reads written PO, SRT, WebVTT, CSV and TSV with the libraries of others (polib, srt, webvtt-py, csv)
and with msgfmt, if it is there. TOOL: document-tool. By hand: pip install polib srt webvtt-py."""
import csv
import io
import pathlib
import shutil
import subprocess
import sys
import tempfile

import polib
import srt
import webvtt

TOOL = sys.argv[1]
SAMPLES = pathlib.Path(__file__).parent / 'samples'


def run(*arguments, data):
    return subprocess.run([TOOL, *arguments], input=data, check=True, capture_output=True).stdout


def translate(name, data, change, *settings):
    """Returns the units and the document with their translations."""
    units = run(name, 'list', *settings, data=data).decode()[:-1].split('\n')
    with tempfile.NamedTemporaryFile() as lines:
        lines.write(''.join(change(unit) + '\n' for unit in units).encode())
        lines.flush()
        return units, run(name, 'write', 'lines=' + lines.name, *settings, data=data)


def unescape(line):
    return line.replace('\\\\', '\0').replace('\\n', '\n').replace('\0', '\\')


def check_po(data):
    for target, plurals in ('en', 2), ('ja', 1), ('ru', 3), ('ar', 6):
        units, out = translate('po', data, lambda unit: 'T' + unit, 'target=' + target)
        before, after = (polib.pofile(text.decode('utf-8-sig')) for text in (data, out))
        assert [entry.msgid for entry in before] == [entry.msgid for entry in after]
        assert after.metadata['Language'] == target, after.metadata
        texts = {unescape(unit).strip('\n') for unit in units}
        for entry in after:
            strings = list(entry.msgstr_plural.values()) if entry.msgid_plural else [entry.msgstr]
            assert entry.obsolete or (len(strings) == plurals if entry.msgid_plural else len(strings) == 1)
            assert entry.obsolete or all(text.strip('\n')[1:] in texts for text in strings), strings
        if shutil.which('msgfmt'):
            result = subprocess.run(['msgfmt', '-c', '-o', '/dev/null', '-'], input=out, capture_output=True)
            errors = [line for line in result.stderr.decode().splitlines()
                      if 'warning' not in line and 'header field' not in line]
            assert result.returncode == 0, (errors, out.decode())


def check_srt(data):
    for change in (lambda unit: unit), (lambda unit: unit + ' and more words, of any length.'), (lambda unit: 'one'):
        out = translate('srt', data, change)[1]
        before, after = (list(srt.parse(text.decode('utf-8-sig'), ignore_errors=True)) for text in (data, out))
        assert [(cue.start, cue.end) for cue in before] == [(cue.start, cue.end) for cue in after]
        assert [bool(cue.content.strip()) for cue in before] == [bool(cue.content.strip()) for cue in after]


def check_vtt(data):
    for change in (lambda unit: unit), (lambda unit: unit + ' and more words, & of any length.'), (lambda unit: 'one'):
        out = translate('vtt', data, change)[1]
        before, after = (webvtt.from_buffer(io.StringIO(text.decode())) for text in (data, out))
        assert [(cue.start, cue.end, cue.identifier) for cue in before] == [
            (cue.start, cue.end, cue.identifier) for cue in after]
        assert all(cue.text.strip() for cue in after)


def check_table(data, name):
    delimiter = '\t' if name == 'tsv' else ';' if b'sep=;' in data or b'name;' in data else ','

    def rows(text):
        text = text.decode('utf-8-sig')
        quoting = csv.QUOTE_NONE if name == 'tsv' else csv.QUOTE_MINIMAL
        return list(csv.reader(io.StringIO(text, newline=''), delimiter=delimiter, quoting=quoting))

    units, out = translate(name, data, lambda unit: '“T”, "' + unit + '"; x')
    before, after = rows(data), rows(out)
    assert [len(row) for row in before] == [len(row) for row in after]
    changed = [(a, b) for x, y in zip(before, after) for a, b in zip(x, y) if a != b]
    assert [unescape(unit) for unit in units] == [a.strip() for a, b in changed], (units, changed)
    assert all(b.strip() == '“T”, "' + a.strip() + '"; x' for a, b in changed), changed


for path in sorted(SAMPLES.glob('po/*')):
    check_po(path.read_bytes())
for path in sorted(SAMPLES.glob('srt/*')):
    check_srt(path.read_bytes())
for path in sorted(SAMPLES.glob('vtt/*')):
    check_vtt(path.read_bytes())
for path in sorted(SAMPLES.glob('csv/*')):
    check_table(path.read_bytes(), 'csv')
for path in sorted(SAMPLES.glob('tsv/*')):
    check_table(path.read_bytes(), 'tsv')
print('all files were read as they should be')
