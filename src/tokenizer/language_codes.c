#include "tokenizer/language_codes.h"

#include <string.h>
#include <strings.h>

#include "util/utf8.h"

/* ------------------------------------------------------------------------------------------------------------- tables */

/* ISO 639-1 codes, each followed by its ISO 639-3 code (Debian's iso-codes, 4.15): aa aar, ab abk, ... */
/* clang-format off */
static const char two_letters[] =
    "aaaarababkaeaveafafrakakaamamhanargararaasasmavavaayaymazazebabakbebelbgbulbhbihbibisbmbambnbenbobodbrbrebsboscacat"
    "cechechchacocoscrcrecscescuchucvchvcycymdadandedeudvdivdzdzoeeeweelellenengeoepoesspaetesteueusfafasfffulfifinfjfij"
    "fofaofrfrafyfrygaglegdglaglglggngrngugujgvglvhahauhehebhihinhohmohrhrvhthathuhunhyhyehzheriainaidindieileigiboiiiii"
    "ikipkioidoisislititaiuikujajpnjvjavkakatkgkonkikikkjkuakkkazklkalkmkhmknkankokorkrkaukskaskukurkvkomkwcorkykirlalat"
    "lbltzlgluglilimlnlinlolaoltlitlulublvlavmgmlgmhmahmimrimkmkdmlmalmnmonmrmarmsmsamtmltmymyananaunbnobndndenenepngndo"
    "nlnldnnnnononornrnblnvnavnynyaocociojojiomormororiososspapanpipliplpolpspusptporququermrohrnrunroronrurusrwkinsasan"
    "scsrdsdsndsesmesgsagsisinskslkslslvsmsmosnsnasosomsqsqisrsrpsssswstsotsusunsvsweswswatatamteteltgtgkththatitirtktuk"
    "tltgltntsntotontrturtstsotttattwtwitytahuguigukukrururduzuzbvevenvivievovolwawlnwowolxhxhoyiyidyoyorzazhazhzhozuzul";
/* clang-format on */

/* Other names of languages above: of libraries (ISO 639-2/B), older ones, and the members of macrolanguages that models have
 * in their place. */
static const char *const same[][2] = {
    {"alb", "sq"}, {"arm", "hy"}, {"baq", "eu"}, {"bur", "my"}, {"chi", "zh"}, {"cze", "cs"}, {"dut", "nl"}, {"fre", "fr"},
    {"geo", "ka"}, {"ger", "de"}, {"gre", "el"}, {"ice", "is"}, {"mac", "mk"}, {"mao", "mi"}, {"may", "ms"}, {"per", "fa"},
    {"rum", "ro"}, {"slo", "sk"}, {"tib", "bo"}, {"wel", "cy"}, {"iw", "he"},  {"in", "id"},  {"ji", "yi"},  {"jw", "jv"},
    {"mo", "ro"},  {"nb", "no"},  {"nob", "no"}, {"arb", "ar"}, {"cmn", "zh"}, {"pes", "fa"}, {"zsm", "ms"}, {"zlm", "ms"},
    {"azj", "az"}, {"uzn", "uz"}, {"khk", "mn"}, {"plt", "mg"}, {"npi", "ne"}, {"ory", "or"}, {"lvs", "lv"}, {"als", "sq"},
    {"ydd", "yi"}, {"swh", "sw"}, {"ekk", "et"}, {"pbt", "ps"}, {"gaz", "om"}, {"kmr", "ku"}, {"ayr", "ay"}, {"quy", "qu"},
    {"gug", "gn"}, {"knc", "kr"}, {"fuv", "ff"}, {"fil", "tl"}, {"hbs", "sh"},
};

/* The script that is meant where none is named; only where models know several. */
static const char *const usual[][2] = {
    {"zh", "hans"},  {"yue", "hant"}, {"sr", "cyrl"},  {"sh", "latn"},  {"bs", "latn"}, {"az", "latn"}, {"uz", "latn"},
    {"kk", "cyrl"},  {"ky", "cyrl"},  {"mn", "cyrl"},  {"tg", "cyrl"},  {"tk", "latn"}, {"tt", "cyrl"}, {"ku", "latn"},
    {"pa", "guru"},  {"ks", "arab"},  {"sd", "arab"},  {"kr", "latn"},  {"ar", "arab"}, {"ms", "latn"}, {"ace", "latn"},
    {"bjn", "latn"}, {"min", "latn"}, {"taq", "latn"}, {"crh", "latn"}, {"ja", "jpan"}, {"ko", "hang"},
};

/* Where a region says the script. */
static const char *const of_region[][2] = {{"cn", "hans"}, {"sg", "hans"}, {"tw", "hant"}, {"hk", "hant"}, {"mo", "hant"}};

/* Groups of languages (ISO 639-5; iso-codes 4.15), and mul: many. */
static const char groups[] =
    "aavafaalgalvapaaqaaqlartathaufausawdazcbadbaibatberbihbntbtkcaicaucbaccnccscdccddcelcmccpecpfcppcrpcsucusdaydmndraegx"
    "esxeuqfiufoxgemgmegmqgmwgrkhmxhokhyxiirijoincineirairoitcjpxkarkdokhikromapmkhmnomulmunmynnahnaingfnicnubomqomvotopaa"
    "phiplfpozpqepqwpraqweroasaisalsdvsemsgnsiositslasmisonsqjssasydtaitbqtrktuptuttuwurjwakwenxgnxndypkzhxzlezlszlwznd";

