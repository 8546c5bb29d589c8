#!/usr/bin/env python3
"""Reads what document-tool writes with the readers that users have: python-docx, python-pptx, openpyxl, odfpy, ebooklib.

readers_office.py DOCUMENT_TOOL, by hand: pip install python-docx python-pptx openpyxl odfpy ebooklib"""
import io
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

import docx
import ebooklib
import ebooklib.epub
import odf.opendocument
import odf.teletype
import odf.text
import openpyxl
import pptx

tool = sys.argv[1]
samples = pathlib.Path(__file__).parent / 'samples'


def run(name, *arguments):
    data = (samples / name).read_bytes()
    return subprocess.run([tool, name.split('/')[0], *arguments], input=data, stdout=subprocess.PIPE, check=True).stdout


def translated(name):
    """The source and its translation, in which each text of a unit is in brackets and Chinese characters are letters."""
    units = run(name, 'list').decode().splitlines()
    lines = [re.sub('[\u4e00-\u9fff]', lambda m: chr(ord('a') + ord(m[0]) % 26), unit) for unit in units]
    with tempfile.NamedTemporaryFile('w', encoding='utf-8') as file:
        file.write(''.join(line + '\n' for line in lines))
        file.flush()
        written = run(name, 'write', 'target=en', 'lines=' + file.name)
    source = zipfile.ZipFile(samples / name)
    result = zipfile.ZipFile(io.BytesIO(written))
    assert result.testzip() is None
    for a, b in zip(source.infolist(), result.infolist(), strict=True):
        assert (a.filename, a.date_time, a.compress_type, a.external_attr) == \
               (b.filename, b.date_time, b.compress_type, b.external_attr), a.filename
    return io.BytesIO((samples / name).read_bytes()), io.BytesIO(written)


def letters(text):
    return re.sub('[\u4e00-\u9fff]', lambda m: chr(ord('a') + ord(m[0]) % 26), text)


def same(a, b, what):
    assert a == b, f'{what}:\n{a}\n{b}'


def formats(paragraph):
    """Characters with their formats, however they are divided into runs."""
    return [(c, run.bold, run.italic) for run in paragraph.runs for c in letters(run.text)]


def check_word():
    a, b = map(docx.Document, translated('docx/report.docx'))
    same([letters(p.text) for p in a.paragraphs], [p.text for p in b.paragraphs], 'paragraphs')
    same([formats(p) for p in a.paragraphs], [formats(p) for p in b.paragraphs], 'formats')
    same([p.style.name for p in a.paragraphs], [p.style.name for p in b.paragraphs], 'styles')
    same([letters(c.text) for t in a.tables for r in t.rows for c in r.cells],
         [c.text for t in b.tables for r in t.rows for c in r.cells], 'cells')
    same(letters(a.sections[0].header.paragraphs[0].text), b.sections[0].header.paragraphs[0].text, 'header')
    same([link.address for p in a.paragraphs for link in p.hyperlinks],
         [link.address for p in b.paragraphs for link in p.hyperlinks], 'links')


def check_slides():
    a, b = map(pptx.Presentation, translated('pptx/slides.pptx'))

    def texts(presentation, change):
        for slide in presentation.slides:
            for shape in slide.shapes:
                if shape.has_text_frame:
                    yield change(shape.text_frame.text)
                    yield [(c, r.font.bold) for p in shape.text_frame.paragraphs for r in p.runs for c in change(r.text)]
                if shape.has_table:
                    yield [change(cell.text) for cell in shape.table.iter_cells()]
            if slide.has_notes_slide:
                yield change(slide.notes_slide.notes_text_frame.text)
    same(list(texts(a, letters)), list(texts(b, str)), 'slides')


def check_sheets():
    for name in 'prices', 'chart':
        a, b = translated(f'xlsx/{name}.xlsx')
        a, b = openpyxl.load_workbook(a, rich_text=True), openpyxl.load_workbook(b, rich_text=True)
        same(a.sheetnames, b.sheetnames, 'names of sheets')
        for x, y in zip(a, b, strict=True):
            headers = {column.name for table in x.tables.values() for column in table.tableColumns}
            for row in x.iter_rows():
                for cell in row:
                    other = y[cell.coordinate]
                    kept = cell.data_type in 'nf' or str(cell.value) in headers
                    same(cell.value if kept else letters(str(cell.value)), other.value if kept else str(other.value),
                         cell.coordinate)
                    same(letters(cell.comment.text) if cell.comment else None,
                         other.comment.text if other.comment else None, 'comment')
            same(x.tables.items(), y.tables.items(), 'tables')


def check_open_document():
    for name in 'manual.odt', 'sheet.ods':
        a, b = map(odf.opendocument.load, translated('odt/' + name))
        for kind in odf.text.P, odf.text.H, odf.text.Span, odf.text.A, odf.text.Note:
            same([letters(odf.teletype.extractText(e)) for e in a.getElementsByType(kind)],
                 [odf.teletype.extractText(e) for e in b.getElementsByType(kind)], kind)


def check_books():
    with tempfile.TemporaryDirectory() as folder:
        books = []
        for i, file in enumerate(translated('epub/story.epub')):
            path = f'{folder}/{i}.epub'
            pathlib.Path(path).write_bytes(file.read())
            books.append(ebooklib.epub.read_epub(path))
    a, b = books
    same(letters(a.title), b.title, 'title')
    same([b.get_metadata('DC', 'language')[0][0]], ['en'], 'language')
    same([entry.title for entry in b.toc], [letters(entry.title) for entry in a.toc], 'contents')
    for x, y in zip(a.get_items_of_type(ebooklib.ITEM_DOCUMENT), b.get_items_of_type(ebooklib.ITEM_DOCUMENT), strict=True):
        same(re.findall('>([^<]+)<', letters(x.get_content().decode())), re.findall('>([^<]+)<', y.get_content().decode()),
             x.file_name)


for check in check_word, check_slides, check_sheets, check_open_document, check_books:
    check()
    print(check.__name__, 'ok')
