#include "decoding/loops.h"

/* Tokens at the end that go on as those a period before do, at most; a period, if the last one does not. */
static int repeated(const int32_t *tokens, int count, int period, int most)
{
    int same = period;
    while (same < most && tokens[count - 1 - same + period] == tokens[count - 1 - same])
        same++;
    return same;
}

/* The shortest period of the circle at the end; 0: there is none. */
static int period_of(const int32_t *tokens, int count)
{
    for (int period = 1; period <= TR_LOOP_MAX_PERIOD; period++) {
        const int times = TR_LOOP_MIN_REPEATS * period, needed = times < TR_LOOP_MIN_TOKENS ? TR_LOOP_MIN_TOKENS : times;
        if (needed > count)
            return 0;
        if (repeated(tokens, count, period, needed) == needed)
            return period;
    }
    return 0;
}

static bool is_among(int32_t token, const int32_t *kinds, int count)
{
    for (int k = 0; k < count; k++)
        if (kinds[k] == token)
            return true;
    return false;
}

/* Tokens at the end, at most, of which no more than TR_LOOP_MAX_DISTINCT differ. */
static int few_kinds(const int32_t *tokens, int count, int most)
{
    int32_t kinds[TR_LOOP_MAX_DISTINCT];
    int found = 0, length = 0;
    for (; length < count && length < most; length++) {
        const int32_t token = tokens[count - 1 - length];
        if (is_among(token, kinds, found))
            continue;
        if (found == TR_LOOP_MAX_DISTINCT)
            break;
        kinds[found++] = token;
    }
    return length;
}

static bool babbles(const int32_t *tokens, int count)
{
    return count >= TR_LOOP_WINDOW && few_kinds(tokens, count, TR_LOOP_WINDOW) == TR_LOOP_WINDOW;
}

bool tr_is_looping(const int32_t *tokens, int count)
{
    return period_of(tokens, count) || babbles(tokens, count);
}

int tr_length_before_loop(const int32_t *tokens, int count)
{
    const int period = period_of(tokens, count);
    if (period)
        return count - repeated(tokens, count, period, count) + period;
    if (!babbles(tokens, count))
        return count;
    int left = count - few_kinds(tokens, count, count);
    const int32_t *first = tokens + left;
    while (!is_among(tokens[left], first, (int)(tokens + left - first)))
        left++;
    return left;
}

int tr_first_loop_end(const int32_t *tokens, int count)
{
    for (int last = 1; last <= count; last++)
        if (tr_is_looping(tokens, last))
            return last;
    return 0;
}
