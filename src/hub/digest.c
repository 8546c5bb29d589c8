#define _GNU_SOURCE
#include "hub/digest.h"

#include "util/file.h"

#include <openssl/evp.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCK = 1 << 20 };

static bool begin_digest(EVP_MD_CTX *context, tr_hub_digest kind, uint64_t size)
{
    char head[32];
    if (EVP_DigestInit_ex(context, kind == TR_HUB_SHA256 ? EVP_sha256() : EVP_sha1(), NULL) != 1)
        return false;
    if (kind == TR_HUB_SHA256)
        return true;
    const int n = snprintf(head, sizeof head, "blob %" PRIu64, size);
    return EVP_DigestUpdate(context, head, (size_t)n + 1) == 1; /* with its NUL */
}

static tr_status add_content(EVP_MD_CTX *context, FILE *file, unsigned char *block, const char *path,
                             const tr_hub_options *options, tr_error *error)
{
    size_t n;
    while ((n = fread(block, 1, BLOCK, file)) > 0) {
        if (EVP_DigestUpdate(context, block, n) != 1)
            return tr_fail(error, TR_ERROR_MEMORY, "%s: libcrypto cannot compute its digest", path);
        if (options->stop(options->context))
            return tr_fail(error, TR_ERROR_CANCELLED, "interrupted");
    }
    return ferror(file) ? tr_fail(error, TR_ERROR_IO, "%s: cannot read: %s", path, strerror(errno)) : TR_OK;
}

static bool end(EVP_MD_CTX *context, char hex[TR_HUB_HEX])
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    if (EVP_DigestFinal_ex(context, digest, &size) != 1 || size * 2 >= TR_HUB_HEX)
        return false;
    for (unsigned i = 0; i < size; i++)
        snprintf(hex + 2 * i, 3, "%02x", digest[i]);
    return true;
}

tr_status tr_hub_digest_file(const char *path, tr_hub_digest kind, uint64_t size, const tr_hub_options *options,
                             char hex[TR_HUB_HEX], tr_error *error)
{
    int descriptor;
    tr_status status = tr_open_regular(&descriptor, AT_FDCWD, path, O_RDONLY | O_NOFOLLOW, 0, error);
    if (status != TR_OK)
        return status;
    FILE *file = fdopen(descriptor, "rb");
    if (!file) {
        close(descriptor);
        return tr_fail(error, TR_ERROR_MEMORY, "%s: cannot read: %s", path, strerror(errno));
    }
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    unsigned char *block = malloc(BLOCK);
    if (!context || !block || !begin_digest(context, kind, size))
        status = tr_fail(error, TR_ERROR_MEMORY, "%s: libcrypto cannot compute its digest", path);
    else
        status = add_content(context, file, block, path, options, error);
    if (status == TR_OK && !end(context, hex))
        status = tr_fail(error, TR_ERROR_MEMORY, "%s: libcrypto cannot compute its digest", path);
    free(block);
    EVP_MD_CTX_free(context);
    fclose(file);
    return status;
}
