/* The languages of Hugging Face's multilingual tokenizers: their tokens have no place in SentencePiece models, and where a
 * directory does not list them, they are those that fairseq trained with, numbered after the pieces in this order
 * (FAIRSEQ_LANGUAGE_CODES in transformers' tokenization_*.py). */
#include "import/hf/languages.h"

#include <stdlib.h>
#include <string.h>

static const char mbart25[] =
    "ar_AR cs_CZ de_DE en_XX es_XX et_EE fi_FI fr_XX gu_IN hi_IN it_IT ja_XX kk_KZ ko_KR lt_LT lv_LV my_MM ne_NP nl_XX "
    "ro_RO ru_RU si_LK tr_TR vi_VN zh_CN";
static const char mbart50[] =
    "ar_AR cs_CZ de_DE en_XX es_XX et_EE fi_FI fr_XX gu_IN hi_IN it_IT ja_XX kk_KZ ko_KR lt_LT lv_LV my_MM ne_NP nl_XX "
    "ro_RO ru_RU si_LK tr_TR vi_VN zh_CN af_ZA az_AZ bn_IN fa_IR he_IL hr_HR id_ID ka_GE km_KH mk_MK ml_IN mn_MN mr_IN "
    "pl_PL ps_AF pt_XX sv_SE sw_KE ta_IN te_IN th_TH tl_XX uk_UA ur_PK xh_ZA gl_ES sl_SI";
static const char m2m100[] =
    "af am ar ast az ba be bg bn br bs ca ceb cs cy da de el en es et fa ff fi fr fy ga gd gl gu ha he hi hr ht hu hy id"
    " ig ilo is it ja jv ka kk km kn ko lb lg ln lo lt lv mg mk ml mn mr ms my ne nl no ns oc or pa pl ps pt ro ru sd si"
    " sk sl so sq sr ss su sv sw ta th tl tn tr uk ur uz vi wo xh yi yo zh zu";
static const char wmt21[] = "en ha is ja cs ru zh de";
static const char nllb[] =
    "ace_Arab ace_Latn acm_Arab acq_Arab aeb_Arab afr_Latn ajp_Arab aka_Latn amh_Ethi apc_Arab arb_Arab ars_Arab "
    "ary_Arab arz_Arab asm_Beng ast_Latn awa_Deva ayr_Latn azb_Arab azj_Latn bak_Cyrl bam_Latn ban_Latn bel_Cyrl "
    "bem_Latn ben_Beng bho_Deva bjn_Arab bjn_Latn bod_Tibt bos_Latn bug_Latn bul_Cyrl cat_Latn ceb_Latn ces_Latn "
    "cjk_Latn ckb_Arab crh_Latn cym_Latn dan_Latn deu_Latn dik_Latn dyu_Latn dzo_Tibt ell_Grek eng_Latn epo_Latn "
    "est_Latn eus_Latn ewe_Latn fao_Latn pes_Arab fij_Latn fin_Latn fon_Latn fra_Latn fur_Latn fuv_Latn gla_Latn "
    "gle_Latn glg_Latn grn_Latn guj_Gujr hat_Latn hau_Latn heb_Hebr hin_Deva hne_Deva hrv_Latn hun_Latn hye_Armn "
    "ibo_Latn ilo_Latn ind_Latn isl_Latn ita_Latn jav_Latn jpn_Jpan kab_Latn kac_Latn kam_Latn kan_Knda kas_Arab "
    "kas_Deva kat_Geor knc_Arab knc_Latn kaz_Cyrl kbp_Latn kea_Latn khm_Khmr kik_Latn kin_Latn kir_Cyrl kmb_Latn "
    "kon_Latn kor_Hang kmr_Latn lao_Laoo lvs_Latn lij_Latn lim_Latn lin_Latn lit_Latn lmo_Latn ltg_Latn ltz_Latn "
    "lua_Latn lug_Latn luo_Latn lus_Latn mag_Deva mai_Deva mal_Mlym mar_Deva min_Latn mkd_Cyrl plt_Latn mlt_Latn "
    "mni_Beng khk_Cyrl mos_Latn mri_Latn zsm_Latn mya_Mymr nld_Latn nno_Latn nob_Latn npi_Deva nso_Latn nus_Latn "
    "nya_Latn oci_Latn gaz_Latn ory_Orya pag_Latn pan_Guru pap_Latn pol_Latn por_Latn prs_Arab pbt_Arab quy_Latn "
    "ron_Latn run_Latn rus_Cyrl sag_Latn san_Deva sat_Beng scn_Latn shn_Mymr sin_Sinh slk_Latn slv_Latn smo_Latn "
    "sna_Latn snd_Arab som_Latn sot_Latn spa_Latn als_Latn srd_Latn srp_Cyrl ssw_Latn sun_Latn swe_Latn swh_Latn "
    "szl_Latn tam_Taml tat_Cyrl tel_Telu tgk_Cyrl tgl_Latn tha_Thai tir_Ethi taq_Latn taq_Tfng tpi_Latn tsn_Latn "
    "tso_Latn tuk_Latn tum_Latn tur_Latn twi_Latn tzm_Tfng uig_Arab ukr_Cyrl umb_Latn urd_Arab uzn_Latn vec_Latn "
    "vie_Latn war_Latn wol_Latn xho_Latn ydd_Hebr yor_Latn yue_Hant zho_Hans zho_Hant zul_Latn";
static const char plbart[] = "__java__ __python__ __en_XX__";
static const char plbart_multi[] = "__java__ __python__ __en_XX__ __javascript__ __php__ __ruby__ __go__";

/* -------------------------------------------------------------------------------------------------- tokenizer classes */

