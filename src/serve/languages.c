#include "serve/languages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tokenizer/language_codes.h"

/* ----------------------------------------------------------------------------------------------------------------- names */

typedef struct language_names {
    const char *code, *english, *chinese;
} language_names;

/* Sorted by code. The Chinese names are those that Chinese programs show. */
static const language_names names[] = {
    {"aa", "Afar", "阿法尔语"},
    {"ab", "Abkhaz", "阿布哈兹语"},
    {"ace", "Acehnese", "亚齐语"},
    {"af", "Afrikaans", "南非荷兰语"},
    {"ak", "Akan", "阿肯语"},
    {"am", "Amharic", "阿姆哈拉语"},
    {"an", "Aragonese", "阿拉贡语"},
    {"ar", "Arabic", "阿拉伯语"},
    {"arz", "Egyptian Arabic", "埃及阿拉伯语"},
    {"as", "Assamese", "阿萨姆语"},
    {"ast", "Asturian", "阿斯图里亚斯语"},
    {"av", "Avar", "阿瓦尔语"},
    {"awa", "Awadhi", "阿瓦德语"},
    {"ay", "Aymara", "艾马拉语"},
    {"az", "Azerbaijani", "阿塞拜疆语"},
    {"azb", "South Azerbaijani", "南阿塞拜疆语"},
    {"ba", "Bashkir", "巴什基尔语"},
    {"ban", "Balinese", "巴厘语"},
    {"be", "Belarusian", "白俄罗斯语"},
    {"bg", "Bulgarian", "保加利亚语"},
    {"bho", "Bhojpuri", "博杰普尔语"},
    {"bm", "Bambara", "班巴拉语"},
    {"bn", "Bengali", "孟加拉语"},
    {"bo", "Tibetan", "藏语"},
    {"br", "Breton", "布列塔尼语"},
    {"bs", "Bosnian", "波斯尼亚语"},
    {"bug", "Buginese", "布吉语"},
    {"ca", "Catalan", "加泰罗尼亚语"},
    {"ce", "Chechen", "车臣语"},
    {"ceb", "Cebuano", "宿务语"},
    {"ckb", "Central Kurdish", "中库尔德语"},
    {"co", "Corsican", "科西嘉语"},
    {"crh", "Crimean Tatar", "克里米亚鞑靼语"},
    {"cs", "Czech", "捷克语"},
    {"cv", "Chuvash", "楚瓦什语"},
    {"cy", "Welsh", "威尔士语"},
    {"da", "Danish", "丹麦语"},
    {"de", "German", "德语"},
    {"dv", "Divehi", "迪维希语"},
    {"dz", "Dzongkha", "宗喀语"},
    {"ee", "Ewe", "埃维语"},
    {"el", "Greek", "希腊语"},
    {"en", "English", "英语"},
    {"eo", "Esperanto", "世界语"},
    {"es", "Spanish", "西班牙语"},
    {"et", "Estonian", "爱沙尼亚语"},
    {"eu", "Basque", "巴斯克语"},
    {"fa", "Persian", "波斯语"},
    {"ff", "Fula", "富拉语"},
    {"fi", "Finnish", "芬兰语"},
    {"fj", "Fijian", "斐济语"},
    {"fo", "Faroese", "法罗语"},
    {"fr", "French", "法语"},
    {"fur", "Friulian", "弗留利语"},
    {"fy", "Western Frisian", "弗里西语"},
    {"ga", "Irish", "爱尔兰语"},
    {"gd", "Scottish Gaelic", "苏格兰盖尔语"},
    {"gl", "Galician", "加利西亚语"},
    {"gn", "Guarani", "瓜拉尼语"},
    {"gu", "Gujarati", "古吉拉特语"},
    {"gv", "Manx", "马恩语"},
    {"ha", "Hausa", "豪萨语"},
    {"haw", "Hawaiian", "夏威夷语"},
    {"he", "Hebrew", "希伯来语"},
    {"hi", "Hindi", "印地语"},
    {"hmn", "Hmong", "苗语"},
    {"hr", "Croatian", "克罗地亚语"},
    {"ht", "Haitian Creole", "海地克里奥尔语"},
    {"hu", "Hungarian", "匈牙利语"},
    {"hy", "Armenian", "亚美尼亚语"},
    {"ia", "Interlingua", "国际语"},
    {"id", "Indonesian", "印度尼西亚语"},
    {"ig", "Igbo", "伊博语"},
    {"ilo", "Ilocano", "伊洛卡诺语"},
    {"is", "Icelandic", "冰岛语"},
    {"it", "Italian", "意大利语"},
    {"iu", "Inuktitut", "因纽特语"},
    {"ja", "Japanese", "日语"},
    {"jv", "Javanese", "爪哇语"},
    {"ka", "Georgian", "格鲁吉亚语"},
    {"kab", "Kabyle", "卡拜尔语"},
    {"kg", "Kongo", "刚果语"},
    {"ki", "Kikuyu", "基库尤语"},
    {"kk", "Kazakh", "哈萨克语"},
    {"kl", "Greenlandic", "格陵兰语"},
    {"km", "Khmer", "高棉语"},
    {"kn", "Kannada", "卡纳达语"},
    {"ko", "Korean", "韩语"},
    {"kr", "Kanuri", "卡努里语"},
    {"ks", "Kashmiri", "克什米尔语"},
    {"ku", "Kurdish", "库尔德语"},
    {"kw", "Cornish", "康沃尔语"},
    {"ky", "Kyrgyz", "吉尔吉斯语"},
    {"la", "Latin", "拉丁语"},
    {"lb", "Luxembourgish", "卢森堡语"},
    {"lg", "Ganda", "卢干达语"},
    {"li", "Limburgish", "林堡语"},
    {"lij", "Ligurian", "利古里亚语"},
    {"lmo", "Lombard", "伦巴第语"},
    {"ln", "Lingala", "林加拉语"},
    {"lo", "Lao", "老挝语"},
    {"lt", "Lithuanian", "立陶宛语"},
    {"lv", "Latvian", "拉脱维亚语"},
    {"lzh", "Classical Chinese", "中文(文言文)"},
    {"mai", "Maithili", "迈蒂利语"},
    {"mg", "Malagasy", "马达加斯加语"},
    {"mi", "Maori", "毛利语"},
    {"min", "Minangkabau", "米南加保语"},
    {"mk", "Macedonian", "马其顿语"},
    {"ml", "Malayalam", "马拉雅拉姆语"},
    {"mn", "Mongolian", "蒙古语"},
    {"mr", "Marathi", "马拉地语"},
    {"ms", "Malay", "马来语"},
    {"mt", "Maltese", "马耳他语"},
    {"my", "Burmese", "缅甸语"},
    {"nb", "Norwegian", "挪威语"},
    {"ne", "Nepali", "尼泊尔语"},
    {"nl", "Dutch", "荷兰语"},
    {"nn", "Norwegian Nynorsk", "新挪威语"},
    {"nso", "Northern Sotho", "北索托语"},
    {"ny", "Chichewa", "齐切瓦语"},
    {"oc", "Occitan", "奥克语"},
    {"om", "Oromo", "奥罗莫语"},
    {"or", "Odia", "奥里亚语"},
    {"os", "Ossetian", "奥塞梯语"},
    {"pa", "Punjabi", "旁遮普语"},
    {"pap", "Papiamento", "帕皮阿门托语"},
    {"pl", "Polish", "波兰语"},
    {"ps", "Pashto", "普什图语"},
    {"pt", "Portuguese", "葡萄牙语"},
    {"pt-BR", "Portuguese (Brazil)", "葡萄牙语(巴西)"},
    {"qu", "Quechua", "克丘亚语"},
    {"rm", "Romansh", "罗曼什语"},
    {"rn", "Kirundi", "基隆迪语"},
    {"ro", "Romanian", "罗马尼亚语"},
    {"ru", "Russian", "俄语"},
    {"rw", "Kinyarwanda", "卢旺达语"},
    {"sa", "Sanskrit", "梵语"},
    {"sat", "Santali", "桑塔利语"},
    {"sc", "Sardinian", "撒丁语"},
    {"scn", "Sicilian", "西西里语"},
    {"sd", "Sindhi", "信德语"},
    {"se", "Northern Sami", "北萨米语"},
    {"sg", "Sango", "桑戈语"},
    {"sh", "Serbo-Croatian", "塞尔维亚-克罗地亚语"},
    {"shn", "Shan", "掸语"},
    {"si", "Sinhala", "僧伽罗语"},
    {"sk", "Slovak", "斯洛伐克语"},
    {"sl", "Slovenian", "斯洛文尼亚语"},
    {"sm", "Samoan", "萨摩亚语"},
    {"sn", "Shona", "修纳语"},
    {"so", "Somali", "索马里语"},
    {"sq", "Albanian", "阿尔巴尼亚语"},
    {"sr", "Serbian", "塞尔维亚语"},
    {"sr-Latn", "Serbian (Latin)", "塞尔维亚语(拉丁文)"},
    {"ss", "Swati", "斯瓦蒂语"},
    {"st", "Southern Sotho", "塞索托语"},
    {"su", "Sundanese", "巽他语"},
    {"sv", "Swedish", "瑞典语"},
    {"sw", "Swahili", "斯瓦希里语"},
    {"szl", "Silesian", "西里西亚语"},
    {"ta", "Tamil", "泰米尔语"},
    {"te", "Telugu", "泰卢固语"},
    {"tg", "Tajik", "塔吉克语"},
    {"th", "Thai", "泰语"},
    {"ti", "Tigrinya", "提格利尼亚语"},
    {"tk", "Turkmen", "土库曼语"},
    {"tl", "Tagalog", "他加禄语"},
    {"tn", "Tswana", "茨瓦纳语"},
    {"to", "Tongan", "汤加语"},
    {"tpi", "Tok Pisin", "巴布亚皮钦语"},
    {"tr", "Turkish", "土耳其语"},
    {"ts", "Tsonga", "聪加语"},
    {"tt", "Tatar", "鞑靼语"},
    {"tum", "Tumbuka", "通布卡语"},
    {"tw", "Twi", "契维语"},
    {"ty", "Tahitian", "塔希提语"},
    {"tzm", "Central Atlas Tamazight", "中阿特拉斯塔马塞特语"},
    {"udm", "Udmurt", "乌德穆尔特语"},
    {"ug", "Uyghur", "维吾尔语"},
    {"uk", "Ukrainian", "乌克兰语"},
    {"ur", "Urdu", "乌尔都语"},
    {"uz", "Uzbek", "乌兹别克语"},
    {"ve", "Venda", "文达语"},
    {"vec", "Venetian", "威尼斯语"},
    {"vi", "Vietnamese", "越南语"},
    {"vo", "Volapük", "沃拉普克语"},
    {"wa", "Walloon", "瓦隆语"},
    {"war", "Waray", "瓦瑞语"},
    {"wo", "Wolof", "沃洛夫语"},
    {"wuu", "Wu Chinese", "中文(吴语)"},
    {"xh", "Xhosa", "科萨语"},
    {"yi", "Yiddish", "意第绪语"},
    {"yo", "Yoruba", "约鲁巴语"},
    {"yue", "Cantonese", "中文(粤语)"},
    {"zh-Hans", "Chinese (Simplified)", "中文(简体)"},
    {"zh-Hant", "Chinese (Traditional)", "中文(繁体)"},
    {"zu", "Zulu", "祖鲁语"},
};

