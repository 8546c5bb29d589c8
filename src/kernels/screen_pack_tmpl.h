/* Makes the 4-bit copies of int8 panels (see tr_screen). The loops over a panel's outputs are what compilers turn into
 * vectors of the level's size; the bits are the same at each. */

/* A number for each output of a panel. */
typedef struct each_output {
    float of[TR_PANEL];
} each_output;

/* Input k < 4 of 16 outputs from a panel's line of them. */
TR_INLINE each_output line_numbers(const uint32_t line[TR_PANEL], int k)
{
    each_output q;
    for (int o = 0; o < TR_PANEL; o++)
        q.of[o] = (float)((int32_t)(line[o] << (24 - 8 * k)) >> 24);
    return q;
}

enum { UPPER_LEVELS = TR_SCREEN_LEVELS / 2 }; /* those above zero; the others are the same below */

/* The levels next to numbers in units of a step, by how many boundaries lie below their magnitude. */
typedef struct coarse_numbers {
    each_output level, number; /* the latter from 0 to 15 */
} coarse_numbers;

TR_INLINE coarse_numbers coarse_of(const each_output *q, const each_output *inverse)
{
    const int8_t *level = tr_screen_levels + UPPER_LEVELS;
    coarse_numbers c;
    for (int o = 0; o < TR_PANEL; o++) {
        const float exact = q->of[o] * inverse->of[o], size = fabsf(exact);
        float height = (float)level[0], above = 0;
        UNROLL(8, i, 1, UPPER_LEVELS) {
            const bool higher = size > 0.5f * (float)(level[i - 1] + level[i]);
            height += higher ? (float)(level[i] - level[i - 1]) : 0;
            above += higher ? 1 : 0;
        }
        c.level.of[o] = exact < 0 ? -height : height;
        c.number.of[o] = exact < 0 ? UPPER_LEVELS - 1 - above : UPPER_LEVELS + above;
    }
    return c;
}

TR_INLINE each_output inverse_of(const each_output *step)
{
    each_output inverse;
    for (int o = 0; o < TR_PANEL; o++)
        inverse.of[o] = step->of[o] > 0 ? 1 / step->of[o] : 0;
    return inverse;
}

TR_INLINE void read_line(const int8_t *lines, int group, uint32_t line[TR_PANEL])
{
    memcpy(line, lines + (size_t)group * TR_LINE, TR_LINE);
}

/* The norms of a panel's outputs, and their greatest magnitudes. */
typedef struct panel_sizes {
    double norm[TR_PANEL];
    each_output most;
} panel_sizes;

enum { SHORT = 64 }; /* groups whose squares are summed in f32: good to 2^-16 */

TR_INLINE void panel_measure(const int8_t *lines, int groups, panel_sizes *sizes)
{
    double squares[TR_PANEL] = {0};
    *sizes = (panel_sizes){.most = {{0}}};
    for (int first = 0; first < groups; first += SHORT) {
        each_output sum = {{0}};
        for (int g = first; g < groups && g < first + SHORT; g++) {
            uint32_t line[TR_PANEL];
            read_line(lines, g, line);
            for (int k = 0; k < 4; k++) {
                const each_output q = line_numbers(line, k);
                for (int o = 0; o < TR_PANEL; o++) {
                    sum.of[o] += q.of[o] * q.of[o];
                    sizes->most.of[o] = fabsf(q.of[o]) > sizes->most.of[o] ? fabsf(q.of[o]) : sizes->most.of[o];
                }
            }
        }
        for (int o = 0; o < TR_PANEL; o++)
            squares[o] += (double)sum.of[o];
    }
    for (int o = 0; o < TR_PANEL; o++)
        sizes->norm[o] = sqrt(squares[o]);
}

/* The steps that leave out least, near enough: what serves a normal distribution, whose levels are 10.75 to a deviation,
 * more for numbers that stand out further. Fitted to random rows of several distributions, of 256 to 1,024 inputs. Inputs
 * count in fours: panels do not tell them closer. */
