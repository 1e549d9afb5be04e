/* SPDX-License-Identifier: MIT */
/*
 * needs: the shape of the generated tables (gen_needs.h) that tell what shows that a trace uses a feature or an
 * extension, and what lets a shader declare a capability. codegen/needs.toml says what vk.xml does not.
 */
#ifndef LAP_CODEGEN_NEEDS_H
#define LAP_CODEGEN_NEEDS_H

#include <stdbool.h>
#include <stdint.h>

/* A member of structures of features; those of the same name in several structures are one. */
struct gen_feature {
    const char *name;
    const char *unseen; /* why nothing in a trace tells; NULL: witnesses do */
    const char *moot;   /* why a replay needs none */
    uint16_t partner;   /* 1 + index of the feature without which it is not used; 0: none */
    bool known;         /* false: a newer registry's, of which nothing is known */
};

enum gen_witness_kind {
    GEN_WITNESS_COMMAND,    /* owner: enum gen_command */
    GEN_WITNESS_STRUCT,     /* owner: enum gen_struct */
    GEN_WITNESS_MEMBER,     /* of the structure */
    GEN_WITNESS_PARAMETER,  /* of the command */
    GEN_WITNESS_VALUE,      /* in any member of that type; owner: index into gen_enums */
    GEN_WITNESS_CAPABILITY, /* owner: SPIR-V's number */
    GEN_WITNESS_SPIRV,      /* OpExtension; owner: index into gen_spirv_extensions */
    GEN_WITNESS_STORES      /* a shader stores to memory; owner: enum gen_stores */
};

enum gen_stores { GEN_STORES_VERTEX /* and all others before the rasterizer */, GEN_STORES_FRAGMENT, GEN_STORES_COUNT };

enum gen_operator {
    GEN_OPERATOR_SET, /* not 0 */
    GEN_OPERATOR_EQUAL,
    GEN_OPERATOR_ABOVE,
    GEN_OPERATOR_BITS,  /* any of them */
    GEN_OPERATOR_DIFFER /* elements of an array that are not the same */
};

struct gen_witness {
    int64_t value;
    uint16_t owner;
    uint16_t subject; /* index into gen_features, or from GEN_SUBJECT_EXTENSION on into gen_extensions */
    uint8_t kind, op; /* enum gen_witness_kind, enum gen_operator */
    uint8_t member;   /* its place in the tables of gen_reflect.h */
};

/* One of the things that allow a capability; what is 0 does not count. */
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
    uint16_t first, count; /* in gen_enables; any of them will do */
};

#endif
