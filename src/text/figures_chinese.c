/* Numbers in Chinese texts: 15.6亿, 两千零八, 百分之二十, 九五折, 三成, 2024年5月1日, 下午三点半. */
#include "text/figures.h"

#include <string.h>

#include "tokenizer/scripts.h"
#include "util/utf8.h"

enum { MOST_SCALE = 6 }; /* decimals of a number with units, at most */

/* The digit of a Chinese numeral; -1: it is none. */
static int han_digit(int32_t c)
{
    switch (c) {
    case 0x3007:
    case 0x96f6: return 0;
    case 0x4e00:
    case 0x58f9: return 1;
    case 0x4e8c:
    case 0x4e24:
    case 0x5169:
    case 0x8d30: return 2;
    case 0x4e09:
    case 0x53c1: return 3;
    case 0x56db:
    case 0x8086: return 4;
    case 0x4e94:
    case 0x4f0d: return 5;
    case 0x516d:
    case 0x9646:
    case 0x9678: return 6;
    case 0x4e03:
    case 0x67d2: return 7;
    case 0x516b:
    case 0x634c: return 8;
    case 0x4e5d:
    case 0x7396: return 9;
    default: return -1;
    }
}

/* The power of ten of 十, 百, 千, 万, 亿; 0: it is none. */
static int han_unit(int32_t c)
{
    switch (c) {
    case 0x5341:
    case 0x62fe: return 1;
    case 0x767e:
    case 0x4f70: return 2;
    case 0x5343:
    case 0x4edf: return 3;
    case 0x4e07:
    case 0x842c: return 4;
    case 0x4ebf:
    case 0x5104: return 8;
    default: return 0;
    }
}

typedef struct reader {
    const char *text;
    size_t size, at;
} reader;

static int32_t peek(const reader *r, size_t at, size_t *length)
{
    return tr_character(r->text, r->size, at, length);
}

static bool follows(const reader *r, size_t at, const char *with)
{
    const size_t length = strlen(with);
    return at <= r->size && r->size - at >= length && memcmp(r->text + at, with, length) == 0;
}

static bool precedes(const reader *r, size_t at, const char *with)
{
    const size_t length = strlen(with);
    return at >= length && memcmp(r->text + at - length, with, length) == 0;
}

/* Whether one of several words, each ended by a space, stands at text[at]. *length: its bytes. */
static bool any_follows(const reader *r, size_t at, const char *words, size_t *length)
{
    for (const char *w = words; *w; w += *length + 1) {
        *length = strcspn(w, " ");
        if (*length && r->size - at >= *length && memcmp(r->text + at, w, *length) == 0)
            return true;
    }
    return false;
}

static bool any_precedes(const reader *r, size_t at, const char *words)
{
    size_t length;
    for (const char *w = words; *w; w += length + 1) {
        length = strcspn(w, " ");
        if (length && at >= length && memcmp(r->text + at - length, w, length) == 0)
            return true;
    }
    return false;
}

/* A number, as it is written. */
typedef struct numeral {
    size_t begin, end;
    tr_decimal value;
    size_t digits;  /* of an ASCII literal */
    int han_digits; /* Chinese digits */
    int units;      /* 十 百 千 万 亿 */
    bool literal, long_literal, positional;
    bool over;      /* 100多亿, 十几万 */
    bool too_large; /* for a value */
} numeral;

static uint64_t power(int exponent)
{
    uint64_t p = 1;
    while (exponent-- > 0)
        p *= 10;
    return p;
}

enum { LARGEST = 18 }; /* powers of ten that sums stay below */

/* Chinese digits side by side: 二〇二四, and after 点 the decimals of a number. Returns their end. */
static size_t read_positional(const reader *r, size_t at, uint64_t *value, int *count)
{
    size_t length;
    int d;
    for (*count = 0; (d = han_digit(peek(r, at, &length))) >= 0 && at < r->size && *count < 17; at += length) {
        *value = *value * 10 + (uint64_t)d;
        ++*count;
    }
    return at;
}

