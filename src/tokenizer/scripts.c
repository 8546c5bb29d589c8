#include "tokenizer/scripts.h"

#include <string.h>
#include <strings.h>

#include "tokenizer/language_codes.h"
#include "util/utf8.h"

/* ------------------------------------------------------------------------------------------------------------- letters */

typedef struct range {
    int32_t first, last;
    tr_script script;
} range;

/* Letters of Unicode 15 (property Alphabetic) without ASCII. Code points without a character, and the marks of a script, are
 * counted to the letters around them. */
/* clang-format off */
static const range letters[] = {
    {0xaa, 0xaa, TR_LATIN}, {0xb5, 0xb5, TR_COMMON}, {0xba, 0xba, TR_LATIN}, {0xc0, 0xd6, TR_LATIN}, {0xd8, 0xf6, TR_LATIN},
    {0xf8, 0x2b8, TR_LATIN}, {0x2b9, 0x2c1, TR_COMMON}, {0x2c6, 0x2d1, TR_COMMON}, {0x2e0, 0x2e4, TR_LATIN},
    {0x2ec, 0x2ec, TR_COMMON}, {0x2ee, 0x2ee, TR_COMMON}, {0x370, 0x373, TR_GREEK}, {0x374, 0x374, TR_COMMON},
    {0x376, 0x37d, TR_GREEK}, {0x37f, 0x37f, TR_GREEK}, {0x386, 0x386, TR_GREEK}, {0x388, 0x3e1, TR_GREEK},
    {0x3e2, 0x3ef, TR_OTHER_SCRIPT}, {0x3f0, 0x3f5, TR_GREEK}, {0x3f7, 0x3ff, TR_GREEK}, {0x400, 0x481, TR_CYRILLIC},
    {0x48a, 0x52f, TR_CYRILLIC}, {0x531, 0x559, TR_ARMENIAN}, {0x560, 0x588, TR_ARMENIAN}, {0x5b0, 0x5bd, TR_HEBREW},
    {0x5bf, 0x5bf, TR_HEBREW}, {0x5c1, 0x5c2, TR_HEBREW}, {0x5c4, 0x5c5, TR_HEBREW}, {0x5c7, 0x5f2, TR_HEBREW},
    {0x610, 0x61a, TR_ARABIC}, {0x620, 0x63f, TR_ARABIC}, {0x640, 0x640, TR_COMMON}, {0x641, 0x65f, TR_ARABIC},
    {0x66e, 0x6d3, TR_ARABIC}, {0x6d5, 0x6dc, TR_ARABIC}, {0x6e1, 0x6e8, TR_ARABIC}, {0x6ed, 0x6ef, TR_ARABIC},
    {0x6fa, 0x6fc, TR_ARABIC}, {0x6ff, 0x6ff, TR_ARABIC}, {0x710, 0x74f, TR_SYRIAC}, {0x750, 0x77f, TR_ARABIC},
    {0x780, 0x7b1, TR_THAANA}, {0x7ca, 0x7f5, TR_NKO}, {0x7fa, 0x7fa, TR_NKO}, {0x800, 0x82c, TR_OTHER_SCRIPT},
    {0x840, 0x858, TR_OTHER_SCRIPT}, {0x860, 0x86a, TR_SYRIAC}, {0x870, 0x887, TR_ARABIC}, {0x889, 0x88f, TR_ARABIC},
    {0x8a0, 0x8df, TR_ARABIC}, {0x8e3, 0x8ff, TR_ARABIC}, {0x900, 0x950, TR_DEVANAGARI}, {0x955, 0x963, TR_DEVANAGARI},
    {0x971, 0x97f, TR_DEVANAGARI}, {0x980, 0x9e3, TR_BENGALI}, {0x9f0, 0x9f1, TR_BENGALI}, {0x9fc, 0x9fc, TR_BENGALI},
    {0xa01, 0xa5e, TR_GURMUKHI}, {0xa70, 0xa75, TR_GURMUKHI}, {0xa81, 0xae3, TR_GUJARATI}, {0xaf9, 0xafc, TR_GUJARATI},
    {0xb01, 0xb63, TR_ORIYA}, {0xb71, 0xb71, TR_ORIYA}, {0xb82, 0xbd7, TR_TAMIL}, {0xc00, 0xc63, TR_TELUGU},
    {0xc80, 0xc83, TR_KANNADA}, {0xc85, 0xce3, TR_KANNADA}, {0xcf1, 0xcf3, TR_KANNADA}, {0xd00, 0xd4e, TR_MALAYALAM},
    {0xd54, 0xd57, TR_MALAYALAM}, {0xd5f, 0xd63, TR_MALAYALAM}, {0xd7a, 0xd7f, TR_MALAYALAM}, {0xd81, 0xddf, TR_SINHALA},
    {0xdf2, 0xdf3, TR_SINHALA}, {0xe01, 0xe3a, TR_THAI}, {0xe40, 0xe4d, TR_THAI}, {0xe81, 0xecd, TR_LAO},
    {0xedc, 0xedf, TR_LAO}, {0xf00, 0xf00, TR_TIBETAN}, {0xf40, 0xf83, TR_TIBETAN}, {0xf88, 0xfbc, TR_TIBETAN},
    {0x1000, 0x103f, TR_MYANMAR}, {0x1050, 0x108f, TR_MYANMAR}, {0x109a, 0x109d, TR_MYANMAR}, {0x10a0, 0x10fa, TR_GEORGIAN},
    {0x10fc, 0x10ff, TR_GEORGIAN}, {0x1100, 0x11ff, TR_HANGUL}, {0x1200, 0x135a, TR_ETHIOPIC},
    {0x1380, 0x138f, TR_ETHIOPIC}, {0x13a0, 0x13fd, TR_CHEROKEE}, {0x1401, 0x166c, TR_CANADIAN},
    {0x166f, 0x167f, TR_CANADIAN}, {0x1681, 0x169a, TR_OTHER_SCRIPT}, {0x16a0, 0x16ea, TR_OTHER_SCRIPT},
    {0x16ee, 0x1733, TR_OTHER_SCRIPT}, {0x1740, 0x1773, TR_OTHER_SCRIPT}, {0x1780, 0x17c8, TR_KHMER},
    {0x17d7, 0x17d7, TR_KHMER}, {0x17dc, 0x17dc, TR_KHMER}, {0x1820, 0x18aa, TR_MONGOLIAN}, {0x18b0, 0x18f5, TR_CANADIAN},
    {0x1900, 0x1938, TR_OTHER_SCRIPT}, {0x1950, 0x19c9, TR_OTHER_SCRIPT}, {0x1a00, 0x1a1b, TR_OTHER_SCRIPT},
    {0x1a20, 0x1a74, TR_OTHER_SCRIPT}, {0x1aa7, 0x1aa7, TR_OTHER_SCRIPT}, {0x1b00, 0x1b4c, TR_OTHER_SCRIPT},
    {0x1b80, 0x1baf, TR_OTHER_SCRIPT}, {0x1bba, 0x1bf1, TR_OTHER_SCRIPT}, {0x1c00, 0x1c36, TR_OTHER_SCRIPT},
    {0x1c4d, 0x1c4f, TR_OTHER_SCRIPT}, {0x1c5a, 0x1c7d, TR_OL_CHIKI}, {0x1c80, 0x1c8f, TR_CYRILLIC},
    {0x1c90, 0x1cbf, TR_GEORGIAN}, {0x1ce9, 0x1cec, TR_COMMON}, {0x1cee, 0x1cf3, TR_COMMON}, {0x1cf5, 0x1cf6, TR_COMMON},
    {0x1cfa, 0x1cfa, TR_COMMON}, {0x1d00, 0x1d25, TR_LATIN}, {0x1d26, 0x1d2a, TR_GREEK}, {0x1d2b, 0x1d2b, TR_CYRILLIC},
    {0x1d2c, 0x1d5c, TR_LATIN}, {0x1d5d, 0x1d61, TR_GREEK}, {0x1d62, 0x1d65, TR_LATIN}, {0x1d66, 0x1d6a, TR_GREEK},
    {0x1d6b, 0x1d77, TR_LATIN}, {0x1d78, 0x1d78, TR_CYRILLIC}, {0x1d79, 0x1dbe, TR_LATIN}, {0x1dbf, 0x1dbf, TR_GREEK},
    {0x1e00, 0x1eff, TR_LATIN}, {0x1f00, 0x1fbc, TR_GREEK}, {0x1fbe, 0x1fbe, TR_GREEK}, {0x1fc2, 0x1fcc, TR_GREEK},
    {0x1fd0, 0x1fdb, TR_GREEK}, {0x1fe0, 0x1fec, TR_GREEK}, {0x1ff2, 0x1ffc, TR_GREEK}, {0x2071, 0x2071, TR_LATIN},
    {0x207f, 0x207f, TR_LATIN}, {0x2090, 0x209c, TR_LATIN}, {0x2102, 0x2102, TR_COMMON}, {0x2107, 0x2107, TR_COMMON},
    {0x210a, 0x2113, TR_COMMON}, {0x2115, 0x2115, TR_COMMON}, {0x2119, 0x211d, TR_COMMON}, {0x2124, 0x2124, TR_COMMON},
    {0x2126, 0x2126, TR_GREEK}, {0x2128, 0x2128, TR_COMMON}, {0x212a, 0x212b, TR_LATIN}, {0x212c, 0x212d, TR_COMMON},
    {0x212f, 0x2131, TR_COMMON}, {0x2132, 0x2132, TR_LATIN}, {0x2133, 0x2139, TR_COMMON}, {0x213c, 0x213f, TR_COMMON},
    {0x2145, 0x2149, TR_COMMON}, {0x214e, 0x214e, TR_LATIN}, {0x2160, 0x2188, TR_LATIN}, {0x24b6, 0x24e9, TR_COMMON},
    {0x2c00, 0x2c5f, TR_OTHER_SCRIPT}, {0x2c60, 0x2c7f, TR_LATIN}, {0x2c80, 0x2ce4, TR_OTHER_SCRIPT},
    {0x2ceb, 0x2cf3, TR_OTHER_SCRIPT}, {0x2d00, 0x2d2d, TR_GEORGIAN}, {0x2d30, 0x2d6f, TR_TIFINAGH},
    {0x2d80, 0x2dde, TR_ETHIOPIC}, {0x2de0, 0x2dff, TR_CYRILLIC}, {0x2e2f, 0x2e2f, TR_COMMON}, {0x3005, 0x3005, TR_HAN},
    {0x3006, 0x3006, TR_COMMON}, {0x3007, 0x3007, TR_HAN}, {0x3021, 0x3029, TR_HAN}, {0x3031, 0x3035, TR_COMMON},
    {0x3038, 0x303b, TR_HAN}, {0x303c, 0x303c, TR_COMMON}, {0x3041, 0x3096, TR_HIRAGANA}, {0x309d, 0x309f, TR_HIRAGANA},
    {0x30a1, 0x30fa, TR_KATAKANA}, {0x30fc, 0x30fc, TR_COMMON}, {0x30fd, 0x30ff, TR_KATAKANA},
    {0x3105, 0x312f, TR_BOPOMOFO}, {0x3131, 0x318e, TR_HANGUL}, {0x31a0, 0x31bf, TR_BOPOMOFO},
    {0x31f0, 0x31ff, TR_KATAKANA}, {0x3400, 0x4dbf, TR_HAN}, {0x4e00, 0x9fff, TR_HAN}, {0xa000, 0xa48c, TR_YI},
    {0xa4d0, 0xa4fd, TR_OTHER_SCRIPT}, {0xa500, 0xa60c, TR_OTHER_SCRIPT}, {0xa610, 0xa61f, TR_OTHER_SCRIPT},
    {0xa62a, 0xa62b, TR_OTHER_SCRIPT}, {0xa640, 0xa66e, TR_CYRILLIC}, {0xa674, 0xa67b, TR_CYRILLIC},
    {0xa67f, 0xa69f, TR_CYRILLIC}, {0xa6a0, 0xa6ef, TR_OTHER_SCRIPT}, {0xa717, 0xa71f, TR_COMMON},
    {0xa722, 0xa787, TR_LATIN}, {0xa788, 0xa788, TR_COMMON}, {0xa78b, 0xa7ff, TR_LATIN}, {0xa800, 0xa827, TR_OTHER_SCRIPT},
    {0xa840, 0xa873, TR_OTHER_SCRIPT}, {0xa880, 0xa8c5, TR_OTHER_SCRIPT}, {0xa8f2, 0xa8f7, TR_DEVANAGARI},
    {0xa8fb, 0xa8fb, TR_DEVANAGARI}, {0xa8fd, 0xa8ff, TR_DEVANAGARI}, {0xa90a, 0xa92a, TR_OTHER_SCRIPT},
    {0xa930, 0xa952, TR_OTHER_SCRIPT}, {0xa960, 0xa97c, TR_HANGUL}, {0xa980, 0xa9bf, TR_JAVANESE},
    {0xa9cf, 0xa9cf, TR_COMMON}, {0xa9e0, 0xa9ef, TR_MYANMAR}, {0xa9fa, 0xa9fe, TR_MYANMAR},
    {0xaa00, 0xaa4d, TR_OTHER_SCRIPT}, {0xaa60, 0xaa76, TR_MYANMAR}, {0xaa7a, 0xaa7f, TR_MYANMAR},
    {0xaa80, 0xaadd, TR_OTHER_SCRIPT}, {0xaae0, 0xaaef, TR_MEETEI}, {0xaaf2, 0xaaf5, TR_MEETEI},
    {0xab01, 0xab2e, TR_ETHIOPIC}, {0xab30, 0xab5a, TR_LATIN}, {0xab5c, 0xab64, TR_LATIN}, {0xab65, 0xab65, TR_GREEK},
    {0xab66, 0xab69, TR_LATIN}, {0xab70, 0xabbf, TR_CHEROKEE}, {0xabc0, 0xabea, TR_MEETEI}, {0xac00, 0xd7fb, TR_HANGUL},
    {0xf900, 0xfad9, TR_HAN}, {0xfb00, 0xfb06, TR_LATIN}, {0xfb13, 0xfb17, TR_ARMENIAN}, {0xfb1d, 0xfb28, TR_HEBREW},
    {0xfb2a, 0xfb4f, TR_HEBREW}, {0xfb50, 0xfbb1, TR_ARABIC}, {0xfbd3, 0xfd3d, TR_ARABIC}, {0xfd50, 0xfdc7, TR_ARABIC},
    {0xfdf0, 0xfdfb, TR_ARABIC}, {0xfe70, 0xfefc, TR_ARABIC}, {0xff21, 0xff3a, TR_LATIN}, {0xff41, 0xff5a, TR_LATIN},
    {0xff66, 0xff6f, TR_KATAKANA}, {0xff70, 0xff70, TR_COMMON}, {0xff71, 0xff9d, TR_KATAKANA}, {0xff9e, 0xff9f, TR_COMMON},
    {0xffa0, 0xffdc, TR_HANGUL}, {0x10000, 0x100fa, TR_OTHER_SCRIPT}, {0x10140, 0x10174, TR_GREEK},
    {0x10280, 0x102d0, TR_OTHER_SCRIPT}, {0x10300, 0x10767, TR_OTHER_SCRIPT}, {0x10780, 0x107ba, TR_LATIN},
    {0x10800, 0x10d27, TR_OTHER_SCRIPT}, {0x10e80, 0x111dc, TR_OTHER_SCRIPT}, {0x11200, 0x11339, TR_OTHER_SCRIPT},
    {0x1133d, 0x11644, TR_OTHER_SCRIPT}, {0x11680, 0x11a9d, TR_OTHER_SCRIPT}, {0x11ab0, 0x11abf, TR_CANADIAN},
    {0x11ac0, 0x11af8, TR_OTHER_SCRIPT}, {0x11c00, 0x11fb0, TR_OTHER_SCRIPT}, {0x12000, 0x16fe1, TR_OTHER_SCRIPT},
    {0x16fe3, 0x16ff1, TR_HAN}, {0x17000, 0x18d08, TR_OTHER_SCRIPT}, {0x1aff0, 0x1b000, TR_KATAKANA},
    {0x1b001, 0x1b11f, TR_HIRAGANA}, {0x1b120, 0x1b122, TR_KATAKANA}, {0x1b132, 0x1b152, TR_HIRAGANA},
    {0x1b155, 0x1b167, TR_KATAKANA}, {0x1b170, 0x1bc9e, TR_OTHER_SCRIPT}, {0x1d400, 0x1d7cb, TR_COMMON},
    {0x1df00, 0x1df2a, TR_LATIN}, {0x1e000, 0x1e02a, TR_OTHER_SCRIPT}, {0x1e030, 0x1e08f, TR_CYRILLIC},
    {0x1e100, 0x1e4eb, TR_OTHER_SCRIPT}, {0x1e7e0, 0x1e7fe, TR_ETHIOPIC}, {0x1e800, 0x1e8c4, TR_OTHER_SCRIPT},
    {0x1e900, 0x1e94b, TR_ADLAM}, {0x1ee00, 0x1eebb, TR_ARABIC}, {0x1f130, 0x1f149, TR_COMMON},
    {0x1f150, 0x1f169, TR_COMMON}, {0x1f170, 0x1f189, TR_COMMON}, {0x20000, 0x323af, TR_HAN}
};
/* clang-format on */

