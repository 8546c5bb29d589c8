/* Gumbo with memory that is counted and freed at once. */
#ifndef TR_DOCUMENT_HTML_MEMORY_H
#define TR_DOCUMENT_HTML_MEMORY_H

#include <gumbo.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct tr_html_memory tr_html_memory;

/* Memory for the tree of a text of this size; NULL: out of memory. */
tr_html_memory *tr_html_memory_new(size_t size);
void tr_html_memory_free(tr_html_memory *memory); /* with all that lies in it; NULL is allowed */
/* Whether it was not enough. */
bool tr_html_memory_used_up(const tr_html_memory *memory);

/* Parses a document (context GUMBO_TAG_LAST), or what may be in an element. The result lies in memory; NULL: out of it. */
GumboOutput *tr_html_gumbo(tr_html_memory *memory, GumboTag context, const char *data, size_t size);

#endif
