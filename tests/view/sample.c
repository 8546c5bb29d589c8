#include "sample.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const source_words[] = {"▁", "动物", "没有", "过", "马路", ",", "因为", "它", "太", "累", "了", "。"};
static const char *const target_words[] = {"▁The", "▁animal",  "▁did", "▁not", "▁cross", "▁the",   "▁street",
                                           ",",    "▁because", "▁it",  "▁was", "▁too",   "▁tired", "."};

/* Tokens that would end a script, a string, an attribute or a line, are invisible, or are not valid text. */
static const char *const hostile_words[] = {"</script>",
                                            "<!--<script>",
                                            "\"'`\\",
                                            "${alert(1)}",
                                            "{{data}}",
                                            "]]>&amp;",
                                            "\x01\x1b[31m\x7f",
                                            "\xff\xc3(\xf0\x9f",
                                            "\xe2\x80\xa8\xe2\x80\xa9",
                                            "\r\n\t",
                                            "",
                                            "\342\200\256abc",
                                            "\xef\xbf\xbe\xc2\x85",
                                            "%s%n",
                                            "aVeryLongTokenThatNoLabelHasRoomForInAnyMapWhatever"};

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size);
    if (!memory)
        exit(1);
    return memory;
}

static tr_view_text text_of(const char *s)
{
    return (tr_view_text){s, strlen(s)};
}

/* Words of the list, repeated in turn, and EOS. */
static tr_view_text *words(const char *const *list, int size, int count)
{
    tr_view_text *tokens = allocate((size_t)count, sizeof *tokens);
    for (int i = 0; i < count; i++)
        tokens[i] = text_of(i + 1 == count ? "</s>" : list[i % size]);
    return tokens;
}

/* A head attends to positions around the one that corresponds to its own, more or less sharply, and to the last one. */
static tr_attention_map map_of(int layers, int heads, int rows, int columns, bool triangle)
{
    const size_t count = (size_t)layers * (size_t)heads * (size_t)rows * (size_t)columns;
    float *weights = allocate(count, sizeof *weights), *row = weights;
    for (int l = 0; l < layers; l++)
        for (int h = 0; h < heads; h++)
            for (int r = 0; r < rows; r++, row += columns) {
                const int end = triangle ? r + 1 : columns;
                const double centre = (double)r * columns / rows + (h % 5 - 2);
                double sum = 0;
                for (int c = 0; c < end; c++)
                    sum += row[c] = (float)(exp(-fabs(c - centre) / (0.4 + l % 6)) + (c + 1 == end ? 0.1 * h : 0.001));
                for (int c = 0; c < end; c++)
                    row[c] = (float)(row[c] / sum);
            }
    return (tr_attention_map){layers, heads, rows, columns, weights};
}

#define WORDS(list) (int)(sizeof list / sizeof *list)

static tr_view make(int sources, int targets, int layers, int heads, const char *const *source_list, int source_size,
                    const char *const *target_list, int target_size)
{
    tr_view_text *target = words(target_list, target_size, targets);
    tr_view_text *inputs = allocate((size_t)targets, sizeof *inputs);
    float *probabilities = allocate((size_t)targets, sizeof *probabilities);
    int32_t *alignment = allocate((size_t)targets, sizeof *alignment);
    for (int i = 0; i < targets; i++) {
        inputs[i] = i ? target[i - 1] : text_of("<pad>");
        probabilities[i] = logf(0.05f + 0.95f * (float)((i * 7 + 3) % 10) / 10);
        alignment[i] = (int)((double)i * sources / targets);
    }
    return (tr_view){.model = text_of("sample"),
                     .text = text_of("动物没有过马路，因为它太累了。"),
                     .translation = text_of("The animal did not cross the street, because it was too tired."),
                     .source = words(source_list, source_size, sources),
                     .target = target,
                     .inputs = inputs,
                     .source_count = (size_t)sources,
                     .target_count = (size_t)targets,
                     .log_probabilities = probabilities,
                     .alignment = alignment,
                     .encoder = map_of(layers, heads, sources, sources, false),
                     .decoder = map_of(layers, heads, targets, targets, true),
                     .cross = map_of(layers, heads, targets, sources, false)};
}

tr_view sample_make(int sources, int targets, int layers, int heads)
{
    return make(sources, targets, layers, heads, source_words, WORDS(source_words), target_words, WORDS(target_words));
}

tr_view sample_make_hostile(int sources, int targets, int layers, int heads)
{
    tr_view v =
        make(sources, targets, layers, heads, hostile_words, WORDS(hostile_words), hostile_words, WORDS(hostile_words));
    v.model = v.text = v.translation = text_of("a</title></script><script>alert(1)</script>{{data}}\"'&\xff\x01]]>");
    return v;
}
void sample_free(tr_view *v)
{
    free((void *)v->source);
    free((void *)v->target);
    free((void *)v->inputs);
    free((void *)v->log_probabilities);
    free((void *)v->alignment);
    free(v->encoder.weights);
    free(v->decoder.weights);
    free(v->cross.weights);
}