tr_script tr_script_of(int32_t c)
{
    if (c < 0x80)
        return tr_is_ascii_letter(c) ? TR_LATIN : TR_NO_LETTER;
    if (c >= 0x4e00 && c <= 0x9fff)
        return TR_HAN;
    size_t from = 0, to = sizeof letters / sizeof *letters;
    while (from < to) {
        const size_t middle = (from + to) / 2;
        if (c > letters[middle].last)
            from = middle + 1;
        else
            to = middle;
    }
    return from < sizeof letters / sizeof *letters && c >= letters[from].first ? letters[from].script : TR_NO_LETTER;
}

bool tr_is_any_letter(int32_t c)
{
    return tr_script_of(c) != TR_NO_LETTER;
}

bool tr_is_letter_of(tr_scripts scripts, int32_t c)
{
    const tr_script script = tr_script_of(c);
    return script != TR_NO_LETTER && (!scripts || scripts & tr_script_bit(script));
}

bool tr_has_letter_of(tr_scripts scripts, const char *text, size_t size)
{
    size_t length;
    for (size_t at = 0; at < size; at += length)
        if (tr_is_letter_of(scripts, tr_character(text, size, at, &length)))
            return true;
    return false;
}

/* ----------------------------------------------------------------------------------------------- names and languages */

