/* SPDX-License-Identifier: MIT */
#include "replayer/verify/overdraw.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file/new_file.h"
#include "inspector/question/overdraw.h"
#include "replayer/verify/json_line.h"
#include "replayer/verify/read_buffer.h"
#include "replayer/verify/read_image.h"

/* Colours of counts: each from its count up to the next one. The scale is the same for all pictures. */
static const struct {
    uint32_t from;
    const char *text;
    uint8_t rgb[3];
} steps[] = {{0, "0", {16, 16, 24}},    {1, "1", {32, 64, 160}},     {2, "2", {0, 128, 200}},
             {3, "3", {0, 168, 140}},   {4, "4", {64, 184, 48}},     {5, "5", {190, 200, 0}},
             {7, "7", {250, 170, 0}},   {9, "9", {255, 110, 0}},     {13, "13", {235, 40, 32}},
             {17, "17", {220, 0, 140}}, {33, "33", {240, 140, 240}}, {65, "65", {255, 255, 255}}};
#define STEPS        ((uint32_t)(sizeof steps / sizeof *steps))

#define SCALE        2u               /* of a digit's pixels */
#define DIGIT_WIDTH  (4u * SCALE)     /* with the gap behind it */
#define LEGEND_ROWS  (5u * SCALE + 6) /* below the picture */
#define LEGEND_FIELD (2 * DIGIT_WIDTH + 6)

/* 3 x 5 pixels, from the top, the left one is 4. */
static const uint8_t digits[10][5] = {{7, 5, 5, 5, 7}, {2, 6, 2, 2, 7}, {7, 1, 7, 4, 7}, {7, 1, 7, 1, 7},
                                      {5, 5, 7, 1, 1}, {7, 4, 7, 1, 7}, {7, 4, 7, 5, 7}, {7, 1, 1, 1, 1},
                                      {7, 5, 7, 5, 7}, {7, 5, 7, 1, 7}};

struct counts {
    const struct overdraw *overdraw;
    const struct overdraw_pass *pass;
    const uint32_t *words;
    uint64_t fragments, covered; /* covered: texels with any */
    uint32_t most, most_x, most_y;
    char png[PATH_MAX], raw[PATH_MAX]; /* "": not written */
};

/* ---- the picture ---- */

static uint32_t step_of(uint32_t count)
{
    uint32_t step = STEPS - 1;

    while (steps[step].from > count)
        step--;
    return step;
}

static uint32_t fields(const struct counts *c)
{
    const uint32_t fit = c->pass->width / LEGEND_FIELD;

    return fit < STEPS ? fit : STEPS;
}

/* Whether a pixel of a field of the legend belongs to its number. */
static bool is_ink(const char *text, uint32_t x, uint32_t y)
{
    const uint32_t left = (LEGEND_FIELD - (uint32_t)strlen(text) * DIGIT_WIDTH) / 2;
    const uint32_t column = (x - left) / SCALE, row = (y - 3) / SCALE;

    if (x < left || y < 3 || row >= 5 || column / 4 >= strlen(text) || column % 4 == 3)
        return false;
    return digits[text[column / 4] - '0'][row] >> (2 - column % 4) & 1;
}

static void fill_legend(const struct counts *c, uint32_t y, uint8_t *out)
{
    for (uint32_t x = 0; x < c->pass->width; x++) {
        const uint32_t field = x / LEGEND_FIELD;
        const uint8_t *rgb = field < fields(c) ? steps[field].rgb : (const uint8_t[3]){0, 0, 0};
        const bool bright = rgb[0] * 3 + rgb[1] * 6 + rgb[2] > 1100;
        const bool ink = field < fields(c) && is_ink(steps[field].text, x % LEGEND_FIELD, y);
        for (unsigned i = 0; i < 3; i++)
            out[3 * x + i] = ink ? (bright ? 0 : 255) : rgb[i];
    }
}

static void fill_row(const void *context, uint32_t y, void *row)
{
    const struct counts *c = context;
    const uint32_t width = c->pass->width;
    uint8_t *out = row;

    if (y >= c->pass->height) {
        fill_legend(c, y - c->pass->height, out);
        return;
    }
    for (uint32_t x = 0; x < width; x++)
        memcpy(out + 3 * (size_t)x, steps[step_of(c->words[(size_t)y * width + x])].rgb, 3);
}

/* ---- files and lines ---- */

static const char *what_of(const struct counts *c)
{
    return c->overdraw->wish.rasterized ? "rasterized" : "shaded";
}

/* One render pass has the position that was asked for. */
static const struct position *position_of(const struct counts *c)
{
    return c->overdraw->pass_count == 1 ? &c->overdraw->wish.at : &c->pass->begin;
}

static enum lap_status name_file(const struct counts *c, const char *folder, const char *ending, char out[PATH_MAX])
{
    char text[POSITION_TEXT_BYTES];
    const int length =
        snprintf(out, PATH_MAX, "%s/%s-%s.%s", folder, position_text(position_of(c), text), what_of(c), ending);

    return length < PATH_MAX ? LAP_OK : lap_fail(LAP_ERROR_IO, "the name of the folder for pictures is too long");
}

