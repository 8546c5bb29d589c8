/* What linear attention's weights are, for those who ask: the sums never hold them. */
#include "attention/linear.h"

#include <string.h>

/* Queries [first, first + count): at first the scores, then over their sum. */
static void write_strip(const tr_linear_kind *l, int thread, int64_t pair, int first, int count)
{
    const tr_call *call = l->call;
    const float *queries = tr_key_chunk_queries(l, thread, pair, first, count);
    double totals[TR_KEY_CHUNK] = {0};
    memset(tr_row_weights(call, pair, first), 0, (size_t)count * (size_t)call->columns * sizeof(float));
    const int64_t farthest = call->mask.causal ? call->mask.position + first + count : call->keys;
    for (int key = 0; key < call->keys && key < farthest; key += TR_KEY_CHUNK) {
        const tr_key_chunk chunk = tr_key_chunk_read(l, thread, pair, key);
        if (!chunk.count)
            continue;
        const float *scores = tr_key_chunk_scores(l, thread, &chunk, queries, first, count);
        for (int i = 0; i < count; i++) {
            float *row = tr_row_weights(call, pair, first + i);
            for (int j = 0; j < chunk.count; j++) {
                row[chunk.at[j]] = scores[i * TR_KEY_CHUNK + j];
                totals[i] += scores[i * TR_KEY_CHUNK + j];
            }
        }
    }
    for (int i = 0; i < count; i++) {
        float *row = tr_row_weights(call, pair, first + i);
        const float factor = totals[i] == 0 ? 0 : (float)(1 / totals[i]);
        for (int j = 0; j < call->columns; j++)
            row[j] = row[j] == 0 ? 0 : row[j] * factor; /* where the query does not attend, even if its sum is NaN */
    }
}

void tr_linear_weights(const void *work, int thread, int64_t unit)
{
    const tr_linear_kind *l = work;
    const int begin = (int)(unit % l->tiles) * l->tile, left = l->call->queries - begin,
              end = begin + (left < l->tile ? left : l->tile);
    for (int first = begin; first < end; first += TR_KEY_CHUNK)
        write_strip(l, thread, unit / l->tiles, first, end - first < TR_KEY_CHUNK ? end - first : TR_KEY_CHUNK);
}
