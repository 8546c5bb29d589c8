/* E-books: an archive of XHTML documents (EPUB 3.3, EPUB 2.0.1). META-INF/container.xml names the package document, and this
 * the others. */
#include "document/bytes.h"
#include "document/formats.h"
#include "document/runs.h"
#include "document/zipped.h"

#include <stdlib.h>
#include <string.h>

/* The table of contents of EPUB 2. */
static const tr_runs_names ncx_names = {
    .paragraphs = " text ",
    .runs = "",
    .formats = "",
    .texts = "",
    .marks = "",
    .insides = "",
    .heads = "",
    .breaks = "",
    .skipped = " docAuthor ",
    .dropped = "",
    .space = "",
    .style = TR_UNIT_COLLAPSES,
};

static tr_status read_ncx(tr_document *d, tr_error *error)
{
    return tr_runs_read(d, &ncx_names, error);
}

static const tr_document_format ncx = {
    .read = read_ncx,
    .decode = tr_xml_decode,
    .render = tr_runs_render,
    .close = tr_runs_close,
};

typedef struct package {
    tr_document *book;
    const tr_document *file; /* the XML document that is being read */
    tr_buffer path;          /* of the package document in the archive */
    tr_buffer name;          /* of the entry that an item is */
} package;

static tr_status find_package(void *argument, const tr_xml_event *event, tr_error *error)
{
    package *p = argument;
    tr_xml_attribute_place path;
    if (event->kind != TR_XML_START || p->path.data || strcmp(event->local, "rootfile") != 0 ||
        !tr_runs_attribute_of(p->file, event, "full-path", &path))
        return TR_OK;
    return tr_xml_decode_value(p->file, path.begin, path.end, &p->path) ? TR_OK : tr_fail_memory(error, p->book->name);
}

/* Decodes %20, in place, and takes away what is no path. */
static void decode_link(char *link)
{
    char *to = link;
    for (const char *from = link; *from && *from != '#' && *from != '?'; from++) {
        const int high = *from == '%' ? tr_hex_digit(from[1]) : -1, low = high < 0 ? -1 : tr_hex_digit(from[2]);
        *to++ = low < 0 ? *from : (char)(high * 16 + low);
        from += low < 0 ? 0 : 2;
    }
    *to = 0;
}

/* Makes a path of a link from the package document: the parts "." and ".." are gone. */
static bool resolve_link(package *p, char *link)
{
    const char *slash = strrchr(p->path.data, '/');
    decode_link(link);
    tr_buffer_clear(&p->name);
    if (!tr_buffer_append(&p->name, p->path.data, slash && *link != '/' ? (size_t)(slash - p->path.data) : 0))
        return false;
    for (const char *at = link; *at;) {
        const size_t size = strcspn(at, "/");
        if (size == 2 && memcmp(at, "..", 2) == 0) {
            while (p->name.size && p->name.data[--p->name.size] != '/')
                ;
            p->name.data[p->name.size] = 0;
        } else if (size && !(size == 1 && *at == '.')) {
            if ((p->name.size && !tr_buffer_string(&p->name, "/")) || !tr_buffer_append(&p->name, at, size))
                return false;
        }
        at += size + (at[size] == '/');
    }
    return true;
}

static tr_status add_item(void *argument, const tr_xml_event *event, tr_error *error)
{
    package *p = argument;
    tr_xml_attribute_place link;
    tr_document *member;
    if (event->kind != TR_XML_START || strcmp(event->local, "item") != 0)
        return TR_OK;
    const bool is_page = tr_xml_attribute_is(p->file, event, "media-type", "application/xhtml+xml");
    const bool is_ncx = tr_xml_attribute_is(p->file, event, "media-type", "application/x-dtbncx+xml");
    if ((!is_page && !is_ncx) || !tr_runs_attribute_of(p->file, event, "href", &link))
        return TR_OK;
    tr_buffer text = {0};
    tr_status status = TR_OK;
    if (!tr_xml_decode_value(p->file, link.begin, link.end, &text) || !resolve_link(p, text.data))
        status = tr_fail_memory(error, p->book->name);
    else
        status = tr_zipped_member(p->book, p->name.data, is_page ? &tr_format_html : &ncx, &member, error);
    tr_buffer_free(&text);
    return status;
}

static tr_status read_package(package *p, tr_error *error)
{
    static const char container[] = "META-INF/container.xml";
    static const tr_zipped_part part = {container, NULL, "an e-book"};
    tr_document *d = p->book, *member, file = {.name = container, .settings = d->settings};
    const char *data = NULL;
    size_t size = 0;
    tr_status status = tr_zipped_add(d, &part, error);
    if (status == TR_OK)
        status = tr_zipped_contents(d, container, &data, &size, error);
    file.data = data;
    file.size = (uint32_t)size;
    p->file = &file;
    if (status == TR_OK)
        status = tr_fail_in(error, tr_xml_read(&file, find_package, p, error), d->name);
    if (status == TR_OK && !p->path.data)
        status = tr_fail(error, TR_ERROR_FORMAT, "%s: %s names no package document", d->name, container);
    if (status == TR_OK)
        status = tr_zipped_member(d, p->path.data, &tr_format_metadata, &member, error);
    if (status == TR_OK && !member)
        status = tr_fail(error, TR_ERROR_FORMAT, "%s: has no %s, which %s names", d->name, p->path.data, container);
    if (status == TR_OK) {
        p->file = member;
        status = tr_fail_in(error, tr_xml_read(member, add_item, p, error), d->name);
    }
    return status;
}

static tr_status read_epub(tr_document *d, tr_error *error)
{
    package p = {.book = d};
    tr_status status = tr_zipped_open(d, error);
    if (status == TR_OK)
        status = read_package(&p, error);
    tr_buffer_free(&p.path);
    tr_buffer_free(&p.name);
    return status;
}

const tr_document_format tr_format_epub = {
    .read = read_epub,
    .write = tr_zipped_write,
    .close = tr_zipped_close,
};
