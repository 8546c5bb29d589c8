#include "check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HEAD "WEBVTT - t\nKind: captions\n\n"
#define ONE  "00:01.000 --> 00:02.000 align:start\n"
#define TWO  "id\n00:02.500 --> 00:00:04.000\n"

static void cues_are_units_and_blocks_stay(void **state)
{
    (void)state;
    check_document("vtt", "WEBVTT", "", "WEBVTT");
    check_document("vtt",
                   HEAD "STYLE\n::cue { x }\n\nREGION\nid:a\n\nNOTE a note\ntwo\n\n" ONE "one,\n\n" TWO "two.\n\nNOTE\nx\n",
                   "one, two.\n",
                   HEAD "STYLE\n::cue { x }\n\nREGION\nid:a\n\nNOTE a note\ntwo\n\n" ONE "ONE,\n\n" TWO "TWO.\n\nNOTE\nx\n");
}

static void texts_have_entities(void **state)
{
    (void)state;
    check_document("vtt", HEAD ONE "a &lt;b&gt; &amp;&nbsp;c &quot;d&quot; &e;",
                   "a <b> &\xC2\xA0"
                   "c \"d\" &e;\n",
                   HEAD ONE "A &lt;B&gt; &amp;\xC2\xA0"
                            "C \"D\" &amp;E;");
    check_document("vtt", HEAD ONE "a --&gt; b", "a --> b\n", HEAD ONE "A --&gt; B");
}

static void voices_are_not_joined(void **state)
{
    (void)state;
    check_document("vtt", HEAD ONE "<v Ann>one,\n\n" TWO "<v Ann>two.\n", "one, two.\n", NULL);
    check_document("vtt", HEAD ONE "<v Ann>one,\n\n" TWO "<v.loud Bob>two.\n", "one,\ntwo.\n",
                   HEAD ONE "<v Ann>ONE,\n\n" TWO "<v.loud Bob>TWO.\n");
}

static void times_in_a_text_stay_in_their_cue(void **state)
{
    (void)state;
    check_document("vtt", HEAD ONE "<00:01.000><c>one</c> <00:01.500>two\n\n" TWO "three.\n",
                   "<x1>one</x1> <x4></x4>two\nthree.\n", NULL);
}

static void errors_have_places(void **state)
{
    (void)state;
    const tr_document_settings settings = {.format = "vtt"};
    assert_string_equal(check_failure("\n", 1, &settings), "test: line 1, column 1: WEBVTT is expected");
    assert_string_equal(check_failure("WEBVTT\n\na\nb\n", 12, &settings),
                        "test: line 3, column 1: a line of times is expected, such as 00:01:02.345 --> 00:01:04.500");
    assert_string_equal(check_failure("WEBVTT\n\n00:01 --> 2\n", 20, &settings),
                        "test: line 3, column 12: the times are wrong; 00:01:02.345 --> 00:01:04.500 is expected");
}

/* Cues that end sentences: units have places of their own. */
static void properties_hold(void **state)
{
    (void)state;
    static const char *const pieces[] = {"a", " b ", "<i>", "</i>", "&amp;", "天", "气", "<00:01.000>", "{x1}", "&nbsp;"};
    for (unsigned seed = 0; seed < 3000; seed++) {
        char text[1024] = HEAD;
        uint32_t random = seed * 2654435761U;
        for (int cue = 0; cue < 3; cue++) {
            strcat(text, cue & 1 ? TWO : ONE);
            for (int i = 0; i < 8; i++) {
                random = random * 1664525 + 1013904223;
                strcat(text, pieces[(random >> 16) % 10]);
            }
            strcat(text, "w.\n\n");
        }
        const tr_document_settings settings = {.format = "vtt", .line_width = 1000};
        check_properties(text, strlen(text), &settings, check_upper);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cues_are_units_and_blocks_stay),
        cmocka_unit_test(texts_have_entities),
        cmocka_unit_test(voices_are_not_joined),
        cmocka_unit_test(times_in_a_text_stay_in_their_cue),
        cmocka_unit_test(errors_have_places),
        cmocka_unit_test(properties_hold),
    };
    return cmocka_run_group_tests_name("WebVTT documents", tests, NULL, NULL);
}