static enum lap_status write_raw(const struct counts *c)
{
    const size_t count = (size_t)c->pass->width * c->pass->height;
    const int fd = lap_new_file(c->raw);
    FILE *file = fd >= 0 ? fdopen(fd, "wb") : NULL;
    bool good = file && fwrite(c->words, sizeof *c->words, count, file) == count;
    int why = errno;

    if (fd >= 0 && !file)
        close(fd);
    if (file && fclose(file) != 0) {
        why = good ? errno : why;
        good = false;
    }
    return good ? LAP_OK : lap_fail(LAP_ERROR_IO, "%s: %s", c->raw, strerror(why));
}

static enum lap_status write_files(const struct replay_pictures *pictures, struct counts *c)
{
    enum lap_status status = LAP_OK;

    if (pictures->raw)
        status = name_file(c, pictures->folder, "raw", c->raw);
    if (status == LAP_OK && c->raw[0])
        status = write_raw(c);
    if (status != LAP_OK || (pictures->raw && !pictures->also_png))
        return status;
    status = name_file(c, pictures->folder, "png", c->png);
    return status == LAP_OK
               ? lap_png_write_rows(c->png, LAP_PNG_RGB8, c->pass->width, c->pass->height + LEGEND_ROWS, fill_row, c)
               : status;
}

static void count(struct counts *c)
{
    for (uint32_t y = 0; y < c->pass->height; y++)
        for (uint32_t x = 0; x < c->pass->width; x++) {
            const uint32_t here = c->words[(size_t)y * c->pass->width + x];
            c->fragments += here;
            c->covered += here != 0;
            if (here > c->most) {
                c->most = here;
                c->most_x = x;
                c->most_y = y;
            }
        }
}

static void print_text(const struct counts *c)
{
    char text[POSITION_TEXT_BYTES];

    printf("%s%s%s  %s  %u x %u  %s ", c->png, c->png[0] && c->raw[0] ? "  " : "", c->raw,
           position_text(&c->pass->begin, text), c->pass->width, c->pass->height, what_of(c));
    if (!c->covered)
        printf("nothing");
    else
        printf("%.3g a texel of %" PRIu64 ", most %u at %u,%u", (double)c->fragments / (double)c->covered, c->covered,
               c->most, c->most_x, c->most_y);
    printf("  %" PRIu64 " draw%s\n", c->pass->draws, c->pass->draws == 1 ? "" : "s");
}

static enum lap_status print_json(const struct replay *r, const struct counts *c)
{
    cJSON *object = cJSON_CreateObject(), *most;
    char text[POSITION_TEXT_BYTES];

    (void)cJSON_AddStringToObject(object, "file", c->png[0] ? c->png : c->raw);
    replay_json_text(object, "raw", c->png[0] && c->raw[0] ? c->raw : NULL);
    (void)cJSON_AddStringToObject(object, "name", what_of(c));
    (void)cJSON_AddStringToObject(object, "position", position_text(position_of(c), text));
    (void)cJSON_AddStringToObject(object, "pass", position_text(&c->pass->begin, text));
    (void)cJSON_AddNumberToObject(object, "width", c->pass->width);
    (void)cJSON_AddNumberToObject(object, "height", c->pass->height);
    (void)cJSON_AddNumberToObject(object, "draws", (double)c->pass->draws);
    (void)cJSON_AddNumberToObject(object, "fragments", (double)c->fragments);
    (void)cJSON_AddNumberToObject(object, "covered", (double)c->covered);
    most = cJSON_AddObjectToObject(object, "most");
    (void)cJSON_AddNumberToObject(most, "fragments", c->most);
    (void)cJSON_AddNumberToObject(most, "x", c->most_x);
    (void)cJSON_AddNumberToObject(most, "y", c->most_y);
    replay_json_text(object, "gpu", r->summary.gpu);
    return replay_json_line(object);
}

enum lap_status replay_write_overdraw(struct replay *r)
{
    const struct overdraw *overdraw = r->options.overdraw.counts;
    enum lap_status status = replay_settle(r);

    for (size_t i = 0; i < overdraw->pass_count && status == LAP_OK; i++) {
        const struct overdraw_pass *pass = &overdraw->passes[i];
        struct counts c = {.overdraw = overdraw, .pass = pass};
        const void *data = NULL;
        if (!pass->draws)
            continue;
        status = replay_read_buffer(r, overdraw->buffer, pass->at,
                                    (uint64_t)pass->width * pass->height * sizeof(uint32_t), &data);
        if (status != LAP_OK)
            return status;
        c.words = data;
        count(&c);
        status = write_files(&r->options.pictures, &c);
        if (status == LAP_OK && r->options.json)
            status = print_json(r, &c);
        else if (status == LAP_OK)
            print_text(&c);
    }
    if (status == LAP_OK && overdraw->without)
        lap_log(r->log, LAP_LOG_WARNING, "%" PRIu64 " draw%s not counted: %s", overdraw->without,
                overdraw->without == 1 ? " is" : "s are", overdraw->why);
    return status;
}