/* A number that is too large for its value: its end is that of all digits and units. */
static bool give_up(const reader *r, size_t end, numeral *n)
{
    size_t length;
    for (int32_t c; end < r->size; end += length) {
        c = peek(r, end, &length);
        if (han_digit(c) < 0 && !han_unit(c) && !(c >= '0' && c <= '9'))
            break;
    }
    n->end = end;
    n->too_large = true;
    return true;
}

static bool read_numeral(const reader *r, size_t at, numeral *n)
{
    uint64_t total = 0, section = 0, current = 0, largest = power(LARGEST) / 1000;
    int scale = 0, last_unit = 0, d, unit;
    bool has_current = false, zero = false;
    size_t length, end = at;
    *n = (numeral){.begin = at, .end = at};
    while (end < r->size) {
        if (r->text[end] == ' ' && n->literal && has_current && han_unit(peek(r, end + 1, &length)) >= 4)
            end++; /* 5.8 万 */
        const int32_t c = peek(r, end, &length);
        size_t more, after;
        if (end > at && any_follows(r, end, "多 余 几 來 来 ", &more) && han_unit(peek(r, end + more, &after)) >= 4) {
            n->over = true;
            end += more;
            continue;
        }
        if (c >= '0' && c <= '9') {
            tr_decimal literal;
            size_t digits;
            if (has_current || scale)
                break;
            const size_t next = tr_decimal_read(r->text, r->size, end, &literal, &digits);
            n->literal = true;
            n->digits += digits;
            if (next == end) {
                n->long_literal = true;
                while (end < r->size && r->text[end] >= '0' && r->text[end] <= '9')
                    end++;
                n->end = end;
                return true;
            }
            scale = literal.exponent < 0 ? -literal.exponent : 0;
            if (scale > MOST_SCALE || digits > 12) { /* no units with it */
                n->value = literal;
                n->end = next;
                return true;
            }
            current = literal.digits * power(literal.exponent > 0 ? literal.exponent : 0);
            total *= power(scale);
            section *= power(scale);
            has_current = true;
            end = next;
            last_unit = 0;
        } else if ((d = han_digit(c)) >= 0) {
            if (n->literal && has_current)
                break;
            uint64_t digits = 0;
            int count;
            const size_t next = read_positional(r, end, &digits, &count);
            n->han_digits += count;
            if (count > 1 && d != 0) {
                n->positional = true;
            }
            zero = d == 0;
            if (digits > largest)
                return give_up(r, next, n);
            current = digits * power(scale);
            has_current = digits > 0 || count > 1 || !n->units;
            end = next;
        } else if ((unit = han_unit(c)) > 0) {
            n->units++;
            if (total > largest || section > largest || current > largest)
                return give_up(r, end, n);
            if (unit <= 3) {
                section += (has_current ? current : power(scale)) * power(unit);
            } else {
                const uint64_t whole = section + (has_current ? current : 0);
                if (total > largest / power(unit > 4 ? 4 : 0) || whole > power(LARGEST) / power(unit))
                    return give_up(r, end, n);
                total = unit == 8 ? (total + whole) * power(8) : total + (whole ? whole : power(scale)) * power(4);
                section = 0;
            }
            last_unit = unit;
            has_current = false;
            current = 0;
            zero = false;
            end += length;
        } else {
            break;
        }
        n->end = end;
    }
    if (n->end == at)
        return false;
    if (has_current && last_unit >= 2 && !zero && current < 10 * power(scale) && n->han_digits)
        current = current * power(last_unit - 1); /* 三万五 */
    n->value = tr_decimal_of(total + section + current, scale);
    /* 十二点五 */
    if (n->han_digits && !n->literal && follows(r, n->end, "点")) {
        uint64_t decimals = 0;
        int count;
        const size_t after = n->end + 3, next = read_positional(r, after, &decimals, &count);
        if (count && count <= MOST_SCALE && !follows(r, next, "分") && !follows(r, next, "十") && !follows(r, next, "刻")) {
            const uint64_t whole = total + section + current;
            if (whole < power(9)) {
                n->value = tr_decimal_of(whole * power(count) + decimals, count);
                n->end = next;
                size_t more;
                const int large = han_unit(peek(r, next, &more));
                if (large >= 2) {
                    n->value.exponent += n->value.digits ? large : 0;
                    n->end = next + more;
                }
            }
        }
    }
    return true;
}

