/* The loop of decoding. All threads go through the same phases, each either the encoder on a chunk of sentences or a step of
 * the decoder. Between two barriers, while the others wait, thread 0 finishes a phase and prepares the next. */
#include <math.h>

#include "decoding/beam.h"
#include "decoding/forced.h"
#include "decoding/greedy.h"
#include "decoding/stopping.h"
#include "decoding/worker.h"
#include "model/embedding.h"

static tr_status fail_cancelled(tr_error *error)
{
    return tr_fail(error, TR_ERROR_CANCELLED, "decoding: cancelled");
}

/* --------------------------------------------------------------------------------------------------------- new sentences */

static tr_status check_sentence(const tr_worker *w, const tr_sequence *seq, tr_error *error)
{
    const tr_config *c = w->search.config;
    const tr_status status = tr_check_source(seq, c, w->max_positions, error);
    if (status != TR_OK)
        return status;
    if (seq->max_length < 1 || seq->max_length > w->max_positions || seq->max_length < w->search.min_length)
        return tr_fail(error, TR_ERROR_ARGUMENT, "maximum length: is out of range");
    for (int t = 0; t < seq->prefix_length; t++)
        if (seq->prefix[t] < 0 || seq->prefix[t] >= c->target_vocabulary || seq->prefix[t] == c->eos_id)
            return tr_fail(error, TR_ERROR_ARGUMENT, "prefix: has a token outside the vocabulary, or EOS");
    return TR_OK;
}

/* Takes sentences from the feed. The first one with constraints of its own (see tr_sequence) has memory reserved. */
static tr_status admit_sentences(tr_worker *w)
{
    const tr_search *s = &w->search;
    tr_slot *slot;
    tr_status status = TR_OK;
    while (status == TR_OK && (slot = tr_batch_take(&w->batch, w->callbacks))) {
        tr_sequence *seq = slot->sequence;
        status = check_sentence(w, seq, &w->error);
        slot->strays = status == TR_OK && s->options.valid_utf8 ? tr_stray_symbols(s->config, seq) : 0;
        seq->no_strays = seq->no_strays && slot->strays;
        if (status == TR_OK && tr_has_constraints(s, seq))
            status = tr_worker_reserve_candidates(w, &w->error);
        if (status != TR_OK)
            break;
        seq->target_length = 0;
        seq->finished = seq->looped = seq->strayed = seq->cancelled = false;
        tr_slot_begin(&w->hyps, slot, s->options.sample ? s->shape.beams : 1, s->shape.beams);
        if (s->options.sample)
            slot->draw_key = tr_sample_key(s->options.seed, seq->source, seq->source_length);
    }
    return status;
}

static tr_status prepare_encoder(tr_worker *w)
{
    tr_batch *batch = &w->batch;
    w->phase = TR_PHASE_ENCODE;
    const tr_status status = tr_batch_lay_out_chunk(batch, w->states, w->models.count, TR_ENCODER_ROWS, &w->error);
    for (int i = batch->decoded; w->shortlists.shortlist && i < batch->decoded + batch->chunk; i++) {
        tr_slot *slot = tr_batch_slot(batch, i);
        tr_shortlist_output_list(&w->shortlists, slot->shortlist, w->models.networks[0], slot->sequence->source,
                                 slot->sequence->source_length);
    }
    return status;
}

/* All threads: gathers the outputs of the chunk's shortlists. */
static void gather_shortlists(const tr_worker *w, int thread)
{
    for (int i = w->batch.decoded; i < w->batch.decoded + w->batch.chunk; i++) {
        tr_shortlist_output *shortlist = tr_batch_slot(&w->batch, i)->shortlist;
        const tr_range own = tr_share(shortlist->count, TR_PANEL, thread, w->states[0].ws.threads);
        const float *bias = w->forbidden.shortlist_bias ? w->forbidden.shortlist_bias : w->forbidden.bias;
        tr_shortlist_output_gather(shortlist, w->models.networks[0], bias, own.begin, own.end);
    }
}

/* Rows for the known tokens of the new sentences, as many as there is memory for; the others take a step each. None while
 * tests trace the rows of each step. */
