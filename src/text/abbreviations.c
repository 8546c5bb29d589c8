#include "text/abbreviations.h"

#include <string.h>

/* Words separated and enclosed by spaces. */
static const char inner[] =
    " Mr Mrs Ms Mx Dr Prof Gen Col Capt Cpt Cmdr Lt Sgt Maj Adm Rev Sen Rep Gov Hon Pres Supt Insp Ste Mt Ft Messrs Mme "
    "Mlle Mmes Bro Atty Amb vs cf Cf viz approx ca e.g E.g i.e I.e eg ie resp incl esp "
    "Brig Cpl Pvt Pte Drs Profs Msgr Dipl ";
static const char number[] =
    " No Nos no nos Nr nr Fig fig Figs figs Eq eq Eqs eqs p pp Pp P vol Vol vols art Art sec Sec sect Sect ch Ch chap Chap "
    "ver Ver v para Para pt Pt Tab tab ed App app Ex ex Ref ref Refs refs c n tel Tel ext Ext Rs ";
static const char either[] =
    " etc Etc St Inc Ltd Co Corp Bros LLC Jr Sr Esq al PhD Ph.D Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec Mon Tue "
    "Tues "
    "Wed Thu Thur Thurs Fri Sat Sun Ave Blvd Rd Sq Hwy Dept dept Univ univ Assn Assoc est Est min max hr hrs sec ft lb lbs "
    "oz mph km kg cm mm Calif Fla Ariz Mass Mich Minn Tex Va Wash Wis Pa Conn Ont Que ";
static const char starters[] =
    " The This That These Those There Then They He She It We You I In On At As If But And So Or For From When While What "
    "Why "
    "Where Who How However Although After Before Because Since With Without His Her Its Our Their My Your A An By To Not No "
    "Yes Now Here Some Many Most All Each Every Both One Today Yesterday Tomorrow Meanwhile Moreover Also Let Please Is Are "
    "Was Were Do Does Did Can Could Will Would Should May Might Have Has Had Such Once Until Unless Despite During Under ";

static bool contains(const char *list, const char *word, size_t size)
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

tr_abbreviation tr_abbreviation_kind(const char *word, size_t size)
{
    if (contains(inner, word, size))
        return TR_ABBREVIATION_INNER;
    if (contains(number, word, size))
        return TR_ABBREVIATION_NUMBER;
    return contains(either, word, size) ? TR_ABBREVIATION_EITHER : TR_ABBREVIATION_NONE;
}

bool tr_is_sentence_starter(const char *word, size_t size)
{
    return contains(starters, word, size);
}
