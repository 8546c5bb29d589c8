#include "text/sentences.h"

#include <string.h>

#include "util/utf8.h"

enum {
    BRACKET_REACH = 240, /* bytes: a bracket that does not close within them is not taken for one */
    WORD_REACH = 24,     /* bytes: longer words are no abbreviations */
    SPEECH_REACH = 8,    /* characters in which a verb of saying marks what follows a quotation as belonging to it */
};

/* The sentence that begins at start, and what of it is open. */
typedef struct scan {
    const char *text;
    size_t size, start;
    size_t bracket_end;  /* byte of the closing bracket that the innermost known bracket awaits; 0: none */
    bool bracket_inside; /* that bracket does not start the sentence: it does not end it either */
    bool quote_open;     /* ASCII " */
    bool apostrophe_open;
} scan;

/* Consecutive end marks and the closing quotes and brackets among and after them. */
typedef struct end_marks {
    size_t begin, end; /* bytes */
    int stops;         /* . */
    bool bang, strong, ellipsis;
    bool closed_inside; /* the last mark stands inside a bracket that does not start the sentence */
    bool quoted;        /* a closing quote follows the last mark */
} end_marks;

static int32_t peek(const scan *s, size_t at)
{
    size_t length;
    return tr_character(s->text, s->size, at, &length);
}

/* ------------------------------------------------------------------------------------------- brackets, quotes, addresses */

static void note_bracket(scan *s, size_t at, int32_t opener)
{
    const int32_t closer = tr_bracket_closer(opener);
    const size_t reach = s->size - at > BRACKET_REACH ? at + BRACKET_REACH : s->size;
    size_t length;
    for (size_t i = at; i < reach; i += length) {
        const int32_t c = tr_character(s->text, s->size, i, &length);
        if (tr_is_line_break(c))
            return;
        if (c == closer) {
            s->bracket_end = i;
            s->bracket_inside = at != s->start || opener == 0x300a || opener == 0x3008; /* 《》〈〉 name titles */
            return;
        }
    }
}

/* Whether the ASCII quote at text[at] closes: it has an open partner, or what follows leaves no other reading. */
static bool closes_quote(const scan *s, size_t at, int32_t quote)
{
    if (quote == '"' ? s->quote_open : s->apostrophe_open)
        return true;
    const int32_t next = peek(s, at + 1);
    return at + 1 == s->size || tr_is_space(next) || tr_is_closer(next) || next == '"' || next == '\'';
}

static void note_quote(scan *s, size_t at, int32_t quote)
{
    if (quote == '"') {
        s->quote_open = !s->quote_open;
        return;
    }
    /* An apostrophe inside a word is no quote. */
    const int32_t before = at > s->start ? peek(s, tr_character_before(s->text, at)) : ' ';
    if (!tr_is_ascii_letter(before) && !tr_is_ascii_digit(before))
        s->apostrophe_open = true;
    else if (!tr_is_ascii_letter(peek(s, at + 1)))
        s->apostrophe_open = false;
}

static bool starts_with(const scan *s, size_t at, const char *prefix)
{
    const size_t length = strlen(prefix);
    return s->size - at >= length && memcmp(s->text + at, prefix, length) == 0;
}

/* The end of the web address at text[at], at itself if there is none: marks within an address end nothing. */
static size_t skip_address(const scan *s, size_t at)
{
    if (!starts_with(s, at, "http://") && !starts_with(s, at, "https://") && !starts_with(s, at, "ftp://") &&
        !starts_with(s, at, "www."))
        return at;
    size_t end = at;
    while (end < s->size && s->text[end] > ' ' && s->text[end] < 0x7f && !strchr("\"<>", s->text[end]))
        end++;
    while (end > at && strchr(".,;:!?)]'", s->text[end - 1]))
        end--;
    return end;
}

/* --------------------------------------------------------------------------------------------------------- the end marks */

static bool is_end_mark(int32_t c)
{
    return tr_is_strong_mark(c) || tr_is_bang(c) || tr_is_full_stop(c) || tr_is_ellipsis(c);
}

/* The bytes of a reference such as [12] at text[at], else 0. */
static size_t reference_length(const scan *s, size_t at)
{
    size_t i = at;
    if (peek(s, i) != '[')
        return 0;
    for (i++; i < at + 4 && tr_is_ascii_digit(peek(s, i)); i++)
        ;
    return i > at + 1 && peek(s, i) == ']' ? i + 1 - at : 0;
}