static int count_prefill_rows(const tr_worker *w, int rows)
{
    int64_t prefill = 0;
    for (int i = 0; i < w->batch.decoded && !w->states[0].ws.trace; i++) {
        const tr_slot *slot = tr_batch_slot(&w->batch, i);
        const int beams = w->search.options.sample ? w->search.shape.beams : 1; /* each of one hypothesis at first */
        if (slot->step == 0)
            prefill += (int64_t)beams * tr_known_tokens(&w->search, slot->sequence);
    }
    const int max_rows = w->states[0].max_rows - rows;
    return prefill < max_rows ? (int)prefill : max_rows;
}

/* After the last chunk the arenas are the decoder's again. */
static tr_status finish_encoder(tr_worker *w)
{
    tr_batch *batch = &w->batch;
    tr_status status = TR_OK;
    batch->decoded += batch->chunk;
    if (batch->decoded < batch->taken)
        return TR_OK;
    const int rows = batch->decoded * w->search.shape.beams * w->search.shape.width;
    batch->max_prefill_rows = count_prefill_rows(w, rows);
    for (int m = 0; m < w->models.count && status == TR_OK; m++) {
        tr_arena_rewind(&w->states[m].ws.arena, 0);
        status = tr_model_state_set_rows(&w->states[m], rows + batch->max_prefill_rows, &w->error);
    }
    return status;
}

/* -------------------------------------------------------------------------------------------------------- a decoder step */

/* Whether the step needs more than the best token of each row of one model. */
static bool needs_candidates(const tr_worker *w)
{
    bool needed = w->search.probabilities || w->models.count > 1;
    for (int i = 0; i < w->batch.decoded && !needed; i++)
        needed = tr_has_constraints(&w->search, tr_batch_slot(&w->batch, i)->sequence);
    return needed;
}

/* Rows of a hypothesis for the positions from `position` on: embeds their tokens in every model, and gives the hypothesis
 * memory for their keys and values. */
static tr_status prepare_rows(tr_worker *w, tr_live_hyp *hyp, int first_row, int rows, int position)
{
    const int at = w->batch.self_seqs++;
    tr_status status = TR_OK;
    for (int m = 0; m < w->models.count && status == TR_OK; m++) {
        tr_model_state *model = &w->states[m];
        tr_hyp_cache *cache = &hyp->caches[m];
        if (model->self_attends)
            status = tr_kv_pool_extend(&model->pool, &cache->self, position + rows, &w->error);
        model->self_seqs[at] = (tr_seq){.first_row = first_row,
                                        .rows = rows,
                                        .cache = &cache->self,
                                        .position = position,
                                        .length = position + 1,
                                        .causal = rows > 1,
                                        .recurrent = cache->recurrent};
        for (int p = position; p < position + rows; p++)
            tr_embed(&model->ws, &model->ws.network->target, first_row + p - position,
                     p ? hyp->tokens[p - 1] : w->search.start.id, p);
    }
    return status;
}

/* Rows of a sentence attend to its one cross-attention cache together. */
static void prepare_cross_attention(tr_worker *w, tr_slot *slot, int first_row, int rows)
{
    const int at = w->batch.cross_seqs++;
    for (int m = 0; m < w->models.count; m++)
        w->states[m].cross_seqs[at] = (tr_seq){
            .first_row = first_row, .rows = rows, .cache = &slot->caches[m].cross, .length = slot->sequence->source_length};
    if (w->search.shape.coverage)
        tr_coverage_capture(&w->coverage, w->search.config, at, &w->states[0].cross_seqs[at]);
}

/* Known tokens of a hypothesis, computed together. With unnormalised_kv the first token is a sequence of its own, since its
 * keys differ from those of the others. */
