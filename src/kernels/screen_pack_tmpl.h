/* Makes the 4-bit copies of int8 panels (see tr_screen). The loops over a panel's outputs are what compilers turn into vectors of
 * the level's size; the bits are the same at each. */

/* A number for each output of a panel. */
typedef struct each_output {
    float of[TR_PANEL];
} each_output;

enum { COARSE_LEAST = -8, COARSE_MOST = 7 };

/* Input k < 4 of 16 outputs from a panel's line of them. */
TR_INLINE each_output line_numbers(const uint32_t line[TR_PANEL], int k)
{
    each_output q;
    for (int o = 0; o < TR_PANEL; o++)
        q.of[o] = (float)((int32_t)(line[o] << (24 - 8 * k)) >> 24);
    return q;
}

/* Whole numbers from -8 to 7. */
TR_INLINE each_output coarse_of(const each_output *q, const each_output *inverse)
{
    each_output c;
    for (int o = 0; o < TR_PANEL; o++) {
        const float exact = q->of[o] * inverse->of[o];
        const float low = exact > COARSE_LEAST ? exact : COARSE_LEAST, cut = low < COARSE_MOST ? low : COARSE_MOST;
        c.of[o] = (cut + 12582912.0f) - 12582912.0f; /* 1.5 * 2^23: rounds to a whole number */
    }
    return c;
}

TR_INLINE each_output inverse_of(const each_output *step)
{
    each_output inverse;
    for (int o = 0; o < TR_PANEL; o++)
        inverse.of[o] = 1 / step->of[o];
    return inverse;
}

TR_INLINE void read_line(const int8_t *lines, int group, uint32_t line[TR_PANEL])
{
    memcpy(line, lines + (size_t)group * TR_LINE, TR_LINE);
}

/* A panel's outputs as whole numbers times step: the squares of what that leaves out. */
TR_INLINE void coarse_errors(const int8_t *lines, int inputs, const each_output *step, double error[TR_PANEL])
{
    enum { SHORT = 64 }; /* groups that are summed in f32: the sum is good to 2^-16 */
    const each_output inverse = inverse_of(step);
    const int groups = (inputs + 3) / 4;
    memset(error, 0, TR_PANEL * sizeof *error);
    for (int first = 0; first < groups; first += SHORT) {
        each_output sum = {{0}};
        for (int g = first; g < groups && g < first + SHORT; g++) {
            uint32_t line[TR_PANEL];
            read_line(lines, g, line);
            for (int k = 0; k < 4; k++) {
                const each_output q = line_numbers(line, k), c = coarse_of(&q, &inverse);
                for (int o = 0; o < TR_PANEL; o++) {
                    const float e = q.of[o] - step->of[o] * c.of[o];
                    sum.of[o] += e * e;
                }
            }
        }
        for (int o = 0; o < TR_PANEL; o++)
            error[o] += (double)sum.of[o];
    }
}

TR_INLINE each_output greatest_numbers(const int8_t *lines, int inputs)
{
    each_output most = {{0}};
    for (int g = 0; g < (inputs + 3) / 4; g++) {
        uint32_t line[TR_PANEL];
        read_line(lines, g, line);
        for (int k = 0; k < 4; k++) {
            const each_output q = line_numbers(line, k);
            for (int o = 0; o < TR_PANEL; o++)
                most.of[o] = fabsf(q.of[o]) > most.of[o] ? fabsf(q.of[o]) : most.of[o];
        }
    }
    return most;
}

/* The steps that leave out least: the greatest weights may be cut. */
TR_INLINE each_output coarse_steps(const int8_t *lines, int inputs, double error[TR_PANEL])
{
    const each_output most = greatest_numbers(lines, inputs);
    each_output best = {{0}};
    for (int cut = 0; cut < 6; cut++) {
        each_output step;
        double errors[TR_PANEL];
        for (int o = 0; o < TR_PANEL; o++)
            step.of[o] = most.of[o] > 0 ? most.of[o] * (1 - 0.07f * (float)cut) / 7.5f : 1;
        coarse_errors(lines, inputs, &step, errors);
        for (int o = 0; o < TR_PANEL; o++)
            if (cut == 0 || errors[o] < error[o]) {
                error[o] = errors[o];
                best.of[o] = step.of[o];
            }
    }
    return best;
}

/* The lines of coarse numbers, and their sums. */
TR_INLINE void put_coarse(const int8_t *lines, int inputs, const each_output *step, char *out, int32_t colsum[TR_PANEL])
{
    const each_output inverse = inverse_of(step);
    each_output sum = {{0}};
    for (int g = 0; g < (inputs + 3) / 4; g++) {
        uint32_t line[TR_PANEL], coarse[TR_PANEL] = {0};
        read_line(lines, g, line);
        for (int k = 0; k < 4; k++) {
            const each_output q = line_numbers(line, k), c = coarse_of(&q, &inverse);
            for (int o = 0; o < TR_PANEL; o++) {
                coarse[o] |= (uint32_t)(c.of[o] + 8) << 8 * k;
                sum.of[o] += c.of[o];
            }
        }
        char *to = out + (size_t)(g / 2) * TR_LINE;
        if (g % 2) {
            memcpy(line, to, TR_LINE);
            for (int o = 0; o < TR_PANEL; o++)
                coarse[o] = (line[o] & 0x0f0f0f0f) | coarse[o] << 4;
        } else {
            for (int o = 0; o < TR_PANEL; o++)
                coarse[o] |= 0x80808080;
        }
        memcpy(to, coarse, TR_LINE);
    }
    for (int o = 0; o < TR_PANEL; o++)
        colsum[o] = (int32_t)sum.of[o];
}

static void screen_pack(const tr_matrix *m, int first, void *lines)
{
    static const each_output all = {
        {1024, 1024, 1024, 1024, 1024, 1024, 1024, 1024, 1024, 1024, 1024, 1024, 1024, 1024, 1024, 1024}};
    const int8_t *w = (const int8_t *)m->data + (size_t)(first / TR_PANEL) * tr_panel_bytes(m->inputs);
    char *out = lines, *factors = out + (size_t)(tr_screen_lines(m->inputs) - 3) * TR_LINE;
    float scale[TR_PANEL] = {0}, radius[TR_PANEL] = {0};
    int32_t colsum[TR_PANEL];
    double error[TR_PANEL], squares[TR_PANEL];
    const each_output step = coarse_steps(w, m->inputs, error);
    coarse_errors(w, m->inputs, &all, squares); /* a step that leaves out all */
    put_coarse(w, m->inputs, &step, out, colsum);
    for (int o = 0; o < TR_PANEL && first + o < m->outputs; o++) {
        const double norm = sqrt(squares[o]), missing = sqrt(error[o]) * 1.0001;
        scale[o] = step.of[o] * m->scale[first + o];
        /* What rounding can add: to products and bounds some units of 2^-24 of all that is added up; to an output of a
         * shifted matrix some of 127 |colsum| <= 127 sqrt(inputs) norm in units of x's scale, of which the bounds' |x| is at
         * least sqrt(inputs) / 2: 2^-14 norm. */
        radius[o] = (float)((missing + 0x1p-13 * (norm + missing)) * (double)m->scale[first + o] * 1.0001);
    }
    memcpy(factors, scale, sizeof scale);
    memcpy(factors + TR_LINE, radius, sizeof radius);
    memcpy(factors + 2 * TR_LINE, colsum, sizeof colsum);
}