TR_INLINE each_output coarse_steps(const panel_sizes *sizes, int groups)
{
    each_output step;
    for (int o = 0; o < TR_PANEL; o++) {
        const float deviation = (float)(sizes->norm[o] / sqrt(4.0 * groups));
        step.of[o] = (0.29f * deviation + 0.225f * sizes->most.of[o]) / 10.75f;
    }
    return step;
}

/* The steps as their scales are stored. */
TR_INLINE void store_steps(each_output *step, const float *scale, int n, uint16_t stored[TR_PANEL])
{
    for (int o = 0; o < n; o++) {
        stored[o] = tr_bf16_from_f32(step->of[o] * scale[o]);
        step->of[o] = scale[o] > 0 ? tr_bf16_to_f32(stored[o]) / scale[o] : 0;
    }
}

/* Four inputs of each output as numbers of levels, a byte each. */
TR_INLINE void coarse_line(const uint32_t line[TR_PANEL], const each_output *step, const each_output *inverse,
                           uint32_t coarse[TR_PANEL], each_output *error)
{
    memset(coarse, 0, TR_LINE);
    for (int k = 0; k < 4; k++) {
        const each_output q = line_numbers(line, k);
        const coarse_numbers c = coarse_of(&q, inverse);
        for (int o = 0; o < TR_PANEL; o++) {
            const float e = q.of[o] - step->of[o] * c.level.of[o];
            error->of[o] += e * e;
            coarse[o] |= (uint32_t)(int32_t)c.number.of[o] << 8 * k;
        }
    }
}

/* The lines of coarse numbers, and the squares of what they leave out. */
TR_INLINE void put_coarse(const int8_t *lines, int groups, const each_output *step, char *out, double error[TR_PANEL])
{
    const each_output inverse = inverse_of(step);
    memset(error, 0, TR_PANEL * sizeof *error);
    for (int first = 0; first < groups; first += SHORT) {
        each_output errors = {{0}};
        for (int g = first; g < groups && g < first + SHORT; g += 2) {
            uint32_t line[TR_PANEL], low[TR_PANEL], high[TR_PANEL];
            read_line(lines, g, line);
            coarse_line(line, step, &inverse, low, &errors);
            if (g + 1 < groups)
                read_line(lines, g + 1, line);
            else
                memset(line, 0, sizeof line);
            coarse_line(line, step, &inverse, high, &errors);
            for (int o = 0; o < TR_PANEL; o++)
                low[o] |= high[o] << 4;
            memcpy(out + (size_t)(g / 2) * TR_LINE, low, TR_LINE);
        }
        for (int o = 0; o < TR_PANEL; o++)
            error[o] += (double)errors.of[o];
    }
}

static void screen_pack(const tr_matrix *m, int first, void *lines)
{
    const int groups = (m->inputs + 3) / 4, n = m->outputs - first < TR_PANEL ? m->outputs - first : TR_PANEL;
    const int8_t *w = (const int8_t *)m->data + (size_t)(first / TR_PANEL) * tr_panel_bytes(m->inputs);
    char *factors = (char *)lines + (size_t)(tr_screen_lines(m->inputs) - 1) * TR_LINE;
    uint16_t scale[TR_PANEL] = {0}, radius[TR_PANEL] = {0};
    double error[TR_PANEL];
    panel_sizes sizes;
    panel_measure(w, groups, &sizes);
    each_output step = coarse_steps(&sizes, groups);
    store_steps(&step, m->scale + first, n, scale);
    put_coarse(w, groups, &step, lines, error);
    for (int o = 0; o < n; o++) {
        /* What rounding can add: to products and bounds some units of 2^-24 of all that is added up; to an output of a
         * shifted matrix some of 127 |colsum| <= 127 sqrt(inputs) norm in units of x's scale, of which the bounds' |x| is at
         * least sqrt(inputs) / 2: 2^-14 norm. */
        const double missing = sqrt(error[o]) * 1.0001, reach = missing + 0x1p-13 * (sizes.norm[o] + missing);
        radius[o] =
            (uint16_t)((tr_float_bits((float)(reach * (double)m->scale[first + o] * 1.0001)) + 0xffff) >> 16); /* up */
    }
    memcpy(factors, scale, sizeof scale);
    memcpy(factors + sizeof scale, radius, sizeof radius);
}
