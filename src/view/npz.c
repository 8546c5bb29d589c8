/* The arrays for numpy: a zip archive of .npy files (numpy's format documentation, version 1.0), stored without compression.
 */
#include "view/writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zip.h>

#include "import/zip.h"
#include "util/utf8.h"

/* -------------------------------------------------------------------------------------------------------------- arrays */

/* One array is one entry of the archive. shape as Python writes the inside of a tuple: "3," or "2, 3". */
static bool put_array(zipFile zip, const char *name, const char *type, const char *shape, const void *data, size_t size)
{
    enum { MAGIC = 10, ALIGN = 64, PART = 1 << 24 };
    char file[64], header[256];
    const zip_fileinfo info = {.tmz_date = {.tm_mday = 1, .tm_year = 1980}}; /* equal arrays give equal bytes */
    snprintf(file, sizeof file, "%s.npy", name);
    memset(header, ' ', sizeof header);
    const int n = snprintf(header + MAGIC, sizeof header - MAGIC, "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }",
                           type, shape);
    if (n < 0 || n >= (int)sizeof header - MAGIC - ALIGN)
        return false;
    header[MAGIC + n] = ' ';
    const int length = (MAGIC + n + 1 + ALIGN - 1) / ALIGN * ALIGN;
    header[length - 1] = '\n';
    memcpy(header, "\x93NUMPY\1", 8);
    header[7] = 0;
    header[8] = (char)((length - MAGIC) & 0xff);
    header[9] = (char)((length - MAGIC) >> 8);
    if (zipOpenNewFileInZip64(zip, file, &info, NULL, 0, NULL, 0, NULL, 0, 0, size > UINT32_MAX - 1024) != ZIP_OK)
        return false;
    bool good = zipWriteInFileInZip(zip, header, (unsigned)length) == ZIP_OK;
    for (size_t at = 0; good && at < size; at += PART)
        good = zipWriteInFileInZip(zip, (const char *)data + at, (unsigned)(size - at < PART ? size - at : PART)) == ZIP_OK;
    return zipCloseFileInZip(zip) == ZIP_OK && good;
}

static bool put_map(zipFile zip, const char *name, const tr_attention_map *map)
{
    char shape[64];
    snprintf(shape, sizeof shape, "%d, %d, %d, %d", map->layers, map->heads, map->rows, map->columns);
    const size_t count = (size_t)map->layers * (size_t)map->heads * (size_t)map->rows * (size_t)map->columns;
    return put_array(zip, name, "<f4", shape, map->weights, count * sizeof(float));
}

/* Characters of a text, an invalid part counting as one; to[] (NULL: none) takes them. */
static size_t decode(tr_view_text text, uint32_t *to)
{
    size_t count = 0;
    for (size_t i = 0, length; i < text.size; i += length, count++) {
        const int32_t code = tr_utf8_decode(text.data + i, text.size - i, &length);
        if (to)
            to[count] = code < 0 ? 0xfffd : (uint32_t)code;
    }
    return count;
}

/* Unicode arrays have elements of one width, in UTF-32, filled with NULs. */
static bool put_tokens(zipFile zip, const char *name, const tr_view_text *tokens, size_t count)
{
    size_t width = 1;
    for (size_t i = 0; i < count; i++) {
        const size_t n = decode(tokens[i], NULL);
        width = n > width ? n : width;
    }
    if (count > SIZE_MAX / sizeof(uint32_t) / width)
        return false;
    uint32_t *characters = calloc(count ? count * width : 1, sizeof *characters);
    if (!characters)
        return false;
    for (size_t i = 0; i < count; i++)
        decode(tokens[i], characters + i * width);
    char type[32], shape[32];
    snprintf(type, sizeof type, "<U%zu", width);
    snprintf(shape, sizeof shape, "%zu,", count);
    const bool good = put_array(zip, name, type, shape, characters, count * width * sizeof *characters);
    free(characters);
    return good;
}

static bool put_all(zipFile zip, const tr_view *v)
{
    char shape[32];
    snprintf(shape, sizeof shape, "%zu,", v->target_count);
    return put_map(zip, "encoder", &v->encoder) && put_map(zip, "decoder", &v->decoder) &&
           put_map(zip, "cross", &v->cross) && put_tokens(zip, "source_tokens", v->source, v->source_count) &&
           put_tokens(zip, "target_tokens", v->target, v->target_count) &&
           put_tokens(zip, "decoder_tokens", v->inputs, v->target_count) &&
           (!v->log_probabilities || put_array(zip, "log_probabilities", "<f4", shape, v->log_probabilities,
                                               v->target_count * sizeof *v->log_probabilities)) &&
           (!v->alignment ||
            put_array(zip, "alignment", "<i4", shape, v->alignment, v->target_count * sizeof *v->alignment));
}

tr_status tr_view_npz(const tr_view *view, tr_buffer *out, tr_error *error)
{
    const size_t size = out->size;
    tr_view_writer w = {.out = out};
    tr_zip_output output;
    const tr_status status = tr_view_check(view, TR_VIEW_MAX_NPZ, "an archive", error);
    if (status != TR_OK)
        return status;
    zipFile zip = tr_zip_create(&output, out);
    w.failed = !zip || !put_all(zip, view);
    if (zip && zipClose(zip, NULL) != ZIP_OK)
        w.failed = true;
    return tr_view_done(&w, size, error);
}
