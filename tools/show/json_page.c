/* SPDX-License-Identifier: MIT */
#include "tools/show/json_page.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define LEVELS_MOST 2000u
#define BLANKS      " \t\r\n"
#define NAMES_MOST  250u /* bytes at the beginning of an object: short members there are shown again in each part */

/* ---- compact ---- */

struct compact {
    const char *read;
    char *write;
    const char *const *without;
    unsigned level;
};

static void skip_blanks(struct compact *c)
{
    c->read += strspn(c->read, BLANKS);
}

static bool take(struct compact *c, char character)
{
    skip_blanks(c);
    if (*c->read != character)
        return false;
    *c->write++ = *c->read++;
    return true;
}

static bool copy(struct compact *c, size_t bytes)
{
    memmove(c->write, c->read, bytes);
    c->write += bytes;
    c->read += bytes;
    return bytes > 0;
}

/* Behind a string that begins here. NULL: it does not end. */
static const char *end_of_string(const char *text)
{
    for (text++; *text && *text != '"'; text++)
        if (*text == '\\' && !*++text)
            return NULL;
    return *text ? text + 1 : NULL;
}

static bool compact_string(struct compact *c)
{
    const char *end = *c->read == '"' ? end_of_string(c->read) : NULL;

    return end && copy(c, (size_t)(end - c->read));
}

/* A number, or a word. */
static bool compact_word(struct compact *c, bool *empty)
{
    const char *text = c->read;
    size_t bytes = strspn(text, "+-.0123456789Eabcdefghijklmnopqrstuvwxyz");

    *empty = (bytes == 4 && memcmp(text, "null", 4) == 0) ||
             (strspn(text, "-0.") > 0 && strchr("eE,]} \t\r\n", text[strspn(text, "-0.")]));
    return copy(c, bytes);
}

static bool compact_value(struct compact *c, bool *empty);

static bool is_left_out(const struct compact *c, const char *key, size_t bytes)
{
    for (const char *const *name = c->without; c->level == 1 && name && *name; name++)
        if (strlen(*name) + 2 == bytes && memcmp(*name, key + 1, bytes - 2) == 0)
            return true;
    return false;
}

static bool compact_member(struct compact *c, bool *says_nothing)
{
    bool empty;

    if (!compact_value(c, &empty))
        return false;
    *says_nothing |= empty;
    return true;
}

static bool compact_object(struct compact *c, bool *empty)
{
    *empty = true;
    for (bool first = true; !take(c, '}'); first = false) {
        char *before = c->write, *key;
        bool says_nothing;
        if (!first && *c->read++ != ',')
            return false;
        if (!*empty)
            *c->write++ = ',';
        skip_blanks(c);
        key = c->write;
        if (!compact_string(c))
            return false;
        says_nothing = is_left_out(c, key, (size_t)(c->write - key));
        if (!take(c, ':') || !compact_member(c, &says_nothing))
            return false;
        if (says_nothing)
            c->write = before;
        else
            *empty = false;
    }
    return true;
}

static bool compact_array(struct compact *c, bool *empty)
{
    bool ignored;

    *empty = true;
    for (; !take(c, ']'); *empty = false)
        if ((!*empty && !take(c, ',')) || !compact_value(c, &ignored))
            return false;
    return true;
}

static bool compact_value(struct compact *c, bool *empty)
{
    bool good;

    skip_blanks(c);
    if (*c->read == '"') {
        *empty = c->read[1] == '"';
        return compact_string(c);
    }
    if (*c->read != '{' && *c->read != '[')
        return compact_word(c, empty);
    if (++c->level > LEVELS_MOST)
        return false;
    good = take(c, '{') ? compact_object(c, empty) : take(c, '[') && compact_array(c, empty);
    c->level--;
    return good;
}

bool lap_json_compact(char *text, const char *const *without)
{
    struct compact c = {.read = text, .write = text, .without = without};
    bool ignored;

    for (skip_blanks(&c); *c.read; skip_blanks(&c)) {
        if (c.write > text && c.write == c.read)
            return false;
        if (c.write > text)
            *c.write++ = '\n';
        if (!compact_value(&c, &ignored))
            return false;
    }
    *c.write = 0;
    return true;
}

/* ---- parts ---- */