static tr_status prepare_prefill(tr_worker *w, const tr_slot *slot, tr_live_hyp *hyp, int first_row)
{
    const int position = slot->step, rows = slot->prefill;
    const bool splits = w->search.config->unnormalised_kv && position == 0 && rows > 1;
    tr_status status = TR_OK;
    for (int t = 0; t < rows; t++)
        hyp->tokens[position + t] = tr_known_token(&w->search, slot->sequence, position + t);
    if (splits)
        status = prepare_rows(w, hyp, first_row, 1, 0);
    if (status == TR_OK)
        status = prepare_rows(w, hyp, first_row + splits, rows - splits, position + splits);
    return status;
}

/* The known tokens of a sentence for which the step has rows: its hypotheses have them as tokens from now on. */
static tr_status prepare_known_tokens(tr_worker *w, tr_slot *slot)
{
    tr_batch *batch = &w->batch;
    const int known = tr_known_tokens(&w->search, slot->sequence) - slot->step;
    const int possible = (batch->max_prefill_rows - batch->prefill_rows) / slot->rows;
    int row = slot->first_prefill_row = batch->rows + batch->prefill_rows;
    slot->prefill = known < possible ? known : possible;
    if (slot->prefill <= 0) {
        slot->prefill = 0;
        return TR_OK;
    }
    for (int b = 0; b < w->search.shape.beams; b++)
        for (int k = 0; k < slot->beams[b].live_count; k++, row += slot->prefill) {
            const tr_status status = prepare_prefill(w, slot, slot->beams[b].live[k], row);
            if (status != TR_OK)
                return status;
        }
    batch->prefill_rows += slot->rows * slot->prefill;
    prepare_cross_attention(w, slot, slot->first_prefill_row, slot->rows * slot->prefill);
    slot->step += slot->prefill;
    return TR_OK;
}

static tr_status prepare_sentence(tr_worker *w, tr_slot *slot)
{
    tr_shortlist_output *shortlist = slot->shortlist;
    tr_status status = prepare_known_tokens(w, slot);
    int row = slot->first_row;
    for (int b = 0; b < w->search.shape.beams; b++) {
        tr_beam *beam = &slot->beams[b];
        beam->first_row = row;
        for (int k = 0; k < beam->live_count && status == TR_OK; k++, row++) {
            tr_live_hyp *hyp = beam->live[k];
            status = prepare_rows(w, hyp, row, 1, slot->step);
            if (w->by_candidates)
                tr_candidates_set_rules(&w->candidates, &w->search, row, slot, hyp, shortlist);
            if (w->search.options.sample)
                w->sampler.draws[row] = (tr_draw){.key = slot->draw_key, .number = b, .step = slot->step};
        }
    }
    prepare_cross_attention(w, slot, slot->first_row, slot->rows);
    if (shortlist && shortlist->eos >= 0)
        shortlist->bias[shortlist->eos] =
            slot->step < w->search.min_length ? -INFINITY : shortlist->bias_unmasked[shortlist->eos];
    return status;
}

static void count_caches(const tr_worker *w)
{
    tr_profile *profile = w->states[0].ws.profile;
    uint64_t bytes = 0;
    for (int m = 0; m < w->models.count; m++)
        bytes += w->states[m].pool.arena.used;
    if (profile && bytes > profile->cache_bytes)
        profile->cache_bytes = bytes;
}

static tr_status prepare_step(tr_worker *w)
{
    tr_batch *batch = &w->batch;
    tr_status status = TR_OK;
    w->phase = TR_PHASE_DECODE;
    w->by_candidates = needs_candidates(w);
    batch->rows = batch->prefill_rows = batch->self_seqs = batch->cross_seqs = 0;
    for (int i = 0; i < batch->decoded; i++) {
        tr_slot *slot = tr_batch_slot(batch, i);
        slot->first_row = batch->rows;
        for (int b = 0; b < w->search.shape.beams; b++)
            batch->rows += slot->beams[b].live_count;
        slot->rows = batch->rows - slot->first_row;
    }
    for (int i = 0; i < batch->decoded && status == TR_OK; i++)
        status = prepare_sentence(w, tr_batch_slot(batch, i));
    tr_workspace_count_step(&w->states[0].ws, batch->rows);
    count_caches(w);
    return status;
}

