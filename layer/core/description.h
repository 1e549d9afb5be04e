/* SPDX-License-Identifier: MIT */
/*
 * description: what a trace says in JSON of the process, the machine and the devices that it is of (INFO chunks,
 * docs/format.md). A description is in the trace as a whole, or not at all when there is no memory for it, with a
 * warning. Any thread; one description is one thread's.
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
/* An object in it, for what follows; the others take NULL for the description itself. */
struct cJSON *layer_describe_object(struct layer_description *description, const char *key);
void layer_describe_text(struct layer_description *description, struct cJSON *object, const char *key,
                         const char *text);
void layer_describe_number(struct layer_description *description, struct cJSON *object, const char *key, double value);
void layer_describe_flag(struct layer_description *description, struct cJSON *object, const char *key, bool value);
/* Gives it to the recording; what: "the process", for the warning. */
void layer_describe_end(struct layer_description *description, const char *what);

/* Gives the recording what it says of the process. */
void layer_describe_process(void);

#endif
