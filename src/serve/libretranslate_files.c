/* Documents as LibreTranslate has them: a request that waits for the translation, and an address where it is. */
#include <string.h>

#include "serve/file.h"
#include "serve/file_names.h"
#include "util/utf8.h"

/* Whether a header is an address that an answer may repeat. */
static bool is_host(const char *host)
{
    for (const char *c = host; *c; c++)
        if (!tr_is_ascii_word(*c) && !strchr("-.:[]", *c))
            return false;
    return *host;
}

/* Appends "https://HOST", as the client reaches the server; nothing if it does not say. */
static bool append_origin(const request *r, tr_buffer *url)
{
    const bool proxy = r->server->settings->trust_proxy;
    const char *const passed = proxy ? request_header(r, "X-Forwarded-Host") : NULL;
    const char *const scheme = proxy ? request_header(r, "X-Forwarded-Proto") : NULL;
    const char *const host = passed ? passed : request_header(r, "Host");
    if (!host || !is_host(host))
        return true;
    return tr_buffer_string(url, scheme && strcmp(scheme, "https") == 0 ? "https://" : "http://") &&
           tr_buffer_string(url, host);
}

static void translated(request *r, const file *f)
{
    const char *const prefix = r->server->settings->url_prefix;
    const file_view view = files_look(f);
    tr_buffer url = {0};
    if (view.state == FILE_FAILED)
        files_answer(r, f);
    else if (append_origin(r, &url) && tr_buffer_string(&url, prefix ? prefix : "") &&
             tr_buffer_string(&url, "/download_file/") && tr_buffer_string(&url, view.id) && tr_buffer_string(&url, ".") &&
             file_name_escape(view.name, &url))
        answer_json(r, 200, json_pack("{s: s}", "translatedFileUrl", url.data));
    else
        answer_error(r, 503, "out of memory");
    tr_buffer_free(&url);
}

static void added(request *r, const file *f)
{
    ((file *)f)->fleeting = true; /* nobody else knows of it */
    files_wait(r, f, 0, translated);
}

void files_translate(request *r)
{
    const file_options options = {.source = request_text(r, "source"), .target = request_text(r, "target")};
    files_add(r, &options, added);
}

void files_download(request *r)
{
    char id[ID + 1] = "";
    strncat(id, request_part(r), ID); /* the name after it is for people */
    const file *const f = files_find(r, id);
    if (f && files_look(f).state == FILE_DONE)
        files_answer(r, f);
    else
        answer_error(r, 404, "there is no such file; it may have been forgotten");
}
