/* SPDX-License-Identifier: MIT */
/*
 * shader_list: the different codes of a trace's shaders, by their hashes (as lapilli print shows them), and the users
 * of each: modules, shader objects, pipelines, also those that are linked from libraries. One thread.
 */
#ifndef LAP_INSPECTOR_STATE_SHADER_LIST_H
#define LAP_INSPECTOR_STATE_SHADER_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <vulkan/vulkan.h>

#include "base/status.h"
#include "trace/read/reader.h"

struct shader_constant { /* of a specialization */
    uint32_t id, bytes;  /* bytes: up to 8 */
    uint64_t value;      /* in the low ones */
};

/* An object that uses a code. */
struct shader_use {
    uint32_t type; /* GEN_HANDLE_VkShaderModule, VkShaderEXT or VkPipeline */
    uint64_t object;
    uint64_t via; /* of a pipeline: the library that it has the code from; 0: it has the stage itself */
    /* But of modules, and of pipelines with a library: */
    uint64_t module; /* of a pipeline; 0: the code is in its creation, which has no module */
    VkShaderStageFlags stage;
    const char *entry; /* never NULL */
    const struct shader_constant *constants;
    uint32_t constant_count;
};

struct shader_code {
    uint64_t hash;
    size_t bytes;
    bool is_binary;                /* it is a driver's code, no SPIR-V */
    const struct shader_use *uses; /* modules, objects and pipelines in the order of their creation; then those via */
    size_t use_count;              /* at least 1 */
};

struct shader_wish {
    uint64_t last;     /* a ticket: only objects that live there; 0: all of the trace */
    uint64_t pipeline; /* only code that this one uses; 0: all */
    void (*progress)(void *user, uint64_t done, uint64_t all);
    void *user;
};

struct shader_list;

/* An error in the trace (LAP_ERROR_FORMAT and others) leaves *out usable, with the codes in front of the error; else
 * *out is NULL. LAP_ERROR_ARGUMENT: there is no such pipeline. */
enum lap_status shader_list_find(const struct lap_reader *trace, const struct shader_wish *wish,
                                 struct shader_list **out) LAP_MUST_CHECK;
void shader_list_free(struct shader_list **list); /* also for NULL */

/* In the order in which the trace has them. */
const struct shader_code *shader_list_codes(const struct shader_list *list, size_t *out_count);
#define SHADER_HASH_DIGITS 16u
/* The listed code whose hash begins with these hexadecimal digits, at most 16. LAP_ERROR_ARGUMENT: there is none, or
 * several. */
enum lap_status shader_list_choose(const struct shader_list *list, const char *digits,
                                   const struct shader_code **out) LAP_MUST_CHECK;
/* The newest debug name of a module, pipeline or shader object; NULL: none. */
const char *shader_list_name(const struct shader_list *list, uint32_t type, uint64_t object);

/* Gives the words, or a binary's bytes, of listed codes, each once, in the order of the list: of `only`, or of all
 * (NULL). Errors are the trace's and the function's. */
typedef enum lap_status (*shader_give_fn)(void *user, const struct shader_code *code, const void *data);
enum lap_status shader_list_give(const struct shader_list *list, const struct lap_reader *trace,
                                 const struct shader_code *only, shader_give_fn give, void *user) LAP_MUST_CHECK;

#endif
