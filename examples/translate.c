/* translate MODEL TEXT...: translates each text and prints one line per text. */
#include <stdio.h>
#include <translate/translate.h>

int main(int argc, char **argv)
{
    tr_error error;
    tr_model *model = NULL;
    tr_context *context = NULL;
    tr_results *results = NULL;
    if (argc < 3) {
        fprintf(stderr, "usage: %s MODEL TEXT...\n", argv[0]);
        return 2;
    }
    const char *const *texts = (const char *const *)argv + 2;
    const size_t count = (size_t)argc - 2;
    const bool failed = tr_model_open(argv[1], NULL, &model, &error) || tr_context_create(model, NULL, &context, &error) ||
                        tr_translate(context, texts, NULL, count, NULL, &results, &error);
    if (failed)
        fprintf(stderr, "%s: %s\n", argv[0], error.message);
    for (size_t i = 0; i < tr_results_count(results); i++)
        puts(tr_results_text(results, i, NULL));
    tr_results_free(results);
    tr_context_destroy(context);
    tr_model_close(model);
    return failed;
}