/* Tests see the logits of the rows whose tokens are not known; these are the first ones. */
static void trace_logits(const tr_worker *w, tr_forward *fwd)
{
    tr_workspace *ws = fwd->ws;
    const tr_linear *output = &ws->network->output;
    int rows = 0;
    for (int i = 0; i < w->batch.decoded; i++) {
        const tr_slot *slot = tr_batch_slot(&w->batch, i);
        rows += slot->step < tr_known_tokens(&w->search, slot->sequence) ? 0 : slot->rows;
    }
    if (!rows)
        return;
    tr_output_logits(fwd, 0, rows, output->bias, w->traced_logits);
    tr_workspace_barrier(ws);
    if (fwd->thread == 0)
        ws->trace(ws->trace_argument, "logits", 0, w->traced_logits, rows, output->weight.outputs);
}

/* All threads: the decoder on the rows, and what the search reads of its output. */
static void decode_step(tr_worker *w, int thread)
{
    const tr_batch *batch = &w->batch;
    tr_forward fwds[TR_MAX_ENSEMBLE];
    for (int m = 0; m < w->models.count; m++) {
        tr_model_state *model = &w->states[m];
        fwds[m] = tr_forward_begin(&model->ws, thread, batch->rows + batch->prefill_rows);
        tr_decoder_forward(&fwds[m], &model->pool.shape, model->self_seqs, batch->self_seqs, model->cross_seqs,
                           batch->cross_seqs);
        fwds[m].rows = batch->rows; /* prefill rows come after these and are not read */
    }
    if (!w->by_candidates)
        tr_greedy_argmax(&fwds[0], batch, &w->search, &w->forbidden);
    else if (w->search.options.sample)
        tr_sampler_draw(&w->sampler, &w->search.options, fwds);
    else
        tr_candidates_find(&w->candidates, fwds);
    if (w->states[0].ws.trace && !w->by_candidates)
        trace_logits(w, &fwds[0]);
}

/* ---------------------------------------------------------------------------------------------------------- after a step */

/* Reports a token to the caller, who may end the beam with it. */
static tr_status report_token(tr_worker *w, tr_slot *slot, tr_beam *beam, int32_t id, float log_probability)
{
    const tr_decoded_token token = {.sequence = slot->sequence,
                                    .draw = (int)(beam - slot->beams),
                                    .step = slot->step,
                                    .id = id,
                                    .log_probability = w->search.probabilities ? log_probability : 0,
                                    .last = !beam->live_count};
    const int answer = w->callbacks->token(w->callbacks->argument, &token);
    if (answer > 0 && beam->live_count)
        tr_beam_cut(&w->search, &w->hyps, slot, beam, slot->step + 1);
    return answer < 0 ? fail_cancelled(&w->error) : TR_OK;
}

/* All hypotheses get the same token. */
static tr_status append_known_token(tr_worker *w, tr_slot *slot, int32_t id)
{
    for (int b = 0; b < w->search.shape.beams; b++) {
        tr_beam *beam = &slot->beams[b];
        if (!beam->live_count)
            continue;
        for (int k = 0; k < beam->live_count; k++)
            tr_live_hyp_append(beam->live[k], slot->step, id, 0, 0);
        tr_beam_cut_at_limit(&w->search, &w->hyps, slot, beam, slot->step + 1);
        const tr_status status = w->callbacks->token ? report_token(w, slot, beam, id, 0) : TR_OK;
        if (status != TR_OK)
            return status;
    }
    return TR_OK;
}

/* The token of a beam of one hypothesis: its best one, or the one that was drawn; id -1: none may come. */
static tr_status find_token(const tr_worker *w, const tr_slot *slot, int row, tr_candidate *token, tr_error *error)
{
    *token = (tr_candidate){-1, 0, 0};
    if (!w->by_candidates)
        return tr_greedy_token(&w->states[0].ws, &w->forbidden, slot, row, &token->id, error);
    if (w->search.options.sample) {
        *token = w->sampler.draws[row].drawn;
        return w->sampler.draws[row].nan ? tr_fail_numeric(error) : TR_OK;
    }
    const int count = tr_candidates_take(&w->candidates, row, w->candidates.taken);
    if (count > 0)
        *token = w->candidates.taken[0];
    return count < 0 ? tr_fail_numeric(error) : TR_OK;
}