static int64_t whole(tr_decimal d)
{
    if (d.exponent < 0 || d.exponent > 4 || d.digits > 100000)
        return -1;
    return (int64_t)(d.digits * power(d.exponent));
}

/* 5月, 5月1日, 5月1号; and after 年. Returns the end; at: there is none. */
static size_t read_month(const reader *r, size_t at, tr_figure *f)
{
    numeral month, day;
    if (!read_numeral(r, at, &month) || !follows(r, month.end, "月"))
        return at;
    const int64_t m = whole(month.value);
    if (m < 1 || m > 12 || follows(r, month.end + 3, "球") || follows(r, month.end + 3, "饼"))
        return at;
    f->month = (int)m;
    const size_t after = month.end + 3;
    if (read_numeral(r, after, &day) && whole(day.value) >= 1 && whole(day.value) <= 31) {
        f->day = (int)whole(day.value);
        if (follows(r, day.end, "日") || follows(r, day.end, "号"))
            return day.end + 3;
        f->day = 0;
    }
    return after;
}

static size_t read_date(const reader *r, const numeral *n, tr_figure *f)
{
    const int64_t value = whole(n->value);
    f->kind = TR_FIGURE_DATE;
    if (follows(r, n->end, "年") && value >= 1000 && value <= 2999 && !n->units) {
        f->year = (int)value;
        const size_t month = read_month(r, n->end + 3, f);
        return month > n->end + 3 ? month : n->end + 3;
    }
    if (follows(r, n->end, "月"))
        return read_month(r, n->begin, f);
    /* 2024-05-01, 2024/5/1 */
    const char c = n->end < r->size ? r->text[n->end] : 0;
    if (n->digits == 4 && (c == '-' || c == '/') && value >= 1000 && value <= 2999) {
        numeral month, day;
        if (read_numeral(r, n->end + 1, &month) && month.literal && month.end < r->size && r->text[month.end] == c &&
            read_numeral(r, month.end + 1, &day) && day.literal && whole(month.value) >= 1 && whole(month.value) <= 12 &&
            whole(day.value) >= 1 && whole(day.value) <= 31) {
            *f = (tr_figure){.begin = n->begin,
                             .kind = TR_FIGURE_DATE,
                             .year = (int)value,
                             .month = (int)whole(month.value),
                             .day = (int)whole(day.value),
                             .plain = true};
            return day.end;
        }
    }
    return n->begin;
}

/* Words before an hour that is after noon, or after midnight if it is 12 or a small one. */
static const char night_words[] = "晚上 夜里 夜间 半夜 深夜 午夜 今晚 昨晚 明晚 ";

/* The half of the day that stands before an hour, and where it begins; *night: it may be after midnight. */
static tr_day_half half_before(const reader *r, size_t at, size_t *begin, bool *night)
{
    static const char morning[] = "上午 早上 早晨 凌晨 清晨 清早 今早 明早 ", noon[] = "下午 傍晚 中午 午后 ";
    while (at && r->text[at - 1] == ' ')
        at--;
    *begin = at >= 6 ? at - 6 : at;
    *night = any_precedes(r, at, night_words) || precedes(r, at, "晚");
    if (precedes(r, at, "早") || precedes(r, at, "晚")) { /* 早8点 */
        *begin = at - 3;
        return precedes(r, at, "早") ? TR_HALF_MORNING : TR_HALF_AFTERNOON;
    }
    return any_precedes(r, at, morning)          ? TR_HALF_MORNING
           : any_precedes(r, at, noon) || *night ? TR_HALF_AFTERNOON
                                                 : TR_HALF_UNKNOWN;
}

