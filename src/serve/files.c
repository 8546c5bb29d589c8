#include "serve/files.h"
struct files {
    int x;
};
files *files_create(server *s, tr_error *error)
{
    (void)s;
    (void)error;
    static struct files f;
    return &f;
}
void files_free(files *f)
{
    (void)f;
}
void files_add(request *r, const file_options *o, void (*added)(request *r, const file *f))
{
    (void)r;
    (void)o;
    (void)added;
}
const file *files_find(const request *r, const char *id)
{
    (void)r;
    (void)id;
    return NULL;
}
file_view files_look(const file *f)
{
    (void)f;
    return (file_view){0};
}
void files_wait(request *r, const file *f, void (*done)(request *r, const file *f))
{
    (void)r;
    (void)f;
    (void)done;
}
void files_remove(request *r, const char *id)
{
    (void)r;
    (void)id;
}
json_t *files_endings(void)
{
    return json_pack("[s]", ".docx");
}
void files_translate(request *r)
{
    answer_error(r, 500, "no");
}
void files_download(request *r)
{
    answer_error(r, 500, "no");
}
