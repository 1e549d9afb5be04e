/* SPDX-License-Identifier: MIT */
/*
 * moment: the words of a command line that name a moment of a trace, and an object in it.
 */
#ifndef LAP_TOOLS_SHOW_MOMENT_H
#define LAP_TOOLS_SHOW_MOMENT_H

#include "inspector/position/find.h"
#include "trace/read/reader.h"

/* position_end, and the position as text. text: POSITION_TEXT_BYTES. */
enum lap_status lap_moment_find(const struct lap_reader *trace, const struct position *at, uint64_t *out_ticket,
                                char *text, struct position_found *out) LAP_MUST_CHECK;

#define LAP_OBJECT_NAME_MAX 80u
/* "VkImage:2". A type that does not exist is GEN_HANDLE_NONE: it is told of when the trace's types are known.
 * LAP_ERROR_ARGUMENT, with a sentence: it is no object. */
enum lap_status lap_object_parse(const char *text, uint32_t *out_type, uint64_t *out_index,
                                 char out_name[LAP_OBJECT_NAME_MAX]) LAP_MUST_CHECK;

/* The failure for an object that does not live at a ticket: with those that the trace has, or with when it lives.
 * at: the position in words. LAP_OK: it lives. */
enum lap_status lap_object_lives(const struct lap_reader *trace, uint64_t ticket, const char *at, uint32_t type,
                                 uint64_t index) LAP_MUST_CHECK;

struct object_lives;
/* The failure for an object that was never made. */
enum lap_status lap_object_not_there(const struct object_lives *lives, uint32_t type, uint64_t index) LAP_MUST_CHECK;
/* lap_object_lives with lives that were found. */
enum lap_status lap_object_lives_in(const struct object_lives *lives, uint64_t ticket, const char *at, uint32_t type,
                                    uint64_t index) LAP_MUST_CHECK;

#endif