static void add_mark(end_marks *r, int32_t c)
{
    r->stops += tr_is_full_stop(c);
    r->bang |= tr_is_bang(c);
    r->strong |= tr_is_strong_mark(c);
    r->ellipsis |= tr_is_ellipsis(c);
    r->closed_inside = r->quoted = false;
}

static end_marks read_end_marks(scan *s, size_t at)
{
    end_marks r = {.begin = at};
    for (size_t length;; at += length) {
        const int32_t c = tr_character(s->text, s->size, at, &length);
        if (is_end_mark(c)) {
            add_mark(&r, c);
        } else if (tr_is_closer(c)) {
            if (s->bracket_end && at == s->bracket_end && s->bracket_inside)
                r.closed_inside = true;
            r.quoted |= c == 0x201d || c == 0x2019 || c == 0x300d || c == 0x300f;
        } else if ((c == '"' || c == '\'') && closes_quote(s, at, c)) {
            *(c == '"' ? &s->quote_open : &s->apostrophe_open) = false;
            r.quoted = true;
        } else if (c == '[' && reference_length(s, at)) {
            length = reference_length(s, at);
        } else if (c != '~' && c != 0xff5e) { /* 你好！～ */
            break;
        }
    }
    r.end = at;
    return r;
}

/* ---------------------------------------------------------------------------------------------- the English full stop */

/* English words whose full stop may not end a sentence, separated and enclosed by spaces: one after which the sentence
 * always goes on (Mr. e.g. vs.), one after which it does if a number follows (No. 5, p. 12), and one that may end it (etc.
 * Inc. p.m.). Starters seldom follow an abbreviation inside a sentence, and often begin one. */
static const char inner_words[] =
    " Mr Mrs Ms Mx Dr Prof Gen Col Capt Cpt Cmdr Lt Sgt Maj Adm Rev Sen Rep Gov Hon Pres Supt Insp Ste Mt Ft Messrs Mme "
    "Mlle Mmes Bro Atty Amb vs cf Cf viz approx ca e.g E.g i.e I.e eg ie resp incl esp "
    "Brig Cpl Pvt Pte Drs Profs Msgr Dipl ";
static const char number_words[] =
    " No Nos no nos Nr nr Fig fig Figs figs Eq eq Eqs eqs p pp Pp P vol Vol vols art Art sec Sec sect Sect ch Ch chap Chap "
    "ver Ver v para Para pt Pt Tab tab ed App app Ex ex Ref ref Refs refs c n tel Tel ext Ext Rs ";
static const char either_words[] =
    " etc Etc St Inc Ltd Co Corp Bros LLC Jr Sr Esq al PhD Ph.D Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec Mon Tue "
    "Tues "
    "Wed Thu Thur Thurs Fri Sat Sun Ave Blvd Rd Sq Hwy Dept dept Univ univ Assn Assoc est Est min max hr hrs sec ft lb lbs "
    "oz mph km kg cm mm Calif Fla Ariz Mass Mich Minn Tex Va Wash Wis Pa Conn Ont Que ";
static const char starter_words[] =
    " The This That These Those There Then They He She It We You I In On At As If But And So Or For From When While What "
    "Why "
    "Where Who How However Although After Before Because Since With Without His Her Its Our Their My Your A An By To Not No "
    "Yes Now Here Some Many Most All Each Every Both One Today Yesterday Tomorrow Meanwhile Moreover Also Let Please Is Are "
    "Was Were Do Does Did Can Could Will Would Should May Might Have Has Had Such Once Until Unless Despite During Under ";

static bool has_word(const char *list, const char *word, size_t size)
{
    enum { LONGEST = 12 };
    char padded[LONGEST + 3];
    if (!size || size > LONGEST || memchr(word, ' ', size) || memchr(word, 0, size))
        return false;
    padded[0] = ' ';
    memcpy(padded + 1, word, size);
    padded[size + 1] = ' ';
    padded[size + 2] = 0;
    return strstr(list, padded) != NULL;
}

/* word .. at: the word before a full stop at text[at], ASCII letters, digits and inner full stops; empty if it is no such
 * word or a long one. */
