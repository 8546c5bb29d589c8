/* XML as events with places, by expat: what xml, xliff and the formats in zip archives share.
 *
 * A format's read calls tr_xml_read with a function that gets each event inside the root element. The bytes begin .. end of
 * an event are those of the document, so that events are pieces as they come:
 *
 *     START   <w:t a="b">, <br/>  name; attributes by tr_xml_attribute
 *     END     </w:t>              name; of <br/> it comes too, with begin == end
 *     TEXT    characters          also &amp; and &#10;; text between two tags comes in several events without gaps
 *     CDATA   <![CDATA[...]]>     whole, with the brackets
 *     ENTITY  &product;           any other entity; it is never replaced, and stands for a word
 *     OTHER   <!-- -->, <? ?>     comments and processing instructions
 *
 * tr_xml_decode and tr_xml_encode are for tr_document_format. TEXT and CDATA that follow each other may be one TEXT piece;
 * it is written without sections.
 *
 * The document is UTF-8 whatever it declares (tr_xml_edit_encoding makes it say so). Nothing is fetched. What is no
 * well-formed XML, is nested deeper than TR_XML_MAX_DEPTH, or grows by its entities (expat's limits) is an error. */
#ifndef TR_DOCUMENT_XML_READER_H
#define TR_DOCUMENT_XML_READER_H

#include "document/format.h"

enum { TR_XML_MAX_DEPTH = 1000 };

enum { TR_XML_CDATA_OPEN = 9, TR_XML_CDATA_CLOSE = 3 }; /* sizes of <![CDATA[ and ]]> */

/* A bit of tr_unit.style: TEXT pieces begin inside a CDATA section, and text is written for one. */
#define TR_XML_IN_CDATA (1U << 29)

typedef enum tr_xml_kind {
    TR_XML_START,
    TR_XML_END,
    TR_XML_TEXT,
    TR_XML_CDATA,
    TR_XML_ENTITY,
    TR_XML_OTHER,
} tr_xml_kind;

typedef struct tr_xml_event {
    tr_xml_kind kind;
    const char *name;  /* START, END: as it is written, with its prefix; valid during the call */
    const char *local; /* the part of name after the prefix */
    size_t begin, end; /* bytes of the document */
    int depth;         /* START, END: of the element: 1 is the root; others: of the element that they are in */
    bool empty;        /* START, END: <br/> */
} tr_xml_event;

/* Gets each event in turn. What it returns, if not TR_OK, ends the reading. */
typedef tr_status (*tr_xml_handler)(void *argument, const tr_xml_event *event, tr_error *error);

/* Reads a document, of which name, data and size matter. "NAME: line L, column C: WHY", or what handler returned. */
tr_status tr_xml_read(const tr_document *document, tr_xml_handler handler, void *argument, tr_error *error);

/* An attribute of a tag (START) or of the XML declaration. */
typedef struct tr_xml_attribute_place {
    const char *name; /* [name_size] as it is written */
    size_t name_size;
    size_t begin, end; /* its value without the quotes */
} tr_xml_attribute_place;
/* Gets the next attribute of the tag at bytes *at .. end, and moves *at to its end. False: there are no more. */
bool tr_xml_next_attribute(const tr_document *document, size_t *at, size_t end, tr_xml_attribute_place *attribute);
/* Finds an attribute by its name as it is written, in a tag at bytes begin .. end. True:
 * *value_begin .. *value_end is its value without the quotes. */
bool tr_xml_attribute(const tr_document *document, size_t begin, size_t end, const char *name, size_t *value_begin,
                      size_t *value_end);
/* Whether the tag has this attribute with this value, which needs no decoding. */
bool tr_xml_attribute_is(const tr_document *document, const tr_xml_event *start, const char *name, const char *value);

/* Adds the edit that makes the XML declaration say UTF-8, if it says something else. Before all other edits. */
tr_status tr_xml_edit_encoding(tr_document *document, tr_error *error);

/* decode and encode of a tr_document_format whose units are content of elements. */
bool tr_xml_decode(const tr_document *document, const tr_unit *unit, uint32_t begin, uint32_t end, tr_buffer *text);
bool tr_xml_encode(const tr_document *document, const tr_unit *unit, const char *text, size_t size, tr_buffer *out);
/* Appends the value of an attribute, bytes begin .. end, decoded; and text as the value of one, for either quote. */
bool tr_xml_decode_value(const tr_document *document, size_t begin, size_t end, tr_buffer *text);
bool tr_xml_encode_value(const char *text, size_t size, tr_buffer *out);

#endif
