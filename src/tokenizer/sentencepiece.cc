#include <sentencepiece_processor.h>

#include <exception>
#include <memory>
#include <new>
#include <string>
#include <string_view>

extern "C" {
#include "tokenizer/sentencepiece.h"
}

struct tr_sentencepiece {
    sentencepiece::SentencePieceProcessor processor;
};

namespace
{

/* Keeps the library's message whole: it begins with a source file and the failed condition, its most useful parts. */
tr_status fail(tr_error *error, const char *what, const sentencepiece::util::Status &status)
{
    const bool memory = status.code() == sentencepiece::util::StatusCode::kResourceExhausted;
    return tr_fail(error, memory ? TR_ERROR_MEMORY : TR_ERROR_FORMAT, "SentencePiece: %s: %s", what, status.error_message());
}

/* Runs body, which returns a tr_status, and turns exceptions into one. */
template <typename Body> tr_status guarded(tr_error *error, const char *what, Body body) noexcept
{
    try {
        return body();
    } catch (const std::bad_alloc &) {
        return tr_fail(error, TR_ERROR_MEMORY, "SentencePiece: %s: out of memory", what);
    } catch (const std::exception &e) {
        return tr_fail(error, TR_ERROR_FORMAT, "SentencePiece: %s: %s", what, e.what());
    } catch (...) {
        return tr_fail(error, TR_ERROR_FORMAT, "SentencePiece: %s: unknown failure", what);
    }
}

} // namespace

tr_status tr_sentencepiece_create(const void *data, size_t size, tr_sentencepiece **model, tr_error *error)
{
    *model = nullptr;
    const char *const what = "cannot load the model";
    return guarded(error, what, [&] {
        std::unique_ptr<tr_sentencepiece> loaded(new tr_sentencepiece);
        const auto status = loaded->processor.LoadFromSerializedProto({static_cast<const char *>(data), size});
        if (!status.ok())
            return fail(error, what, status);
        *model = loaded.release();
        return TR_OK;
    });
}

void tr_sentencepiece_destroy(tr_sentencepiece *model)
{
    delete model;
}

/* Versions before 0.2 have no function for it. */
tr_status tr_sentencepiece_normalise(const tr_sentencepiece *model, const char *text, size_t size, tr_buffer *normalised,
                                     tr_error *error)
{
    const char *const what = "cannot normalise the text";
    return guarded(error, what, [&] {
        sentencepiece::ImmutableSentencePieceText result;
        const auto encoded = model->processor.Encode(std::string_view(text, size), result.mutable_proto());
        if (!encoded.ok())
            return fail(error, what, encoded);
        bool room = true;
        for (size_t i = 0; room && i < result.pieces_size(); i++) {
            const auto piece = result.pieces(static_cast<int>(i));
            const std::string &bytes = piece.piece();
            if (model->processor.IsByte(static_cast<int>(piece.id()))) { /* "<0x4F>" */
                const char byte = static_cast<char>(std::stoi(bytes.substr(3, 2), nullptr, 16));
                room = tr_buffer_append(normalised, &byte, 1);
            } else {
                room = tr_buffer_append(normalised, bytes.data(), bytes.size());
            }
        }
        return room ? TR_OK : tr_fail(error, TR_ERROR_MEMORY, "SentencePiece: %s: out of memory", what);
    });
}

tr_status tr_sentencepiece_encode(const tr_sentencepiece *model, const char *text, size_t size,
                                  const tr_vocabulary *vocabulary, int unk_id, tr_ids *ids, tr_buffer *spans,
                                  tr_error *error)
{
    const char *const what = "cannot encode the text";
    return guarded(error, what, [&] {
        sentencepiece::ImmutableSentencePieceText result;
        const auto encoded = model->processor.Encode(std::string_view(text, size), result.mutable_proto());
        if (!encoded.ok())
            return fail(error, what, encoded);
        tr_status status = TR_OK;
        const int count = static_cast<int>(result.pieces_size());
        for (int i = 0; status == TR_OK && i < count; i++) {
            const auto piece = result.pieces(i);
            const std::string &bytes = piece.piece();
            const tr_span span = {piece.begin(), piece.end()};
            status = tr_vocabulary_append_id(vocabulary, bytes.data(), bytes.size(), unk_id, ids, error);
            if (status == TR_OK && spans && !tr_buffer_append(spans, &span, sizeof span))
                status = tr_fail(error, TR_ERROR_MEMORY, "SentencePiece: %s: out of memory", what);
        }
        return status;
    });
}