/* 14:35, 9点半, 三点一刻, 14时35分, 下午3:20 */
static size_t read_time(const reader *r, const numeral *n, tr_figure *f)
{
    const int64_t hour = whole(n->value);
    numeral minute;
    size_t begin, end;
    bool night;
    if (hour < 0 || hour > 24 || n->value.exponent < 0)
        return n->begin;
    f->kind = TR_FIGURE_TIME;
    f->hour = (int)hour;
    if (n->literal && n->digits <= 2 && (follows(r, n->end, ":") || follows(r, n->end, "："))) {
        const size_t after = n->end + (follows(r, n->end, ":") ? 1 : 3);
        if (!read_numeral(r, after, &minute) || minute.digits != 2 || whole(minute.value) > 59 || minute.units)
            return n->begin;
        f->minute = (int)whole(minute.value);
        end = minute.end;
        if (follows(r, end, ":") && read_numeral(r, end + 1, &minute) && minute.digits == 2)
            return n->begin; /* with seconds: compared as it is */
    } else if (follows(r, n->end, "点") || follows(r, n->end, "點") ||
               (follows(r, n->end, "时") && !follows(r, n->end, "时代") && !follows(r, n->end, "时间"))) {
        end = n->end + 3;
        const bool clock = follows(r, n->end, "点钟");
        if (follows(r, end, "半")) {
            f->minute = 30;
            end += 3;
        } else if (follows(r, end, "一刻") || follows(r, end, "三刻")) {
            f->minute = follows(r, end, "一刻") ? 15 : 45;
            end += 6;
        } else if (clock || follows(r, end, "整")) {
            end += 3;
        } else if (read_numeral(r, end, &minute) && whole(minute.value) >= 0 && whole(minute.value) <= 59 &&
                   (follows(r, minute.end, "分") || minute.units)) {
            f->minute = (int)whole(minute.value);
            end = minute.end + (follows(r, minute.end, "分") ? 3 : 0);
        } else if (follows(r, n->end, "点") && half_before(r, n->begin, &begin, &night) == TR_HALF_UNKNOWN && !n->literal &&
                   n->han_digits + n->units == 1) {
            f->optional = true; /* 三点: o'clock, or points of a list */
        }
    } else {
        return n->begin;
    }
    f->half = half_before(r, n->begin, &begin, &night);
    if (f->half != TR_HALF_UNKNOWN)
        f->begin = begin;
    if ((f->hour == 12 && (night || f->half == TR_HALF_MORNING)) || (night && f->hour < 6)) { /* 晚上12点, 夜里3点 */
        f->hour %= 12;
        f->half = TR_HALF_MORNING;
    } else if (f->half == TR_HALF_AFTERNOON && f->hour < 12) {
        f->hour += 12;
    }
    return end;
}

/* Words in which a numeral is no number; the numeral stands where _ is, or at the end. */
static bool is_word(const reader *r, const numeral *n)
{
    static const char after_one[] = "些 起 直 样 定 般 切 下 点 边 旦 会 流 致 律 再 向 共 同 生 辈 味 时 面 度 番 带 体 旁 "
                                    "路 心 线 代 概 并 举 经 贯 手 把 "
                                    "眼 句 口 身 声 头 阵 块 连 ",
                      before[] = "统 唯 万 同 之 某 逐 专 单 划 每 进 不 星期 周 礼拜 ",
                      after[] = "明治 角 方面 军 国演义 叶 ";
    size_t length;
    if (n->literal || follows(r, n->end, "分之"))
        return false;
    if (follows(r, n->begin, "万一"))
        return true;
    if (any_precedes(r, n->begin, "星期 礼拜 周 ") && n->han_digits + n->units == 1)
        return true;
    if (n->han_digits == 0 && n->units && !precedes(r, n->begin, "第"))
        return !follows(r, n->begin, "十") || (n->units == 1 && any_follows(r, n->end, "分 足 字 全 几 多 ", &length));
    if (n->han_digits == 1 && !n->units) {
        if (follows(r, n->begin, "一"))
            return any_follows(r, n->end, after_one, &length) || any_precedes(r, n->begin, before);
        return any_follows(r, n->end, after, &length) || any_precedes(r, n->begin, "张 老 李 王 ");
    }
    return false;
}

/* What 三 to 九 count when they must be said. */
static const char measures[] =
    "天 个月 年 岁 元 块 人 名 次 公里 千米 米 公斤 千克 克 吨 小时 分钟 秒 倍 度 层 楼 号 位 家 件 条 本 张 台 辆 "
    "架 只 座 届 章 节 页 周 亩 斤 瓶 杯 碗 盒 箱 ";