/* Other Chinese names that programs send. */
static const char *const aliases[][2] = {
    {"中文", "zh-Hans"},     {"简体中文", "zh-Hans"}, {"中文（简体）", "zh-Hans"},
    {"繁体中文", "zh-Hant"}, {"繁體中文", "zh-Hant"}, {"中文（繁体）", "zh-Hant"},
    {"粤语", "yue"},         {"文言文", "lzh"},       {"印尼语", "id"},
    {"印尼爪哇语", "jv"},    {"印尼巽他语", "su"},    {"菲律宾语", "tl"},
    {"南非祖鲁语", "zu"},    {"南非科萨语", "xh"},    {"马尔加什语", "mg"},
    {"朝鲜语", "ko"},        {"布尔语", "af"},        {"布尔语(南非荷兰语)", "af"},
};

enum { NAMES = sizeof names / sizeof *names, ALIASES = sizeof aliases / sizeof *aliases };

static int compare_code(const void *code, const void *entry)
{
    return strcmp(code, ((const language_names *)entry)->code);
}

static const language_names *names_of(const char *code)
{
    return bsearch(code, names, NAMES, sizeof *names, compare_code);
}

const char *language_name(const char *code)
{
    const language_names *found = names_of(code);
    return found ? found->english : code;
}

const char *language_chinese_name(const char *code)
{
    const language_names *found = names_of(code);
    return found ? found->chinese : code;
}