static size_t word_before(const scan *s, size_t at)
{
    size_t word = at;
    while (word > s->start &&
           (tr_is_ascii_letter(s->text[word - 1]) || tr_is_ascii_digit(s->text[word - 1]) || s->text[word - 1] == '.'))
        if (at - --word > WORD_REACH)
            return at;
    if (word > s->start && (unsigned char)s->text[word - 1] >= 0x80) { /* the tail of a word such as café? */
        const int32_t c = peek(s, tr_character_before(s->text, word));
        if (c < 0x2000)
            return at;
    }
    return word;
}

/* 1. 2.3. a. IV. at the start of a sentence number what follows; so do 一. and 十二. */
static bool is_enumeration(const scan *s, size_t end)
{
    static const char numerals[] = "一二三四五六七八九十";
    size_t first = s->start, length;
    if (tr_bracket_closer(peek(s, first)))
        first += tr_utf8_encode((uint32_t)peek(s, first), (char[4]){0});
    if (end <= first || end - first > 12)
        return false;
    int digits = 0, roman = 0, han = 0, other = 0;
    for (size_t i = first; i < end; i += length) {
        const int32_t c = tr_character(s->text, end, i, &length);
        if (c == '.' || tr_is_closer(c)) /* 2.1. (a). */
            digits = 0;
        else if (tr_is_ascii_digit(c))
            other += ++digits > 3;
        else if (c < 0x80 && strchr("IVXivx", c))
            roman++;
        else if (length == 3 && strstr(numerals, (char[4]){s->text[i], s->text[i + 1], s->text[i + 2], 0}))
            han++;
        else
            other++;
    }
    if (other == 1 && tr_is_ascii_letter(s->text[first]) && (end - first == 1 || tr_is_closer(s->text[first + 1])))
        return true;
    return !other && (!roman || (!han && roman <= 4)) && han <= 3;
}

/* U.S, a.m, M.Sc: one or two letters between full stops. */
static bool is_dotted(const char *word, size_t size)
{
    int letters = 0;
    for (size_t i = 0; i < size; i++) {
        letters = word[i] == '.' ? 0 : letters + 1;
        if (letters > 2 || tr_is_ascii_digit(word[i]))
            return false;
    }
    return memchr(word, '.', size) != NULL;
}

static bool starter_follows(const scan *s, size_t next)
{
    size_t end = next;
    while (end < s->size && tr_is_ascii_letter(s->text[end]))
        end++;
    /* "J. I. Smith": an initial is no word */
    return peek(s, end) != '.' && has_word(starter_words, s->text + next, end - next);
}

/* "So am I. He …", but "I. Newton": the word before the pronoun is in lower case. */
static bool is_pronoun(const scan *s, size_t word)
{
    return s->text[word] == 'I' && word >= s->start + 2 && s->text[word - 1] == ' ' && tr_is_lower(s->text[word - 2]);
}

/* Whether the single full stop at text[stop], before the plausible start at text[next], ends the sentence. */
static bool full_stop_ends(const scan *s, size_t stop, size_t next)
{
    const size_t word = word_before(s, stop), size = stop - word;
    const int32_t follows = peek(s, next);
    if (is_enumeration(s, stop))
        return false;
    if (!size)
        return true;
    const char *letters = s->text + word;
    if (has_word(inner_words, letters, size))
        return false;
    if (has_word(number_words, letters, size))
        return !tr_is_ascii_digit(follows);
    if (has_word(either_words, letters, size))
        return starter_follows(s, next) || tr_is_cjk(follows);
    if (size == 1 && letters[0] >= 'A' && letters[0] <= 'Z')
        return is_pronoun(s, word) || starter_follows(s, next) || tr_is_cjk(follows);
    if (is_dotted(letters, size))
        return starter_follows(s, next) || tr_is_cjk(follows);
    return true;
}

/* -------------------------------------------------------------------------------------------------------- the decision */

/* Whether a sentence may start at text[at], after white space. */
static bool starts_sentence(const scan *s, size_t at)
{
    size_t length;
    const int32_t c = tr_character(s->text, s->size, at, &length);
    if (tr_is_lower(c)) /* iPhone, eBay */
        return c < 0x80 && at + 1 < s->size && s->text[at + 1] >= 'A' && s->text[at + 1] <= 'Z';
    if (c == '(' || c == '[')
        return !tr_is_lower(peek(s, at + length));
    return c >= 0x80 || !c || !strchr("+=<>/&%|\\^_", c);
}

