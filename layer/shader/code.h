/* SPDX-License-Identifier: MIT */
/*
 * code: the SPIR-V that opaque bytes of a driver were made from.
 *
 * A program can ask the driver for bytes in place of code: the binary of a shader object, the identifier of a shader
 * module, the binaries of a pipeline. Later it creates shaders and pipelines with these bytes and without the code. No
 * other driver understands them, so the layer remembers the code of the bytes, and records that. The layer refuses
 * unknown bytes (from an earlier run) with the result that the specification has for it, so that the program compiles
 * anew.
 *
 * An origin is the code of all stages behind one handle or one run of bytes. Code and origins are reference counted,
 * and read-only once shared. Any thread.
 */
#ifndef LAP_LAYER_CODE_H
#define LAP_LAYER_CODE_H

#include "layer/core/layer.h"

struct layer_code; /* words of SPIR-V, shared */

/* NULL when out of memory (the recording stops), and for no bytes. */
struct layer_code *layer_code_create(const void *words, size_t bytes);
struct layer_code *layer_code_share(struct layer_code *code); /* NULL gives NULL */
void layer_code_release(struct layer_code *code);             /* NULL: nothing */
const uint32_t *layer_code_words(const struct layer_code *code, size_t *out_bytes);

struct layer_origin_stage {
    VkShaderStageFlagBits stage; /* 0: of a module, which may have several */
    struct layer_code *code;
    char *name; /* of the entry point; NULL: the program names it again */
    VkSpecializationInfo specialization;
    uint32_t subgroup_size; /* that it requires; 0: none */
};

struct layer_origin {
    atomic_uint count; /* of holders */
    uint32_t stage_count;
    struct layer_origin_stage stages[];
};

/* An empty origin with room for stages, which the caller fills in before sharing it. NULL as above. */
struct layer_origin *layer_origin_create(uint32_t stage_count);
/* An origin of one stage with only this code, which is shared. NULL as above, and where there is no code. */
struct layer_origin *layer_origin_of_code(struct layer_code *code);
struct layer_origin *layer_origin_share(struct layer_origin *origin); /* NULL gives NULL */
void layer_origin_release(struct layer_origin *origin);               /* NULL: nothing */
/* Copies. False: out of memory; the recording stops. */
bool layer_origin_set_name(struct layer_origin_stage *stage, const char *name);
bool layer_origin_set_specialization(struct layer_origin_stage *stage, const VkSpecializationInfo *info);

/* ---- known bytes, for one device ---- */

/* Kinds of bytes; equal bytes of different kinds may have different code. */
enum layer_code_kind { LAYER_CODE_SHADER_BINARY, LAYER_CODE_MODULE_IDENTIFIER, LAYER_CODE_PIPELINE_BINARY };

/* Notes the origin of the bytes, which is shared; NULL is not noted. Bytes that are already known keep their origin. */
void layer_code_note(struct layer_device *dev, enum layer_code_kind kind, const void *bytes, size_t size,
                     struct layer_origin *origin);
/* NULL: not known. Valid as long as the device lives. */
struct layer_origin *layer_code_find(const struct layer_device *dev, enum layer_code_kind kind, const void *bytes,
                                     size_t size);
/* For a device on which pipelines need not bring their code: records of modules and pipelines keep it. */
void layer_code_keep(struct layer_device *dev);
/* At vkDestroyDevice. */
void layer_code_finish(struct layer_device *dev);

#endif