static const tr_hf_tokenizer classes[] = {
    {"MBartTokenizer", TR_LANGUAGE_SOURCE_LAST, TR_LANGUAGE_TARGET_START, mbart25, "", true},
    {"MBart50Tokenizer", TR_LANGUAGE_SOURCE_FIRST, TR_LANGUAGE_TARGET_FIRST, mbart50, "", true},
    {"PLBartTokenizer", TR_LANGUAGE_SOURCE_LAST, TR_LANGUAGE_TARGET_START, plbart, "", true},
    {"NllbTokenizer", TR_LANGUAGE_SOURCE_FIRST, TR_LANGUAGE_TARGET_FIRST, nllb, "", true},
    {"M2M100Tokenizer", TR_LANGUAGE_SOURCE_FIRST, TR_LANGUAGE_TARGET_FIRST, m2m100, "__", false},
    {"SMALL100Tokenizer", TR_LANGUAGE_NOWHERE, TR_LANGUAGE_SOURCE_FIRST, m2m100, "__", false},
};

/* By name, which may end in "Fast". */
static const tr_hf_tokenizer *find_class(const char *name)
{
    const size_t size = strlen(name), fast = size > 4 && strcmp(name + size - 4, "Fast") == 0 ? 4 : 0;
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (strlen(classes[i].name) == size - fast && memcmp(name, classes[i].name, size - fast) == 0)
            return &classes[i];
    return NULL;
}

bool tr_hf_tokenizer_choose(tr_json_fields *settings, const char *model_type, bool words, int rows,
                            tr_hf_tokenizer *tokenizer)
{
    enum { MBART50_ROWS = 250054 };
    const char *named = tr_json_string(settings, "tokenizer_class", "");
    const tr_hf_tokenizer *class = find_class(named);
    if (!class && strcmp(model_type, "m2m_100") == 0)
        class = find_class(words ? "M2M100Tokenizer" : "NllbTokenizer");
    if (!class && strcmp(model_type, "mbart") == 0)
        class = find_class(rows == MBART50_ROWS ? "MBart50Tokenizer" : "MBartTokenizer");
    if (!class && strcmp(model_type, "plbart") == 0)
        class = find_class("PLBartTokenizer");
    if (!class)
        return false;
    *tokenizer = *class;
    const char *codes = tr_json_string(settings, "language_codes", "");
    if (strcmp(codes, "wmt21") == 0) {
        tokenizer->codes = wmt21;
    } else if (strcmp(codes, "multi") == 0) {
        tokenizer->codes = plbart_multi;
        tokenizer->mask = false;
    }
    if (class == find_class("NllbTokenizer") && tr_json_bool(settings, "legacy_behaviour", false))
        tokenizer->source = TR_LANGUAGE_SOURCE_LAST;
    return true;
}

/* ------------------------------------------------------------------------------------------------------------ tokens */

tr_status tr_hf_added_read(const json_t *tokens, int rows, tr_added *added, tr_error *error)
{
    const char *key;
    json_t *value;
    tr_status status = TR_OK;
    json_object_foreach((json_t *)tokens, key, value)
    {
        char *end;
        const long id = strtol(key, &end, 10);
        const char *text = json_string_value(json_object_get(value, "content"));
        if (*end || end == key || id < 0 || !text)
            return tr_fail(error, TR_ERROR_FORMAT, "added_tokens_decoder: %.40s is not a token", key);
        if (id < rows && status == TR_OK) /* some directories name more tokens than the embedding has */
            status = tr_added_add(added, (int32_t)id, text, strlen(text), error);
    }
    return status;
}

tr_status tr_hf_added_codes(const tr_hf_tokenizer *tokenizer, int32_t first, int rows, tr_added *added, tr_error *error)
{
    char token[2 * TR_LANGUAGE];
    tr_status status = TR_OK;
    for (const char *at = tokenizer->codes; status == TR_OK && *at && first < rows; first++) {
        const size_t size = strcspn(at, " "), around = strlen(tokenizer->around);
        memcpy(token, tokenizer->around, around);
        memcpy(token + around, at, size);
        memcpy(token + around + size, tokenizer->around, around);
        status = tr_added_add(added, first, token, size + 2 * around, error);
        at += size + (at[size] == ' ');
    }
    if (status == TR_OK && tokenizer->mask && first < rows)
        status = tr_added_add(added, first, "<mask>", 6, error);
    return status;
}

tr_status tr_hf_added_special(const tr_added *added, tr_package *package, tr_error *error)
{
    if (added->ids.size > (size_t)package->config.target_vocabulary)
        return tr_fail(error, TR_ERROR_FORMAT, "added tokens: there are more than the embedding has rows");
    return tr_ids_append(&package->special, added->ids.data, added->ids.size)
               ? TR_OK
               : tr_fail(error, TR_ERROR_MEMORY, "added tokens: out of memory");
}

tr_status tr_hf_added_languages(const tr_added *added, const tr_hf_tokenizer *tokenizer, tr_package *package,
                                tr_error *error)
{
    tr_languages *languages = &package->languages;
    tr_status status = TR_OK;
    for (size_t i = 0; status == TR_OK && i < added->ids.size; i++) {
        const char *token = added->text.data + added->starts.data[i], *code;
        const size_t size = tr_language_of_token(token, strlen(token), &code);
        if (size)
            status = tr_languages_add(languages, code, size, added->ids.data[i], error);
    }
    if (languages->count) {
        languages->source = tokenizer->source;
        languages->target = tokenizer->target;
    }
    return status == TR_OK ? tr_hf_added_special(added, package, error) : status;
}