/* Particles that tie a quotation to what follows: “加油！”的口号. */
static bool is_particle(int32_t c)
{
    switch (c) {
    case 0x7684:
    case 0x5730:
    case 0x5f97:
    case 0x7b49:
    case 0x4e4b:
    case 0x548c:
    case 0x4e0e:
    case 0x53ca:
    case 0x6216:
    case 0x800c:
    case 0x4e86:
    case 0x7740:
    case 0x662f:
    case 0x3068: /* 的地得等之和与及或而了着是と */ return true;
    default: return false;
    }
}

/* “你好！”他笑着说。 A verb of saying within a few characters: 说 道 问 答 喊 叫 嚷. */
static bool is_speech_tag(const scan *s, size_t at)
{
    size_t length;
    for (int i = 0; i < SPEECH_REACH; i++, at += length) {
        const int32_t c = tr_character(s->text, s->size, at, &length);
        if (!tr_is_cjk(c) || is_end_mark(c) || tr_is_clause_mark(c))
            return false;
        if (i && (c == 0x8bf4 || c == 0x9053 || c == 0x95ee || c == 0x7b54 || c == 0x558a || c == 0x53eb || c == 0x56b7))
            return true;
    }
    return false;
}

/* The end marks are followed by next without white space. */
static bool ends_unspaced(const scan *s, const end_marks *r, int32_t next)
{
    if (r->closed_inside || next == 0x2014) /* — */
        return false;
    if (r->strong)
        return !(r->quoted && (is_particle(next) || is_speech_tag(s, r->end)));
    const bool chinese_follows = tr_is_cjk(next) || tr_is_quote_opener(next);
    if (!chinese_follows || r->ellipsis || r->stops > 1)
        return false;
    if (r->bang)
        return !(r->quoted && (is_particle(next) || is_speech_tag(s, r->end)));
    const int32_t before = r->begin > s->start ? peek(s, tr_character_before(s->text, r->begin)) : 0;
    return (tr_is_cjk(before) || before == 0x201d || before == 0x2019) && !is_enumeration(s, r->begin);
}

static bool marks_end_sentence(const scan *s, const end_marks *r)
{
    if (s->bracket_end && r->end <= s->bracket_end)
        return false;
    size_t next = r->end, length;
    int32_t c = tr_character(s->text, s->size, next, &length);
    for (; next < s->size && tr_is_space(c); c = tr_character(s->text, s->size, next, &length)) {
        if (tr_is_line_break(c) || c == '\t')
            return true;
        next += length;
    }
    if (next == s->size)
        return true;
    if (tr_is_clause_mark(c) || tr_is_closer(c) || is_end_mark(c))
        return false;
    if (next == r->end)
        return ends_unspaced(s, r, c);
    if (r->strong)
        return true;
    if (!starts_sentence(s, next))
        return false;
    return r->bang || r->ellipsis || r->stops > 1 || full_stop_ends(s, r->begin, next);
}

static size_t sentence_end(scan *s)
{
    size_t length;
    for (size_t at = s->start; at < s->size; at += length) {
        const int32_t c = tr_character(s->text, s->size, at, &length);
        if (tr_is_line_break(c) || c == '\t') { /* tabs part columns */
            s->quote_open = false;
            return at;
        }
        if (is_end_mark(c)) {
            const end_marks r = read_end_marks(s, at);
            if (marks_end_sentence(s, &r))
                return r.end;
            length = r.end - at;
        } else if (c == '"' || c == '\'') {
            note_quote(s, at, c);
        } else if ((c == 'h' || c == 'f' || c == 'w') && skip_address(s, at) > at) {
            length = skip_address(s, at) - at;
        } else if (tr_bracket_closer(c) && (!s->bracket_end || at > s->bracket_end)) {
            note_bracket(s, at, c);
        }
    }
    return s->size;
}

bool tr_sentences_next(tr_sentences *sentences, tr_span *sentence)
{
    const size_t start = tr_skip_space(sentences->text, sentences->size, sentences->at);
    sentences->at = start;
    if (start == sentences->size)
        return false;
    scan s = {.text = sentences->text, .size = sentences->size, .start = start, .quote_open = sentences->quote_open};
    sentences->at = sentence_end(&s);
    sentences->quote_open = s.quote_open;
    *sentence = (tr_span){start, tr_trim_space(s.text, start, sentences->at)};
    return true;
}