struct page {
    const char *from, *stop; /* stop: where the next part begins; NULL: not yet */
    char *out;
    size_t bytes, capacity, most;
    bool told, no_memory; /* told: something that no part in front of it has */
};

/* Behind a value of compact text. */
static const char *end_of_value(const char *text)
{
    unsigned level = 0;

    do {
        if (*text == '"')
            text = end_of_string(text);
        else if (*text == '{' || *text == '[')
            level++, text++;
        else if (*text == '}' || *text == ']')
            level--, text++;
        else if (*text == ',' || *text == ':')
            text++;
        else
            text += strcspn(text, ",]}\n");
    } while (level);
    return text;
}

static void put(struct page *page, const char *text, size_t bytes)
{
    if (!lap_array_grow(&page->out, 1, &page->capacity, page->bytes + bytes + 1)) {
        page->no_memory = true;
        return;
    }
    memcpy(page->out + page->bytes, text, bytes);
    page->bytes += bytes;
    page->out[page->bytes] = 0;
}

/* Behind an escape, or a character of UTF-8. */
static const char *end_of_character(const char *text)
{
    if (*text == '\\')
        return text + (text[1] == 'u' ? 6 : 2);
    for (text++; ((unsigned char)*text & 0xc0) == 0x80;)
        text++;
    return text;
}

static void put_part_of_string(struct page *page, const char *text, const char *end)
{
    const char *at = text + 1, *begin;

    while (at < page->from && at < end - 1)
        at = end_of_character(at);
    for (begin = at; at < end - 1 && (page->bytes + (size_t)(at - begin) < page->most || !page->told);
         page->told = true)
        at = end_of_character(at);
    put(page, "\"", 1);
    put(page, begin, (size_t)(at - begin));
    put(page, "\"", 1);
    if (at < end - 1)
        page->stop = at;
}

static void put_value(struct page *page, const char *text, const char *end);

/* Members and elements alike. */
static void put_container(struct page *page, const char *text)
{
    const char *const begin = text;
    size_t first;
    char opening = *text++;

    put(page, &opening, 1);
    first = page->bytes;
    while (*text != '}' && *text != ']' && !page->stop && !page->no_memory) {
        const char *value = opening == '{' ? end_of_string(text) + 1 : text, *end = end_of_value(value);
        bool again = end <= page->from && opening == '{' && *value != '{' && *value != '[' && end <= begin + NAMES_MOST;
        size_t before = page->bytes, inside;
        if (end > page->from || again) {
            if (before > first)
                put(page, ",", 1);
            put(page, text, (size_t)(value - text));
            inside = page->bytes;
            if (again)
                put(page, value, (size_t)(end - value));
            else
                put_value(page, value, end);
            if (page->bytes == inside) /* it begins in the next part */
                page->bytes = before;
        }
        text = end + (*end == ',');
    }
    put(page, opening == '{' ? "}" : "]", 1);
}

static void put_value(struct page *page, const char *text, const char *end)
{
    size_t bytes = (size_t)(end - text);
    bool whole = text >= page->from, cut = *text == '{' || *text == '[' || *text == '"';

    if (whole && page->told && page->bytes + bytes > page->most && bytes <= page->most / 2) {
        page->stop = text;
    } else if (whole && (page->bytes + bytes <= page->most || !cut)) {
        put(page, text, bytes);
        page->told = true;
    } else if (*text == '"') {
        put_part_of_string(page, text, end);
    } else if (cut) {
        put_container(page, text);
    }
}

char *lap_json_page(const char *text, size_t from, size_t most, size_t *next)
{
    struct page page = {.from = text + from, .most = most};
    const char *end;

    put(&page, "", 0);
    for (const char *line = text; *line && !page.stop && !page.no_memory; line = end + (*end == '\n')) {
        end = end_of_value(line);
        if (end <= page.from)
            continue;
        if (page.bytes)
            put(&page, "\n", 1);
        put_value(&page, line, end);
    }
    if (page.stop && page.bytes && page.out[page.bytes - 1] == '\n')
        page.out[--page.bytes] = 0;
    *next = page.stop ? (size_t)(page.stop - text) : 0;
    if (!page.no_memory)
        return page.out;
    free(page.out);
    return NULL;
}