static tr_status advance_beam(tr_worker *w, tr_slot *slot, tr_beam *beam)
{
    const tr_search *s = &w->search;
    tr_candidate token;
    if (s->shape.width > 1)
        return tr_beam_advance(s, &w->hyps, &w->candidates, slot, beam, &w->error);
    const tr_status status = find_token(w, slot, beam->first_row, &token, &w->error);
    if (status != TR_OK)
        return status;
    tr_greedy_append(s, &w->hyps, slot, beam, &token);
    if (!w->callbacks->token)
        return TR_OK;
    return report_token(w, slot, beam, token.id < 0 ? s->config->eos_id : token.id, token.log_probability);
}

/* Each live hypothesis of a sentence gets its next token. */
static tr_status advance_sentence(tr_worker *w, tr_slot *slot)
{
    const tr_search *s = &w->search;
    const int known = tr_known_tokens(s, slot->sequence);
    tr_status status = TR_OK;
    if (slot->step < known)
        return append_known_token(w, slot, tr_known_token(s, slot->sequence, slot->step));
    if (s->options.alternatives && slot->step == known)
        return tr_alternatives_begin(s, &w->hyps, &w->candidates, slot, &w->error);
    for (int b = 0; b < s->shape.beams && status == TR_OK; b++) {
        tr_beam *beam = &slot->beams[b];
        if (beam->live_count)
            status = advance_beam(w, slot, beam);
    }
    return status;
}

/* Adds the attention of one row of each hypothesis; the rows are row_stride rows apart. */
static void add_coverage(const tr_worker *w, const tr_slot *slot, int first_row, int row_stride)
{
    for (int b = 0; b < w->search.shape.beams && w->search.shape.coverage; b++) {
        const tr_beam *beam = &slot->beams[b];
        for (int k = 0; k < beam->live_count; k++)
            tr_coverage_add(&w->coverage, first_row + (beam->first_row - slot->first_row + k) * row_stride, beam->live[k],
                            slot->sequence->source_length);
    }
}

/* The step's known tokens of a sentence, which is complete if one of them ends it, and its next token. */
static tr_status finish_sentence(tr_worker *w, tr_slot *slot)
{
    const int beams = w->search.shape.beams;
    tr_status status = TR_OK;
    slot->step -= slot->prefill;
    for (int t = 0; t < slot->prefill && status == TR_OK; t++) {
        if (!tr_slot_is_complete(slot, beams)) {
            add_coverage(w, slot, slot->first_prefill_row + t, slot->prefill);
            status = append_known_token(w, slot, tr_known_token(&w->search, slot->sequence, slot->step));
        }
        slot->step++;
    }
    if (status == TR_OK && !tr_slot_is_complete(slot, beams)) {
        add_coverage(w, slot, slot->first_row, 1);
        status = advance_sentence(w, slot);
        slot->step++;
    }
    return status;
}

/* Sentences that are complete are handed over. */
static tr_status finish_step(tr_worker *w)
{
    const tr_search *s = &w->search;
    for (int i = 0; i < w->batch.decoded; i++) {
        tr_slot *slot = tr_batch_slot(&w->batch, i);
        const tr_status status = finish_sentence(w, slot);
        if (status != TR_OK)
            return status;
        if (!tr_slot_is_complete(slot, s->shape.beams))
            continue;
        tr_slot_hand_over(&w->hyps, slot, s->shape.beams, s->shape.beams > 1 ? 1 : s->options.n_best, s->probabilities);
        tr_sequence *seq = tr_batch_leave(&w->batch, slot, w->states, w->models.count);
        if (!w->callbacks->done(w->callbacks->argument, seq))
            return fail_cancelled(&w->error);
    }
    tr_batch_compact(&w->batch);
    return TR_OK;
}

