/* SPDX-License-Identifier: MIT */
/*
 * feature_needs: the types of the generated tables (gen_needs.h). The tables list the uses of a feature or an extension
 * in a trace, and the features that let a shader declare a capability. codegen/needs.toml adds the facts that vk.xml
 * lacks.
 */
#ifndef LAP_VULKAN_FEATURE_NEEDS_H
#define LAP_VULKAN_FEATURE_NEEDS_H

#include <stdbool.h>
#include <stdint.h>

/* A member of feature structures; members with one name in several structures are one feature. */
struct gen_feature {
    const char *name;
    const char *unseen; /* why a trace does not show its use; NULL: it does */
    const char *moot;   /* why a replay does not need it */
    uint16_t partner;   /* 1 + index of the feature that it requires; 0: none */
    bool known;         /* false: from a newer registry, without an entry in needs.toml */
};

/* Of a device extension beside its features: as there. */
struct gen_extension_need {
    const char *unseen, *moot;
};

enum gen_use_kind {
    GEN_USE_COMMAND,    /* owner: enum gen_command */
    GEN_USE_STRUCT,     /* owner: enum gen_struct */
    GEN_USE_MEMBER,     /* of the structure */
    GEN_USE_PARAMETER,  /* of the command */
    GEN_USE_VALUE,      /* in any member of that type; owner: index into gen_enums */
    GEN_USE_CAPABILITY, /* owner: the number in SPIR-V */
    GEN_USE_SPIRV,      /* OpExtension; owner: index into gen_spirv_extensions */
    GEN_USE_STORES,     /* a shader stores to memory; owner: enum gen_stores */
    GEN_USE_DOES        /* owner: enum gen_deed */
};

/* Uses that only several parameters together show. */
enum gen_deed {
    GEN_DOES_NEST,         /* a secondary command buffer executes another */
    GEN_DOES_NEST_IN_PASS, /* within a render pass */
    GEN_DOES_REUSE,        /* a secondary command buffer may be executed again while it is */
    GEN_DOES_CROSS_ASPECTS /* a copy between images names different aspects of both, of which one is depth or stencil */
};

enum gen_stores {
    GEN_STORES_VERTEX /* and all other stages before the rasterizer */,
    GEN_STORES_FRAGMENT,
    GEN_STORES_COUNT
};

enum gen_operator {
    GEN_OPERATOR_SET, /* not 0 */
    GEN_OPERATOR_EQUAL,
    GEN_OPERATOR_ABOVE,
    GEN_OPERATOR_BITS,  /* any of these bits */
    GEN_OPERATOR_DIFFER /* the elements of an array differ */
};

/* A use of a feature or extension. */
struct gen_use {
    int64_t value;
    uint16_t owner;
    uint16_t subject; /* index into gen_features, or from GEN_SUBJECT_EXTENSION on into gen_extensions */
    uint8_t kind, op; /* enum gen_use_kind, enum gen_operator */
    uint8_t member;   /* its place in the tables of gen_reflect.h */
};

/* One condition that allows a capability; members that are 0 do not count. */
struct gen_enable {
    uint32_t version;   /* of Vulkan */
    uint16_t extension; /* 1 + index into gen_extensions */
    uint16_t feature;   /* 1 + index into gen_features */
    uint16_t property;  /* enum gen_struct, in which 32 bits at `offset` have one of `bits` */
    uint32_t offset, bits;
};

struct gen_capability {
    uint32_t number;
    const char *name;
    uint16_t first, count; /* in gen_enables; one of them is enough */
};

#endif
