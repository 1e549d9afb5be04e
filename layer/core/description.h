/* SPDX-License-Identifier: MIT */
/*
 * description: JSON in the trace about the process, the machine and the devices (INFO chunks, docs/format.md). A
 * description is in the trace completely, or, when out of memory, not at all, with a warning. Any thread; one thread
 * for each description.
 */
#ifndef LAP_LAYER_DESCRIPTION_H
#define LAP_LAYER_DESCRIPTION_H

#include <stdbool.h>

struct cJSON;

struct layer_description {
    struct cJSON *info;
    bool whole;
};

struct layer_description layer_describe_begin(void);
/* A nested object, for the functions below; they take NULL for the description itself. */
struct cJSON *layer_describe_object(struct layer_description *description, const char *key);
void layer_describe_text(struct layer_description *description, struct cJSON *object, const char *key,
                         const char *text);
void layer_describe_number(struct layer_description *description, struct cJSON *object, const char *key, double value);
void layer_describe_flag(struct layer_description *description, struct cJSON *object, const char *key, bool value);
/* Adds it to the recording; what: "the process", for the warning. */
void layer_describe_end(struct layer_description *description, const char *what);

/* Adds the description of the process to the recording. */
void layer_describe_process(void);

#endif
