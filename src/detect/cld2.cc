// The C wrapper around CLD2: exceptions end here.
#include "detect/detect.h"

#include <cld2/public/encodings.h>
#include <cstdio>
#include <cstring>
#include <exception>
#include <limits>
#include <string>

#include <cld2/public/compact_lang_det.h>

extern "C" {
#include "tokenizer/language_codes.h"
#include "util/buffer.h"
#include "util/utf8.h"
}

namespace
{

enum { GUESSES = 3 };             // that CLD2 returns
constexpr size_t many_hints = 16; // with more candidates, hints are useless

struct Guesses {
    CLD2::Language languages[GUESSES];
    int percents[GUESSES]; // of the text
    bool sure;
};

struct Candidates {
    const char *const *codes;
    size_t count;
};

Guesses ask(const std::string &text, const char *hints, int flags)
{
    const CLD2::CLDHints all_hints = {hints, nullptr, CLD2::UNKNOWN_ENCODING, CLD2::UNKNOWN_LANGUAGE};
    Guesses guesses = {}; // CLD2 leaves it unset if the text is not UTF-8
    double scores[GUESSES];
    int bytes, valid;
    CLD2::ExtDetectLanguageSummaryCheckUTF8(text.data(), static_cast<int>(text.size()), true, &all_hints, flags,
                                            guesses.languages, guesses.percents, scores, nullptr, &bytes, &guesses.sure,
                                            &valid);
    for (int i = 0; i < GUESSES; i++)
        if (guesses.percents[i] == 0)
            guesses.languages[i] = CLD2::UNKNOWN_LANGUAGE;
    return guesses;
}

bool is_known(CLD2::Language language)
{
    return language != CLD2::UNKNOWN_LANGUAGE && language != CLD2::TG_UNKNOWN_LANGUAGE;
}

// The candidate for a language, preferably in its script; NULL: none.
const char *find(const Candidates &candidates, CLD2::Language language)
{
    const char *code = CLD2::LanguageCode(language), *found = nullptr;
    int best = 0;
    char base[4], other[4];
    const bool known = tr_language_base(code, base);
    for (size_t i = 0; is_known(language) && i < candidates.count; i++) {
        const char *candidate = candidates.codes[i];
        int match = tr_language_match(code, candidate);
        if (!match && known && tr_language_base(candidate, other) && std::strcmp(base, other) == 0)
            match = 1;
        if (match > best) {
            best = match;
            found = candidate;
        }
    }
    return found;
}

// The first candidate among the guesses with at least a given share of the text.
const char *find_among(const Candidates &candidates, const Guesses &guesses, int percent)
{
    for (int i = 0; i < GUESSES; i++)
        if (guesses.percents[i] >= percent)
            if (const char *found = find(candidates, guesses.languages[i]))
                return found;
    return nullptr;
}

// Hints for CLD2: languages in its spelling, "fr,en", which get more weight.
std::string list_hints(const Candidates &candidates)
{
    std::string list;
    char base[4];
    for (size_t i = 0; candidates.count <= many_hints && i < candidates.count; i++)
        if (tr_language_base(candidates.codes[i], base))
            list += (list.empty() ? "" : ",") + std::string(std::strcmp(base, "he") == 0 ? "iw" : base);
    return list;
}

bool writes(CLD2::Language language, CLD2::ULScript script)
{
    for (int i = 0; i < 4; i++) // the scripts of a language; the first one is repeated after the last
        if (CLD2::LanguageRecognizedScript(language, i) == script)
            return true;
    return false;
}

CLD2::Language language_of(const char *code)
{
    char base[4];
    return tr_language_base(code, base) ? CLD2::GetLanguageFromName(std::strcmp(base, "he") == 0 ? "iw" : base)
                                        : CLD2::UNKNOWN_LANGUAGE;
}

// The first candidate that shares the script of the language but, and is not that language.
const char *find_in_script(const Candidates &candidates, CLD2::Language language, const char *but)
{
    const CLD2::ULScript script = CLD2::LanguageRecognizedScript(language, 0);
    char base[4], other[4];
    const bool known = but && tr_language_base(but, base);
    for (size_t i = 0; i < candidates.count; i++) {
        const bool same = known && tr_language_base(candidates.codes[i], other) && std::strcmp(base, other) == 0;
        if (!same && writes(language_of(candidates.codes[i]), script))
            return candidates.codes[i];
    }
    return nullptr;
}

// Counts characters of the scripts that CLD2 does not distinguish.
struct EastAsian {
    int ideographs, kana, hangul;
};

EastAsian count_east_asian(const std::string &text)
{
    EastAsian n = {0, 0, 0};
    for (size_t at = 0, length; at < text.size(); at += length) {
        const int32_t code = tr_utf8_decode(text.data() + at, text.size() - at, &length);
        n.ideographs += code >= 0x4e00 && code <= 0x9fff;
        n.kana += code >= 0x3041 && code <= 0x30ff;
        n.hangul += (code >= 0x1100 && code <= 0x11ff) || (code >= 0xac00 && code <= 0xd7a3);
    }
    return n;
}

bool expects(const Candidates &candidates, CLD2::Language language)
{
    for (size_t i = 0; i < candidates.count; i++)
        if (language_of(candidates.codes[i]) == language)
            return true;
    return candidates.count == 0;
}

// Whether no other language, of all or of the candidates, uses the script.
bool is_settled_by_script(const std::string &text, const Candidates &candidates, CLD2::Language language, const char *code)
{
    enum { MANY = 5 }; // ideographs; a Japanese text of that length has syllables, too
    const CLD2::ULScript script = CLD2::LanguageRecognizedScript(language, 0);
    if (CLD2::ULScriptRecognitionType(script) == CLD2::RTypeOne)
        return true;
    const EastAsian n = count_east_asian(text);
    if (language == CLD2::KOREAN)
        return n.hangul > 0;
    if (language == CLD2::JAPANESE)
        return n.kana > 0 || !expects(candidates, CLD2::CHINESE);
    if (language == CLD2::CHINESE || language == CLD2::CHINESE_T)
        return !n.kana && !n.hangul && (n.ideographs >= MANY || !expects(candidates, CLD2::JAPANESE));
    return code && candidates.count && script != CLD2::ULScript_Latin && !find_in_script(candidates, language, code);
}

// CLD2 detects a language that is not among the candidates.
tr_detected choose_other(const std::string &text, const Candidates &candidates, const Guesses &guesses, bool sure)
{
    enum { MUCH = 25 }; // percent of the text
    const std::string hints = list_hints(candidates);
    const CLD2::Language top = guesses.languages[0];
    const Guesses hinted = ask(text, hints.empty() ? nullptr : hints.c_str(), CLD2::kCLDFlagBestEffort);
    const char *found = find(candidates, hinted.languages[0]); // a related language may be meant: Norwegian for Danish
    if (found && !writes(language_of(found), CLD2::LanguageRecognizedScript(top, 0)))
        found = nullptr;
    if (!found)
        found = find_among(candidates, guesses, sure ? MUCH : 1);
    if (!found && !sure)
        found = find_in_script(candidates, top, nullptr);
    if (found)
        return {found, false};
    return {CLD2::LanguageCode(top), sure};
}

// CLD2 detects nothing in text that repeats itself: then use only its beginning.
Guesses ask_best_effort(const std::string &text)
{
    enum { BEGINNING = 512 };
    const Guesses guesses = ask(text, nullptr, CLD2::kCLDFlagBestEffort);
    if (is_known(guesses.languages[0]) || text.size() <= BEGINNING)
        return guesses;
    size_t size = BEGINNING;
    while (size && (text[size] & 0xc0) == 0x80)
        size--;
    return ask(text.substr(0, size), nullptr, CLD2::kCLDFlagBestEffort);
}

tr_detected choose(const std::string &text, const Candidates &candidates)
{
    Guesses guesses = ask(text, nullptr, 0);
    const bool sure = guesses.sure && is_known(guesses.languages[0]);
    if (!sure)
        guesses = ask_best_effort(text);
    if (!sure && guesses.languages[0] == CLD2::CHINESE_T) // of few characters
        guesses.languages[0] = CLD2::CHINESE;
    const CLD2::Language top = guesses.languages[0];
    if (!is_known(top))
        return {nullptr, false};
    const char *code = candidates.count ? find(candidates, top) : CLD2::LanguageCode(top);
    const bool reliable = sure || is_settled_by_script(text, candidates, top, code);
    return code ? tr_detected{code, reliable} : choose_other(text, candidates, guesses, reliable);
}

} // namespace

tr_status tr_detect(const char *text, size_t size, const char *const *codes, size_t count, tr_detected *detected,
                    tr_error *error)
{
    *detected = tr_detected{nullptr, false};
    if (size > static_cast<size_t>(std::numeric_limits<int>::max()) / 4)
        return tr_fail(error, TR_ERROR_ARGUMENT, "detection: the text has more than %d bytes",
                       std::numeric_limits<int>::max() / 4);
    tr_buffer clean = {};
    tr_status status = TR_OK;
    if (!tr_utf8_clean(text, size, &clean))
        status = tr_fail(error, TR_ERROR_MEMORY, "detection: out of memory");
    try {
        if (status == TR_OK && clean.size)
            *detected = choose(std::string(clean.data, clean.size), Candidates{codes, count});
    } catch (const std::exception &e) {
        status = tr_fail(error, TR_ERROR_MEMORY, "detection: %s", e.what());
    } catch (...) {
        status = tr_fail(error, TR_ERROR_MEMORY, "detection: failed inside CLD2");
    }
    tr_buffer_free(&clean);
    return status;
}