static const char *code_of_chinese_name(const char *name)
{
    if ((unsigned char)*name < 0x80) /* a code */
        return NULL;
    for (size_t i = 0; i < NAMES; i++)
        if (strcmp(names[i].chinese, name) == 0)
            return names[i].code;
    for (size_t i = 0; i < ALIASES; i++)
        if (strcmp(aliases[i][0], name) == 0)
            return aliases[i][1];
    return NULL;
}

/* ----------------------------------------------------------------------------------------------------------------- codes */

/* Whether a code names or implies a script that is not the usual one of its language. */
static bool has_unusual_script(const char *base, const char *code)
{
    const int match = tr_language_match(base, code);
    return match != TR_LANGUAGE_ALIKE && match / TR_LANGUAGE_REGIONS == TR_SCRIPTS_UNUSUAL;
}

static bool is_brazilian(const char *code)
{
    const int match = tr_language_match("pt-BR", code);
    return match == TR_LANGUAGE_ALIKE || (match && match % TR_LANGUAGE_REGIONS == TR_REGIONS_SAME);
}

bool language_of(const char *any, char code[LANGUAGE])
{
    char base[4], script[5];
    const char *named = any ? code_of_chinese_name(any) : NULL;
    if (!any || (!named && (!tr_language_base(any, base) || tr_language_is_group(any)))) {
        code[0] = 0;
        return false;
    }
    tr_language_script(any, script);
    if (!named && strcmp(base, "no") == 0)
        named = "nb";
    else if (!named && is_brazilian(any))
        named = "pt-BR";
    if (named)
        snprintf(code, LANGUAGE, "%s", named);
    else if (has_unusual_script(base, any))
        snprintf(code, LANGUAGE, "%s-%c%s", base, script[0] - 'a' + 'A', script + 1);
    else
        snprintf(code, LANGUAGE, "%s", strcmp(base, "zh") == 0 ? "zh-Hans" : base);
    return true;
}

bool language_same(const char *a, const char *b)
{
    return tr_language_match(a, b) != 0;
}