/* Sentences that are no longer wanted leave the batch without results. */
static tr_status drop_cancelled(tr_worker *w)
{
    tr_batch *batch = &w->batch;
    bool dropped = false;
    for (int i = 0; i < batch->decoded; i++) {
        tr_slot *slot = tr_batch_slot(batch, i);
        const atomic_bool *cancel = slot->sequence->cancel;
        if (!cancel || !atomic_load_explicit(cancel, memory_order_relaxed))
            continue;
        for (int b = 0; b < w->search.shape.beams; b++)
            tr_beam_end(&w->hyps, slot, &slot->beams[b]);
        tr_sequence *seq = tr_batch_leave(batch, slot, w->states, w->models.count);
        seq->results = NULL;
        seq->result_count = 0;
        seq->cancelled = dropped = true;
        if (!w->callbacks->done(w->callbacks->argument, seq))
            return fail_cancelled(&w->error);
    }
    if (dropped)
        tr_batch_compact(batch);
    return TR_OK;
}

/* -------------------------------------------------------------------------------------------------------------- the loop */

/* Sentences that wait for the encoder come first, then a step of the decoder, then the end. */
static tr_status prepare_phase(tr_worker *w)
{
    tr_batch *batch = &w->batch;
    tr_status status = TR_OK;
    w->phase = TR_PHASE_END;
    if ((w->callbacks->step && !w->callbacks->step(w->callbacks->argument)) ||
        (w->callbacks->stop && atomic_load_explicit(w->callbacks->stop, memory_order_relaxed)))
        return fail_cancelled(&w->error);
    if (batch->decoded == batch->taken)
        status = drop_cancelled(w);
    if (status == TR_OK && batch->decoded == batch->taken && tr_batch_wants_sentences(batch))
        status = admit_sentences(w);
    if (status == TR_OK && batch->decoded < batch->taken)
        status = prepare_encoder(w);
    else if (status == TR_OK && batch->decoded)
        status = prepare_step(w);
    return status;
}

static tr_status begin_call(tr_worker *w, const tr_decode_options *options, const tr_decode_callbacks *callbacks)
{
    w->phase = TR_PHASE_END;
    const tr_status status = tr_worker_start(w, options, callbacks, &w->error);
    if (status != TR_OK)
        return status;
    w->forcing = options->forced;
    return w->forcing ? tr_forced_prepare(w) : prepare_phase(w);
}

static tr_status finish_phase(tr_worker *w)
{
    tr_workspace_enter(&w->states[0].ws, 0, TR_PROFILE_REST);
    for (int m = 0; m < w->models.count; m++)
        w->states[m].pool.copy_count = 0;
    if (w->forcing)
        return tr_forced_finish(w);
    const tr_status status = w->phase == TR_PHASE_ENCODE ? finish_encoder(w) : finish_step(w);
    return status == TR_OK ? prepare_phase(w) : status;
}

tr_status tr_decode(tr_worker *w, int thread, const tr_decode_options *options, const tr_decode_callbacks *callbacks,
                    tr_error *error)
{
    tr_workspace *ws = &w->states[0].ws;
    tr_workspace_barrier(ws); /* no thread reads the last call's status any more */
    if (thread == 0)
        w->status = begin_call(w, options, callbacks);
    for (;;) {
        tr_workspace_barrier(ws);
        if (w->phase == TR_PHASE_END || w->status != TR_OK)
            break;
        /* before the encoder, too: it may get blocks that have been given back since the copies were noted */
        for (int m = 0; m < w->models.count; m++)
            tr_kv_pool_copy_blocks(&w->states[m].pool, thread, ws->threads);
        if (w->phase == TR_PHASE_ENCODE) {
            if (w->shortlists.shortlist && !w->forcing)
                gather_shortlists(w, thread);
            tr_batch_encode(&w->batch, w->states, w->models.count, thread);
        } else if (w->forcing) {
            tr_forced_decode(w, thread);
        } else {
            decode_step(w, thread);
        }
        tr_workspace_barrier(ws);
        if (thread == 0)
            w->status = finish_phase(w);
    }
    const tr_status status = w->status;
    if (status != TR_OK && thread == 0 && error)
        *error = w->error;
    return status;
}
