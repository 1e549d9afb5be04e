/* SPDX-License-Identifier: MIT */
/* What clients of lapilli serve send: paths with queries, which become questions, canonical paths, and words of a
 * command line, against the promises of server/route.h. */
#include <stdlib.h>
#include <string.h>

#include "server/route.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    return 0;
}

/* False: it is no question. Values lie in `text`. */
static bool parse(char *text, struct lap_question *out)
{
    char *query = strchr(text, '?'), *name, *value;

    if (query)
        *query++ = 0;
    if (!lap_route_decode(text) || !lap_route_match(text, out))
        return false;
    while (query && (name = strsep(&query, "&"))) {
        value = name;
        name = strsep(&value, "=");
        if (!value || !lap_route_decode(name) || !lap_route_decode(value) ||
            lap_question_set(out, name, value) != LAP_OK)
            return false;
    }
    return lap_question_check(out) == LAP_OK;
}

static bool is_value(const struct lap_question *question, const char *word)
{
    for (size_t i = 0; i < LAP_ROUTE_VALUES; i++)
        if (question->values[i] == word)
            return true;
    return false;
}

/* No value stands where the verb takes it for an option. */
static void check_words(const struct lap_question *question)
{
    const char *words[LAP_QUESTION_WORDS];
    bool behind = false;

    lap_question_words(question, "program", "/file", &(struct lap_playing){"gpu", "60"}, words);
    for (size_t i = 1; words[i]; i++) {
        FUZZ_CHECK(i < LAP_QUESTION_WORDS);
        behind |= strcmp(words[i], "--") == 0;
        if (is_value(question, words[i]) && !behind)
            FUZZ_CHECK(words[i][0] != '-' || (words[i - 1][0] == '-' && !is_value(question, words[i - 1])));
    }
    FUZZ_CHECK(behind);
}

/* Each value of a request follows its option. */
static void check_request(const struct lap_question *question)
{
    const char *words[LAP_QUESTION_WORDS];
    char frame[LAP_QUESTION_FRAME_BYTES];

    if (!lap_question_frame(question, frame))
        return;
    FUZZ_CHECK(*frame && strspn(frame, "0123456789") == strlen(frame));
    lap_question_request(question, words);
    for (size_t i = 0; words[i]; i++) {
        FUZZ_CHECK(i < LAP_QUESTION_WORDS);
        if (is_value(question, words[i]))
            FUZZ_CHECK(i && words[i - 1][0] == '-' && !is_value(question, words[i - 1]));
    }
}

static void check_files(const struct lap_question *question)
{
    char name[300] = "", url[LAP_ROUTE_URL_BYTES];
    struct lap_question file, maker;

    for (size_t i = 0; i < LAP_ROUTE_VALUES; i++)
        if (question->values[i] && strlen(name) + strlen(question->values[i]) + 8 < sizeof name)
            strcat(strcat(name, question->values[i]), i % 2 ? ".png" : "-");
    if (!lap_question_of_file(question, name, &file))
        return;
    FUZZ_CHECK(lap_question_check(&file) == LAP_OK);
    maker = lap_question_maker(&file);
    FUZZ_CHECK(maker.route == question->route);
    (void)!lap_question_url(&maker, url);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char text[3 * LAP_ROUTE_URL_BYTES], again[LAP_ROUTE_URL_BYTES], url[LAP_ROUTE_URL_BYTES],
        second[LAP_ROUTE_URL_BYTES];
    struct lap_question question, parsed, maker;

    if (bytes >= sizeof text)
        return 0;
    memcpy(text, data, bytes);
    text[bytes] = 0;
    if (!parse(text, &question))
        return 0;
    maker = lap_question_maker(&question);
    FUZZ_CHECK(lap_question_check(&maker) == LAP_OK);
    check_words(&maker);
    check_request(&maker);
    check_files(&maker);
    if (lap_question_url(&question, url) != LAP_OK)
        return 0;
    memcpy(again, url, sizeof again);
    FUZZ_CHECK(parse(again, &parsed) && parsed.route == question.route);
    FUZZ_CHECK(lap_question_url(&parsed, second) == LAP_OK && strcmp(url, second) == 0);
    return 0;
}
