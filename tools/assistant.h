/* SPDX-License-Identifier: MIT */
/*
 * assistant: the answers to an assistant's questions, as results of tools/call of the Model Context Protocol: text
 * without members that say nothing, in parts; pictures with their facts; and sentences about tools and parameters
 * instead of paths. One thread.
 */
#ifndef LAP_TOOLS_ASSISTANT_H
#define LAP_TOOLS_ASSISTANT_H

#include <cjson/cJSON.h>

#include "tools/service.h"

/* Answers that are bytes are of no use to an assistant. */
bool lap_assistant_has(const struct lap_route *route);

/* The result, for the caller to delete. page: about so many bytes of text. NULL: the assistant has gone, or memory is
 * out. */
cJSON *lap_assistant_call(struct lap_service *service, const struct lap_route *route, const cJSON *arguments,
                          size_t page);

/* A result of one text. */
cJSON *lap_assistant_text(const char *text, bool is_error);

#endif
