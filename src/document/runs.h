/* Paragraphs of runs, in XML: what the formats of Office share. A run is text of one format:
 *
 *     <w:p><w:r><w:rPr><w:b/></w:rPr><w:t>bold</w:t></w:r><w:r><w:t> text</w:t></w:r></w:p>
 *
 * A paragraph is a unit, or several if a tab or a line break divides it. The format that most of its
 * text has is no mark; runs of any other are a pair of marks, one for all runs that follow each other with the same format.
 * Prefixes of names do not matter. */
#ifndef TR_DOCUMENT_RUNS_H
#define TR_DOCUMENT_RUNS_H

#include "document/bytes.h"
#include "document/xml_reader.h"

/* Names without prefix, a space before and after each. */
typedef struct tr_runs_names {
    const char *paragraphs; /* elements with the text of units */
    const char *runs;
    const char *formats; /* the format of a run, its first child */
    const char *texts;   /* the characters of a run; "": those of a paragraph are right in it */
    const char *marks;   /* around runs: hyperlinks */
    const char *insides; /* a child of a mark that has the runs */
    const char *heads;   /* a child of a mark that has none */
    const char *breaks;  /* divide a paragraph into units */
    const char *skipped; /* what is in them is not translated */
    const char *dropped; /* stand for nothing, and vanish from units */
    const char *space;   /* attribute of `texts` that keeps white space; "": white space is kept */
    uint32_t style;      /* of units, if `texts` is "" */
    /* Adds what a tag becomes for the target language (tr_runs_change). NULL: nothing. */
    tr_status (*change)(tr_document *document, const tr_xml_event *start, tr_error *error);
    /* Bilingual documents: what stands before the paragraph at bytes begin .. end; nothing: its units have no text. NULL:
     * such documents are translated without their source. */
    tr_status (*copy)(const tr_document *document, size_t begin, size_t end, tr_buffer *out, tr_error *error);
} tr_runs_names;

/* No run, or no format. */
#define TR_RUNS_NONE UINT32_MAX
/* The bits of tr_unit.style that tell a run. */
#define TR_RUNS_MASK (TR_XML_IN_CDATA - 1)

typedef struct tr_run {
    uint32_t begin, head_end;  /* its tag and its format */
    uint32_t close_begin, end; /* its end tag */
    uint32_t text;             /* the tag of its first text */
    uint32_t format;           /* equal for equal formats */
    uint32_t outer;            /* the run that the paragraph is in, for text in pictures; TR_RUNS_NONE */
} tr_run;

/* tr_document.state. */
typedef struct tr_runs {
    const tr_runs_names *names;
    tr_buffer runs;    /* of tr_run, in the order of their begins; tr_unit.style: the one whose format is the unit's */
    tr_buffer changes; /* of tr_edit, in their order */
    tr_buffer changed; /* of char: their texts */
} tr_runs;

/* The format's read, with these names; its close and render. */
tr_status tr_runs_read(tr_document *document, const tr_runs_names *names, tr_error *error);
void tr_runs_close(void *state);
tr_status tr_runs_render(const tr_document *document, const tr_rendering *rendering, tr_buffer *out, tr_error *error);

/* Bytes begin .. end become text, in units as well. */
tr_status tr_runs_change(tr_document *document, size_t begin, size_t end, const char *text, tr_error *error);

/* word_names.copy */
tr_status tr_docx_copy_source(const tr_document *document, size_t begin, size_t end, tr_buffer *out, tr_error *error);
/* The write of a tr_document_format for its documents: leaves out the sources of paragraphs that stay the same. */
tr_status tr_docx_write(const tr_document *document, const tr_document_source *source, const tr_document_sink *sink,
                        tr_error *error);

/* As tr_xml_next_attribute, but names are without prefix. */
bool tr_runs_next_attribute(const tr_document *document, size_t *at, size_t end, tr_xml_attribute_place *attribute);
/* Finds an attribute by its name without prefix. */
bool tr_runs_attribute_of(const tr_document *document, const tr_xml_event *start, const char *name,
                          tr_xml_attribute_place *attribute);

/* The language of the target and its country, "en" and "US"; either may be "". */
typedef struct tr_runs_language {
    char language[9], country[9];
    bool is_asian; /* written in what Office calls an East Asian script */
} tr_runs_language;
tr_runs_language tr_runs_target(const tr_document *document);

#endif
