#include "import/prefixes.h"

#include <stdbool.h>
#include <string.h>

#include "import/letters.h"
#include "util/utf8.h"

/* Single characters that are abbreviations in a language, mainly initials of names. */
enum {
    CAPITALS = 1, /* A to Z */
    SMALL = 2,    /* a to z */
    ORDINALS = 4, /* 1. to 99. */
    ROMAN = 8,    /* I. to XX., in capitals or not */
};

typedef struct prefixes {
    const char *languages; /* codes that share a list */
    int rules;
    const char *letters;      /* more initials than A to Z */
    const char *any, *number; /* words, separated and enclosed by spaces */
} prefixes;

/* The first is that of all languages that have none. */
static const prefixes lists[] = {
    {"en", CAPITALS, "",
     " Adm Asst Brig Bros Capt Cmdr Col Corp Cpl DR Dr Drs Gen Gov Hon Insp Lt MR MRS MS Maj Messrs Mlle Mme Mr Mrs "
     "Ms Msgr Op Ph Prof Pvt Rep Rev Rt Sen Sgt Sr St Supt v vs rev Nos Nr Adj Hr Jan Feb Mar Apr Jun Jul Aug Sep "
     "Oct Nov Dec Bldg MM ",
     " No Art pp "},
    {"de", CAPITALS | SMALL | ORDINALS | ROMAN, "",
     " Adm Art Chr Co Dr Gen Lt Mio Mr Mrd Mrs Ms Nr Prof St Std Zt bzgl bzw ca evtl etc ggf usf usw vgl vs No Nos "
     "Mme Mlle Rev Sr Corp Ltd Col Sgt Capt Maj Gov Sen Rep Op Adj Ph Hon Bros Messrs pp jun Bldg MM ",
     " "},
    {"fr", CAPITALS, "bcdefghijklmnopqrstuvwxyz", /* il y en a. */
     " M MM av boul cf chap dir env etc ex fasc fig hab ibid id inf lib pl pp sq suiv sup suppl tél vol vs apr p ca "
     "art al éd ",
     " "},
    {"es", CAPITALS, "",
     " Dr Dra Sr Sra Srta Ud Uds Vd Vds Av Gral Lic Prof D Excmo Sto Sta cap ej etc núm pág págs vol p doc Tel kg "
     "km cm mm s c av gr ",
     " "},
    {"it", CAPITALS, "",
     " Adj Adm Amn Arch Asst Avv Bart Bros Capt Col Dott Dr Drs Egr Gen Geom Gov Hon Ing Insp Lt Mons Mr Mrs Ms Op "
     "Ph Prof Rag Rep Rev Sen Sig Sigg Sr St ecc es rev tel v vs Nos Nr Mme Mlle Co Corp Sgt Maj Messrs pp Hr Bldg "
     "ss dott on MM ",
     " No Art pp "},
    {"pt", CAPITALS | SMALL | ROMAN, "",
     " Adj Adm Art Col Dr Dra Drs Eng Exmo Gen Lda Mrs Ms Op Prof Rep Rev Sen Sr Sra Sto art cit ex rev v vs Nos Nr "
     "Corp Sgt Capt Maj Ph fig dr prof drs op MM ",
     " No p pp Art "},
    {"nl", CAPITALS, "", " Lt Mej Mw bijv bv dhr dr drs ir mr Mme ing prof mevr gen ", " nr Nr "},
    {"pl", CAPITALS, "ĆŚŹŻ",
     " al am art bp bł cd dot dr doc ds gen godz gosp hab im in inż jw kpt ks lek łac mgr np pl płk pn pol por pow "
     "prof przyp reż red ryc św tel tj tzn tzw ul woj zob zm zn Art Dr Prof Gen p Hr n o k id Mgr poz gr st arch "
     "akad kl kr ",
     " nr s str tab ust Nr r l pkt "},
    {"ru", CAPITALS, "АБВГДЕЖЗИЙКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯ",
     " в вв г гг гл гос д доп ед зам кап кв кол комн коп куб л м макс мин мл млн млрд н нач о обл обр ок п пер пос "
     "пр проф р ред руб с св ср ст стр т тел тыс ул уч физ ч чел шт экз пл см др сб ",
     " "},
    {"cs", 0, "",
     " Bc Mgr RNDr PhDr JUDr MUDr MVDr Ing Dr ThDr CSc DrSc prof doc apod atd atp cca cit col č event hl ibid il "
     "konkr kr m mj např násl obr odd okr orig pl pol popř pozn resp roč s sg spec st sv stol tis tj tř tzv var "
     "vyd vyobr zejm vs vol p r n f ed geom gen red mld tzn arch kl nr ",
     " "},
    {"sk", CAPITALS, "Č",
     " Bc Mgr RNDr PhDr JUDr MUDr MVDr Ing Dr ThDr DrSc prof apod atp č čl konkr max min obr odd okr ot pl resp roč "
     "sg soc spol st sv str stol tzv ul ust zn zv etc tel art Fr Tel al geom gen kpt por lek poz gr mld tzn mil "
     "arch akad ",
     " "},
    {"sv", CAPITALS, "ÄÅÖ", " AB dvs etc iaf kl osv tom vs mm vol s d f jan feb mar apr jun jul aug sep okt nov dec kr ",
     " "},
    {"fi", CAPITALS, "ÄÅÖ", " esim mm Mr Mrs Ms v prof t l ", " "},
    {"et", CAPITALS, "ÄÅÖ", " esim mm Mr Mrs Ms v prof t l ", " "},
    {"ro", CAPITALS, "", " dl Dl d-na D-na dvs Dvs etc pt Pt ", " "},
    {"ca", CAPITALS, "", " Dr Dra Sr Sra Prof pàg av St ca p tel al n c pl dept ed núm aprox ", " "},
    {"hu", CAPITALS, "ÁÉÍÓÖÚÜŐŰ", " Dr dr Prof St ún vö ca prof min max Pl pl ",
     " jan feb márc ápr máj jún júl aug szept okt nov dec tel Tel Jan Feb Aug Okt Nov Dec "},
    {"sl", CAPITALS, "",
     " dr Dr itd itn tj Tj npr Npr oz Oz ing prim prev dipl d Op Jan Feb Mar Apr Jun Jul Sep Sept Okt Nov Dec jan "
     "feb mar apr jun jul sep okt nov dec cf Cf op ",
     " št Št "},
    {"lt", CAPITALS, "ĀČĒĢĪĶĻŅŠŪŽ",
     " dr doc prof pan žr gerb m mėn min t tel vyr Nr Dr Prof vs etc v p str al r d g l b n k e av pl geom Pr gen "
     "kpt mjr mgr red gr mln st akad kl nr kr ",
     " No "},
    {"lv", CAPITALS, "ĀČĒĢĪĶĻŅŠŪŽ", " dr Dr med prof Prof inž akad ", " Nr "},
    {"is", CAPITALS | SMALL, "", " dr hr skv sbr mgr millj al kg km mm nl mín gr st kl fl kr ", " no No nr Nr nR NR "},
    {"ga", CAPITALS, "ÁÉÍÓÚ", " Uacht Dr Co Cf cf r Chr ", " lch lgh uimh "},
    {"el", 0, "ΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩ", " Δρ κ σελ Αθ αρ δηλ βλ ", " "},
    {"zh yue", CAPITALS, "ĀČĒĢĪĶĻŅŠŪŽ", " ", " No Nr "},
    {"as bn gu hi kn ml mni mr or pa ta te", 0, "", " ", " "},
};