static bool is_cjk_numeral_near(const reader *r, size_t at)
{
    size_t length;
    const int32_t c = peek(r, at, &length);
    return at < r->size && (han_digit(c) >= 0 || han_unit(c) || (c >= '0' && c <= '9'));
}

/* One digit at text[at], Chinese or not; its end, or at. */
static size_t read_one_digit(const reader *r, size_t at, uint64_t *digit)
{
    size_t length, more;
    const int32_t c = peek(r, at, &length);
    const int d = c >= '0' && c <= '9' ? (int)(c - '0') : han_digit(c);
    const bool each = follows(r, at + length, "一") && any_follows(r, at + length + 3, measures, &more); /* 三块五一斤 */
    if (at >= r->size || d < 0 || (!each && is_cjk_numeral_near(r, at + length)) || peek(r, at + length, &more) == '.')
        return at;
    *digit = (uint64_t)d;
    return at + length;
}

/* The end of 三块五, 12块5, 四元五角, 四元五角三分, and its value; n->end: it is something else. */
static size_t read_money(const reader *r, const numeral *n, tr_decimal *value)
{
    static const char tenths[] = "角 毛 ";
    size_t length;
    uint64_t jiao = 0, fen = 0;
    const bool colloquial = follows(r, n->end, "块");
    if ((!colloquial && !follows(r, n->end, "元")) || whole(n->value) < 0)
        return n->end;
    size_t end = read_one_digit(r, n->end + 3, &jiao);
    if (end == n->end + 3)
        return n->end;
    const bool named = any_follows(r, end, tenths, &length);
    if (named)
        end += length;
    else if (!colloquial || any_follows(r, end, "个 次 人 天 年 月 点 斤 件 位 名 只 条 张 本 ", &length))
        return n->end;
    const size_t after = named ? read_one_digit(r, end, &fen) : end;
    if (after > end && follows(r, after, "分"))
        end = after + 3;
    else
        fen = 0;
    *value = tr_decimal_of((uint64_t)whole(n->value) * 100 + jiao * 10 + fen, 2);
    return end;
}

/* One or two ASCII digits at text[begin], which end what is measured: 1米85, 3米5长, but 5米2盏灯. Else begin. */
static size_t read_last_digits(const reader *r, size_t begin, uint64_t *value, int *count)
{
    size_t end = begin, length;
    *value = 0;
    while (end < r->size && end < begin + 2 && tr_is_ascii_digit(r->text[end]))
        *value = *value * 10 + (uint64_t)(r->text[end++] - '0');
    *count = (int)(end - begin);
    if (end == r->size || any_follows(r, end, "高 长 宽 深 厚 远 的 了 左右 以上 以下 上下 ", &length))
        return end;
    const int32_t next = tr_character(r->text, r->size, end, &length);
    const bool goes_on =
        tr_is_any_letter(next) || (next < 0x80 && (tr_is_identifier((char)next) || strchr("./:%-~+", next)));
    return goes_on ? begin : end;
}

/* Whether degrees at a byte are those of latitude or longitude, which have minutes. */
static bool is_on_globe(const reader *r, size_t begin)
{
    return precedes(r, begin, "纬") || precedes(r, begin, "经");
}

/* The end of 一米八三, 1米83, 三十八度五, 九秒八三, and its value; n->end: it is something else. */
static size_t read_after_unit(const reader *r, const numeral *n, tr_decimal *value)
{
    uint64_t decimals = 0;
    size_t length;
    int count;
    if (!any_follows(r, n->end, "米 度 秒 ", &length) || whole(n->value) < 0)
        return n->end;
    if (n->literal && (follows(r, n->end, "秒") || is_on_globe(r, n->begin)))
        return n->end;
    const size_t begin = n->end + length;
    const size_t end =
        n->literal ? read_last_digits(r, begin, &decimals, &count) : read_positional(r, begin, &decimals, &count);
    size_t unit;
    if (end == begin || count < 1 || count > 2 || han_unit(peek(r, end, &unit)) || any_follows(r, end, measures, &unit) ||
        any_follows(r, end, "个 点 分 楼 ", &unit))
        return n->end;
    *value = tr_decimal_of((uint64_t)whole(n->value) * power(count) + decimals, count);
    return end;
}

