/* Names, attributes and languages in the formats of Office. */
#include "document/runs.h"

#include <string.h>

bool tr_runs_next_attribute(const tr_document *d, size_t *at, size_t end, tr_xml_attribute_place *attribute)
{
    if (!tr_xml_next_attribute(d, at, end, attribute))
        return false;
    const char *colon = memchr(attribute->name, ':', attribute->name_size);
    if (colon) {
        attribute->name_size -= (size_t)(colon + 1 - attribute->name);
        attribute->name = colon + 1;
    }
    return true;
}

bool tr_runs_attribute_of(const tr_document *d, const tr_xml_event *start, const char *name,
                          tr_xml_attribute_place *attribute)
{
    size_t at = start->begin;
    while (tr_runs_next_attribute(d, &at, start->end, attribute))
        if (attribute->name_size == strlen(name) && memcmp(attribute->name, name, attribute->name_size) == 0)
            return true;
    return false;
}

/* Office wants a country with each language. */
static const char *country_of(const char *language)
{
    static const char *const countries[] = {"ar-SA", "cs-CZ", "da-DK", "de-DE", "el-GR", "en-US", "es-ES", "fi-FI", "fr-FR",
                                            "he-IL", "hi-IN", "hu-HU", "it-IT", "ja-JP", "ko-KR", "nb-NO", "nl-NL", "pl-PL",
                                            "pt-PT", "ro-RO", "ru-RU", "sv-SE", "th-TH", "tr-TR", "uk-UA", "vi-VN", "zh-CN"};
    for (size_t i = 0; i < sizeof countries / sizeof *countries; i++)
        if (strncmp(countries[i], language, 2) == 0 && !language[2])
            return countries[i] + 3;
    return "";
}

tr_runs_language tr_runs_target(const tr_document *d)
{
    tr_runs_language result = {0};
    const char *tag = d->settings.target_language ? d->settings.target_language : "";
    const size_t size = strcspn(tag, "-_");
    if (size >= sizeof result.language)
        return result;
    memcpy(result.language, tag, size);
    result.is_asian = tr_list_has(" zh ja ko ", tag, size);
    const char *country = country_of(result.language);
    if (tag[size] && strcmp(tag + size + 1, "Hant") == 0)
        country = "TW";
    else if (tag[size] && strlen(tag + size + 1) == 2)
        country = tag + size + 1;
    strcpy(result.country, country);
    return result;
}
