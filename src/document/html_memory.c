#include "document/html_memory.h"

#include <setjmp.h>
#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>

/* Tags that are not closed are cloned into each block after them, so that a small text can make a huge tree. A text of tags
 * only needs about half of this. */
enum { BYTES_PER_BYTE = 256, BYTES_AT_LEAST = 1 << 20 };

/* Before each allocation. */
typedef struct block {
    alignas(max_align_t) struct block *next;
    struct block *before;
    size_t size;
} block;

struct tr_html_memory {
    block all; /* a ring */
    uint64_t left;
    bool used_up;
    jmp_buf failed;
};

tr_html_memory *tr_html_memory_new(size_t size)
{
    tr_html_memory *memory = calloc(1, sizeof *memory);
    if (!memory)
        return NULL;
    memory->all.next = memory->all.before = &memory->all;
    memory->left = (uint64_t)size * BYTES_PER_BYTE + BYTES_AT_LEAST;
    return memory;
}

void tr_html_memory_free(tr_html_memory *memory)
{
    if (!memory)
        return;
    for (block *b = memory->all.next, *next; b != &memory->all; b = next) {
        next = b->next;
        free(b);
    }
    free(memory);
}

bool tr_html_memory_used_up(const tr_html_memory *memory)
{
    return memory->used_up;
}

/* Gumbo does not look whether there is memory: this does not return without it. */
static void *allocate(void *argument, size_t size)
{
    tr_html_memory *memory = argument;
    memory->used_up = size + sizeof(block) > memory->left;
    block *b = memory->used_up ? NULL : malloc(sizeof *b + size);
    if (!b)
        longjmp(memory->failed, 1);
    *b = (block){.next = memory->all.next, .before = &memory->all, .size = size};
    b->next->before = b->before->next = b;
    memory->left -= size + sizeof *b;
    return b + 1;
}

static void deallocate(void *argument, void *data)
{
    tr_html_memory *memory = argument;
    if (!data)
        return;
    block *b = (block *)data - 1;
    b->next->before = b->before;
    b->before->next = b->next;
    memory->left += b->size + sizeof *b;
    free(b);
}

GumboOutput *tr_html_gumbo(tr_html_memory *memory, GumboTag context, const char *data, size_t size)
{
    const GumboOptions options = {.allocator = allocate,
                                  .deallocator = deallocate,
                                  .userdata = memory,
                                  .tab_stop = 8,
                                  .fragment_context = context,
                                  .fragment_namespace = GUMBO_NAMESPACE_HTML};
    if (setjmp(memory->failed))
        return NULL;
    return gumbo_parse_with_options(&options, data, size);
}