/* The figure that a numeral begins; false: it is none. Its end is where the search goes on. */
static bool read_figure(const reader *r, const numeral *n, tr_figure *f)
{
    size_t end, length;
    *f = (tr_figure){.begin = n->begin, .end = n->end, .value = n->value};
    if (n->long_literal || n->too_large) { /* what is too large equals nothing */
        f->kind = TR_FIGURE_DIGITS;
        f->plain = n->long_literal;
        return true;
    }
    const bool glued =
        n->literal && n->begin && ((r->text[n->begin - 1] | 0x20) >= 'a' && (r->text[n->begin - 1] | 0x20) <= 'z');
    if (glued)
        return false; /* A座1203 has no letter before it; USB3 and Q7 are names */
    if (is_word(r, n))
        return false;
    if (follows(r, n->begin, "一半") && n->han_digits == 1) {
        f->kind = TR_FIGURE_PERCENT;
        f->value = tr_decimal_of(50, 0);
        f->end = n->end + 3;
        return true;
    }
    /* A分之B */
    if (follows(r, n->end, "分之")) {
        numeral part;
        if (read_numeral(r, n->end + 6, &part)) {
            const bool hundred = follows(r, n->begin, "百") || whole(n->value) == 100, thousand = follows(r, n->begin, "千");
            f->end = part.end;
            f->kind = hundred || thousand ? TR_FIGURE_PERCENT : TR_FIGURE_PART;
            f->value = part.value;
            f->other = n->value;
            if (thousand && f->value.digits)
                f->value.exponent--;
            return true;
        }
    }
    if (follows(r, n->end, "%") || follows(r, n->end, "％")) {
        f->kind = TR_FIGURE_PERCENT;
        f->end = n->end + (follows(r, n->end, "%") ? 1 : 3);
        f->plain = follows(r, n->end, "%");
        return true;
    }
    if (follows(r, n->end, "个百分点")) {
        f->kind = TR_FIGURE_PERCENT;
        f->plain = n->literal;
        return true;
    }
    if (follows(r, n->end, "折") && !any_follows(r, n->end + 3, "叠 腾 磨 射 扣 返 断 ", &length)) {
        f->kind = TR_FIGURE_FOLD;
        f->end = n->end + 3;
        if (n->value.exponent + (n->value.digits >= 10) < 1 || whole(n->value) < 10)
            f->value.exponent++;
        if (precedes(r, n->begin, "打"))
            f->begin -= 3;
        return true;
    }
    if (follows(r, n->end, "成") && whole(n->value) >= 1 && whole(n->value) <= 9 && (n->han_digits == 1 || n->literal) &&
        !any_follows(r, n->end + 3, "功 为 立 员 绩 分 长 果 就 本 语 都 熟 人 了 不 群 ", &length)) {
        uint64_t more = 0;
        int count;
        f->kind = TR_FIGURE_PERCENT;
        f->value.exponent++;
        f->end = n->end + 3;
        const size_t next = read_positional(r, f->end, &more, &count);
        if (count == 1) {
            f->value = tr_decimal_of((uint64_t)whole(n->value) * 10 + more, 0);
            f->end = next;
        }
        return true;
    }
    if ((end = read_date(r, n, f)) > n->begin) {
        f->end = end;
        return true;
    }
    const tr_figure before = {.begin = n->begin, .end = n->end, .value = n->value};
    *f = before;
    if ((end = read_time(r, n, f)) > n->begin) {
        f->end = end;
        f->plain = f->half == TR_HALF_UNKNOWN && memchr(r->text + f->begin, ':', end - f->begin) != NULL;
        return true;
    }
    *f = before;
    f->ordinal = precedes(r, n->begin, "第");
    if (f->ordinal)
        f->begin -= 3;
    f->plain = n->literal && !n->units && !f->ordinal;
    f->over = n->over;
    f->negative = precedes(r, n->begin, "负") || precedes(r, n->begin, "負");
    if (f->negative)
        f->begin -= 3;
    if (follows(r, n->end, "世纪") && n->end + 6 < r->size && is_cjk_numeral_near(r, n->end + 6))
        f->optional = true; /* 20世纪70年代: the 1970s */
    numeral other;
    if (n->literal && !n->units && follows(r, n->end, "/") && read_numeral(r, n->end + 1, &other) && other.literal &&
        other.value.digits && n->value.exponent >= 0 && other.value.exponent >= 0 && !follows(r, other.end, "/")) {
        f->kind = TR_FIGURE_PART;
        f->other = other.value;
        f->end = other.end;
        return true;
    }
    if ((end = read_money(r, n, &f->value)) > n->end || (end = read_after_unit(r, n, &f->value)) > n->end) {
        f->end = end;
        f->plain = false;
        f->unit = follows(r, n->end, "米")   ? "meters"
                  : follows(r, n->end, "度") ? "degrees"
                  : follows(r, n->end, "秒") ? "seconds"
                                             : "yuan";
        return true;
    }
    if (n->positional && n->units && n->han_digits == 2 && n->value.digits % 10 == n->value.digits / 10 + 1) {
        f->kind = TR_FIGURE_RANGE; /* 三四十 */
        f->value = tr_decimal_of(n->value.digits / 10, 0);
        f->value.exponent += n->value.exponent;
        f->other = tr_decimal_of(n->value.digits % 10, 0);
        f->other.exponent += n->value.exponent;
        return true;
    }
    if (!n->literal) {
        const bool single = n->han_digits + n->units == 1;
        const bool small = whole(n->value) <= 2;
        if (single)
            f->optional = f->ordinal || small || !any_follows(r, n->end, measures, &length) || whole(n->value) == 10;
        if (n->positional && n->han_digits == 2 && !n->units)
            f->optional = true; /* 七八个 */
        if (any_follows(r, n->end, "几 来 多 余 ", &length) && n->units)
            f->optional = f->optional || follows(r, n->end, "几") || follows(r, n->end, "来");
        if (n->positional && n->units)
            f->optional = true; /* digits that are no number */
        if (is_cjk_numeral_near(r, n->end) ||
            (precedes(r, n->end, "千") && any_follows(r, n->end, "瓦 米 克 卡 字 赫 焦 ", &length)))
            f->optional = true;
        f->spelled = f->optional;
    }
    if (follows(r, n->end, "倍")) /* 快了三倍: four times as fast */
        f->optional = f->spelled = true;
    if (precedes(r, n->begin, "几") || precedes(r, n->begin, "数") || precedes(r, n->begin, "上"))
        f->optional = f->optional || !n->literal;
    return true;
}

