/* SPDX-License-Identifier: MIT */
/*
 * print: writes calls as text or as JSON lines. Both writers have one interface; verb_print.c chooses.
 */
#ifndef LAP_TOOLS_SHOW_PRINT_H
#define LAP_TOOLS_SHOW_PRINT_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "tools/common/calls.h"

/* One line: a call, or a command of the call's block. */
struct lap_line {
    const struct lap_packet *packet;
    uint64_t index;
    const char *name;
    uint32_t command; /* enum gen_command; GEN_COMMAND_NONE: only the name and the size are known */
    const void *args;
    bool has_result;
    bool in_block;
    uint64_t block;                        /* the blob's number */
    uint64_t command_buffer;               /* trace index */
    uint32_t command_index;                /* in the block */
    const struct lap_in_flight *in_flight; /* a call that did not return, so there is no packet. NULL: any other call */
    bool bare;                             /* no arguments: args is not valid */
};

struct lap_printer {
    FILE *out;
    bool colour;   /* text only */
    bool has_data; /* lap_print_data has written them */
};

void lap_print_text(const struct lap_printer *printer, const struct lap_line *line);

/* LAP_ERROR_MEMORY: the line is not printed. */
enum lap_status lap_print_json(const struct lap_printer *printer, const struct lap_line *line) LAP_MUST_CHECK;

/* Writes the first data in the call's parameters that have this XXH3-64, as they are, unless some were written already.
 */
enum lap_status lap_print_data(struct lap_printer *printer, const struct lap_line *line, uint64_t hash) LAP_MUST_CHECK;

/* The parameters of a decoded command, as both writers print them: "a = 1, b = 2", without the command buffer; and an
 * object (NULL: out of memory). */
void lap_print_text_args(FILE *out, uint32_t command, const void *args);
cJSON *lap_print_json_args(uint32_t command, const void *args);
cJSON *lap_print_json_number(uint64_t value); /* a string beyond 2^53 */

#endif