enum { LISTS = sizeof lists / sizeof *lists, LONGEST = 31 };

/* Whether the word [size] stands in a list of words between spaces. */
static bool contains(const char *list, const char *word, size_t size)
{
    for (const char *at = list; (at = strstr(at, word)) != NULL; at++)
        if ((at == list || at[-1] == ' ') && (at[size] == ' ' || at[size] == 0))
            return true;
    return false;
}

static const prefixes *prefixes_of(const char *language)
{
    for (size_t i = 0; *language && i < LISTS; i++)
        if (contains(lists[i].languages, language, strlen(language)))
            return &lists[i];
    return lists;
}

static bool is_roman(const char *word)
{
    return contains(" I II III IV V VI VII VIII IX X XI XII XIII XIV XV XVI XVII XVIII XIX XX ", word, strlen(word)) ||
           contains(" i ii iii iv v vi vii viii ix x xi xii xiii xiv xv xvi xvii xviii xix xx ", word, strlen(word));
}

static bool is_ordinal(const int32_t *word, size_t size)
{
    return size <= 2 && word[0] != '0' && tr_is_digit(word[0]) && tr_is_digit(word[size - 1]);
}

/* utf8: the same word. */
static bool is_by_rule(const prefixes *p, const int32_t *word, size_t size, const char *utf8)
{
    const int32_t c = word[0];
    if (size == 1 && ((p->rules & CAPITALS && c >= 'A' && c <= 'Z') || (p->rules & SMALL && c >= 'a' && c <= 'z')))
        return true;
    if (size == 1 && strstr(p->letters, utf8))
        return true;
    return (p->rules & ORDINALS && is_ordinal(word, size)) || (p->rules & ROMAN && is_roman(utf8));
}

tr_prefix_kind tr_prefix_kind_of(const char *language, const int32_t *word, size_t size)
{
    char utf8[LONGEST + 5];
    size_t bytes = 0;
    for (size_t i = 0; i < size; i++) {
        if (bytes > LONGEST || word[i] <= ' ')
            return TR_PREFIX_NONE;
        bytes += tr_utf8_encode((uint32_t)word[i], utf8 + bytes);
    }
    utf8[bytes] = 0;
    const prefixes *const p = prefixes_of(language);
    if (!bytes)
        return TR_PREFIX_NONE;
    if (is_by_rule(p, word, size, utf8) || contains(p->any, utf8, bytes))
        return TR_PREFIX_ANY;
    return contains(p->number, utf8, bytes) ? TR_PREFIX_NUMBER : TR_PREFIX_NONE;
}