static const char *look_up(const char *const table[][2], size_t count, const char *key)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(table[i][0], key) == 0)
            return table[i][1];
    return NULL;
}

#define LOOK_UP(table, key) look_up(table, sizeof table / sizeof *table, key)

/* ------------------------------------------------------------------------------------------------------------ parsing */

typedef struct tag {
    char language[4], script[5], region[4]; /* in small letters; "" where open */
} tag;

static bool all_letters(const char *text)
{
    while (tr_is_small_letter(*text))
        text++;
    return *text == 0;
}

/* The next part of a code in small letters; its length, 0 at the end and for one of more than room - 1 bytes. */
static size_t take_part(const char **code, char *part, size_t room)
{
    const size_t size = strcspn(*code, "-_");
    for (size_t i = 0; i < size && i < room - 1; i++) {
        const char c = (*code)[i];
        part[i] = c >= 'A' && c <= 'Z' ? (char)(c + 'a' - 'A') : c;
    }
    part[size < room ? size : 0] = 0;
    *code += size;
    *code += **code != 0;
    return size < room ? size : 0;
}

static void canonical(char language[4])
{
    const char *other = LOOK_UP(same, language);
    if (other)
        memcpy(language, other, strlen(other) + 1);
    for (const char *pair = two_letters; language[2] && *pair; pair += 5)
        if (memcmp(pair + 2, language, 3) == 0) {
            const char two[3] = {pair[0], pair[1], 0};
            other = LOOK_UP(same, two); /* nb */
            memcpy(language, other ? other : two, sizeof two);
        }
}

/* Argos Translate's own codes, and the usual ones. */
static const char *const argos[][2] = {{"zt", "zh-Hant"}, {"pb", "pt-BR"}};

static bool parse(const char *code, tag *t)
{
    char part[9];
    *t = (tag){0};
    size_t first = take_part(&code, part, sizeof part);
    const char *meant = LOOK_UP(argos, part);
    if (meant)
        first = take_part(&meant, part, sizeof part);
    if (first < 2 || first > 3 || !all_letters(part))
        return false;
    memcpy(t->language, part, first + 1);
    canonical(t->language);
    for (size_t size; (size = take_part(meant && *meant ? &meant : &code, part, sizeof part)) != 0;) {
        if (size == 4 && all_letters(part))
            memcpy(t->script, part, size + 1);
        else if (size <= 3 && strcmp(part, "xx") != 0) /* mBART's fr_XX */
            memcpy(t->region, part, size + 1);
    }
    if (!*t->script && strcmp(t->language, "zh") == 0 && LOOK_UP(of_region, t->region))
        memcpy(t->script, LOOK_UP(of_region, t->region), sizeof t->script);
    return true;
}

/* ------------------------------------------------------------------------------------------------------------ matching */

/* 0: they contradict each other. */
static int match_scripts(const tag *wanted, const tag *has)
{
    const char *common = LOOK_UP(usual, wanted->language);
    const char *w = *wanted->script ? wanted->script : common, *h = *has->script ? has->script : common;
    if (*wanted->script && *has->script)
        return strcmp(wanted->script, has->script) == 0 ? TR_SCRIPTS_SAME : 0;
    if (w && h && strcmp(w, h) != 0)
        return TR_SCRIPTS_UNUSUAL;
    return *wanted->script || *has->script ? TR_SCRIPTS_ONE_OPEN : TR_SCRIPTS_OPEN;
}

static int match_regions(const tag *wanted, const tag *has)
{
    if (strcmp(wanted->region, has->region) == 0)
        return TR_REGIONS_SAME;
    return !*has->region ? TR_REGION_HAS_OPEN : !*wanted->region ? TR_REGION_WANTED_OPEN : TR_REGIONS_DIFFER;
}

int tr_language_match(const char *wanted, const char *has)
{
    tag w, h;
    if (strcasecmp(wanted, has) == 0)
        return TR_LANGUAGE_ALIKE;
    if (!parse(wanted, &w) || !parse(has, &h) || strcmp(w.language, h.language) != 0)
        return 0;
    const int scripts = match_scripts(&w, &h);
    return scripts ? TR_LANGUAGE_REGIONS * scripts + match_regions(&w, &h) : 0;
}

bool tr_language_base(const char *code, char out[4])
{
    tag t;
    const bool known = parse(code, &t);
    memcpy(out, t.language, sizeof t.language);
    out[0] = known ? out[0] : 0;
    return known;
}

void tr_language_script(const char *code, char out[5])
{
    tag t;
    parse(code, &t);
    memcpy(out, t.script, sizeof t.script);
}

bool tr_language_is_unspaced(const char *code)
{
    static const char *const unspaced[] = {"zh", "yue", "wuu", "lzh", "ja"};
    char base[4];
    for (size_t i = 0; tr_language_base(code, base) && i < sizeof unspaced / sizeof *unspaced; i++)
        if (strcmp(base, unspaced[i]) == 0)
            return true;
    return false;
}

bool tr_language_is_group(const char *code)
{
    char base[4];
    const bool known = tr_language_base(code, base);
    for (const char *group = groups; known && *group; group += 3)
        if (memcmp(group, base, 4 - 1) == 0)
            return true;
    return false;
}

bool tr_language_is_known(const char *code)
{
    char base[4];
    if (!tr_language_base(code, base) || base[2])
        return false;
    for (const char *pair = two_letters; *pair; pair += 5)
        if (memcmp(pair, base, 2) == 0)
            return true;
    return false;
}