/* Names of ISO 15924 and Unicode, and languages, as tr_language_base names them. A language may have several scripts. Those
 * with a code of two letters that no row has are written in Latin letters. */
static const struct {
    const char *iso, *name, *languages;
} table[TR_SCRIPTS] = {
    [TR_OTHER_SCRIPT] = {"", "", " ae "},
    [TR_LATIN] =
        {"Latn", "Latin",
         " sr ace arn ast ban bar bcl bem bik bin bjn bug ceb chk cho cjk crh crs csb dsb dyu efi ewo ext fon frr fur "
         "gaa gil gos gsw guw haw hil hsb ilo iso jbo kab kac kam kbp kea kek kmb kqn krl kwy lad lfn lij liv lld lmo "
         "loz ltg lua lue lun luo lus mad mak mam mfe min mos mwl nap nch nds niu nso nyk pag pam pap pcd pdc pis pon "
         "quc rmy scn sgs sma smj smn sms srn stq swc szl taq tet tiv tll tlh tpi tum tvl umb vec vro war wls yap yua "
         "zea zne "},
    [TR_GREEK] = {"Grek", "Greek", " el grc pnt "},
    [TR_CYRILLIC] =
        {"Cyrl", "Cyrillic",
         " ab av ba be bg ce cu cv kk kv ky mk mn os ru sr tg tt uk abq ady alt bua chm crh dar inh kaa kbd kjh koi krc kum "
         "lbe lez mdf mhr mrj myv nog rue sah tab tyv udm xal "},
    [TR_ARMENIAN] = {"Armn", "Armenian", " hy "},
    [TR_HEBREW] = {"Hebr", "Hebrew", " he yi jrb lad "},
    [TR_ARABIC] = {"Arab", "Arabic",
                   " ar fa ks pa ps sd ug ur acm acq aeb ajp apc ars ary arz azb bal ckb glk lrc mzn ota prs skr "},
    [TR_SYRIAC] = {"Syrc", "Syriac", " aii syr "},
    [TR_THAANA] = {"Thaa", "Thaana", " dv "},
    [TR_NKO] = {"Nkoo", "Nko", " nqo "},
    [TR_DEVANAGARI] = {"Deva", "Devanagari", " bh hi mr ne sa awa bgc bho brx doi gom hne kok mag mai raj xnr "},
    [TR_BENGALI] = {"Beng", "Bengali", " as bn bpy mni "},
    [TR_GURMUKHI] = {"Guru", "Gurmukhi", " pa "},
    [TR_GUJARATI] = {"Gujr", "Gujarati", " gu "},
    [TR_ORIYA] = {"Orya", "Oriya", " or "},
    [TR_TAMIL] = {"Taml", "Tamil", " ta "},
    [TR_TELUGU] = {"Telu", "Telugu", " te "},
    [TR_KANNADA] = {"Knda", "Kannada", " kn tcy "},
    [TR_MALAYALAM] = {"Mlym", "Malayalam", " ml "},
    [TR_SINHALA] = {"Sinh", "Sinhala", " si "},
    [TR_THAI] = {"Thai", "Thai", " th "},
    [TR_LAO] = {"Laoo", "Lao", " lo "},
    [TR_TIBETAN] = {"Tibt", "Tibetan", " bo dz "},
    [TR_MYANMAR] = {"Mymr", "Myanmar", " my mnw shn "},
    [TR_GEORGIAN] = {"Geor", "Georgian", " ka xmf "},
    [TR_HANGUL] = {"Hang", "Hangul", " ko "},
    [TR_ETHIOPIC] = {"Ethi", "Ethiopic", " am ti gez tig wal "},
    [TR_CHEROKEE] = {"Cher", "Cherokee", " chr "},
    [TR_CANADIAN] = {"Cans", "Canadian_Aboriginal", " cr iu oj "},
    [TR_KHMER] = {"Khmr", "Khmer", " km "},
    [TR_MONGOLIAN] = {"Mong", "Mongolian", ""},
    [TR_OL_CHIKI] = {"Olck", "Ol_Chiki", " sat "},
    [TR_TIFINAGH] = {"Tfng", "Tifinagh", " rif shi zgh "},
    [TR_HIRAGANA] = {"Hira", "Hiragana", " ja "},
    [TR_KATAKANA] = {"Kana", "Katakana", " ja "},
    [TR_BOPOMOFO] = {"Bopo", "Bopomofo", " zh cdo gan hak hsn lzh nan wuu yue "},
    [TR_HAN] = {"Hani", "Han", " ja ko zh cdo gan hak hsn lzh nan wuu yue "},
    [TR_YI] = {"Yiii", "Yi", " ii "},
    [TR_MEETEI] = {"Mtei", "Meetei_Mayek", ""},
    [TR_JAVANESE] = {"Java", "Javanese", ""},
    [TR_ADLAM] = {"Adlm", "Adlam", ""},
};