bool tr_figures_find_chinese(const char *text, size_t size, tr_figures *figures)
{
    reader r = {text, size, 0};
    for (size_t at = 0, length; at < size; at += length) {
        const unsigned char lead = (unsigned char)text[at];
        length = 1;
        if (lead < 0x80 ? lead < '0' || lead > '9' : lead != 0xe3 && (lead < 0xe4 || lead > 0xe9))
            continue;
        const int32_t c = peek(&r, at, &length);
        numeral n;
        tr_figure figure;
        if (c >= 0x80 && han_digit(c) < 0 && !han_unit(c)) {
            const bool half = c == 0x534a; /* 半 */
            if (half) {
                figure = (tr_figure){.begin = at,
                                     .end = at + length,
                                     .kind = TR_FIGURE_PERCENT,
                                     .value = tr_decimal_of(50, 0),
                                     .optional = true,
                                     .spelled = true};
                if (!tr_figures_add(figures, &figure))
                    return false;
            }
            continue;
        }
        if (!read_numeral(&r, at, &n))
            continue;
        length = n.end - at;
        if (!read_figure(&r, &n, &figure))
            continue;
        if (figures->count && figures->items[figures->count - 1].end > figure.begin)
            figure.begin = n.begin;
        if (!tr_figures_add(figures, &figure))
            return false;
        length = figure.end - at;
    }
    return true;
}