/* Writing systems of ISO 15924 that are no letter's script. */
static const struct {
    const char *iso;
    tr_scripts scripts;
} systems[] = {
    {"Hans", 1ull << TR_HAN},
    {"Hant", 1ull << TR_HAN},
    {"Jpan", 1ull << TR_HAN | 1ull << TR_HIRAGANA | 1ull << TR_KATAKANA},
    {"Kore", 1ull << TR_HAN | 1ull << TR_HANGUL},
};

tr_scripts tr_scripts_named(const char *name)
{
    for (size_t i = 0; i < sizeof systems / sizeof *systems; i++)
        if (strcasecmp(systems[i].iso, name) == 0)
            return systems[i].scripts;
    for (tr_script s = TR_LATIN; s < TR_SCRIPTS; s++)
        if (strcasecmp(table[s].iso, name) == 0 || strcasecmp(table[s].name, name) == 0)
            return tr_script_bit(s);
    return 0;
}

tr_scripts tr_scripts_of_language(const char *code)
{
    char base[4], script[5], word[6] = " ";
    tr_scripts found = 0;
    if (!tr_language_base(code, base))
        return 0;
    tr_language_script(code, script);
    const tr_scripts named = tr_scripts_named(script);
    if (named)
        return named;
    strcat(strcat(word, base), " ");
    for (tr_script s = TR_OTHER_SCRIPT; s < TR_SCRIPTS; s++)
        if (strstr(table[s].languages, word))
            found |= tr_script_bit(s);
    return !found && tr_language_is_known(base) ? tr_script_bit(TR_LATIN) : found;
}
