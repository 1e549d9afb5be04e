/* SPDX-License-Identifier: MIT */
/*
 * reflect: the types of the generated reflection tables (gen_reflect.h): the members of every structure, union and
 * command, and the values of every enum and flags type. vulkan/walk.h walks decoded data with them.
 */
#ifndef LAP_VULKAN_REFLECT_H
#define LAP_VULKAN_REFLECT_H

#include <stdbool.h>
#include <stdint.h>

enum gen_element {
    GEN_ELEMENT_UNSIGNED, /* numbers: element_bytes wide */
    GEN_ELEMENT_SIGNED,
    GEN_ELEMENT_FLOAT,
    GEN_ELEMENT_BOOL,
    GEN_ELEMENT_ENUM,   /* type: index into gen_enums */
    GEN_ELEMENT_FLAGS,  /* type: index into gen_enums */
    GEN_ELEMENT_HANDLE, /* type: enum gen_handle_type */
    GEN_ELEMENT_OBJECT, /* a handle in 64 bits whose VkObjectType is in the selector */
    GEN_ELEMENT_STRUCT, /* a structure or a union; type: enum gen_struct */
    GEN_ELEMENT_CHAR,
    GEN_ELEMENT_OPAQUE /* an address of the recorded program; never dereferenced */
};

enum gen_shape {
    GEN_SHAPE_VALUE,
    GEN_SHAPE_ARRAY,    /* `count` elements in place */
    GEN_SHAPE_POINTER,  /* NULL or counted elements */
    GEN_SHAPE_POINTERS, /* NULL or counted pointers to rows; compute returns the elements of a row */
    GEN_SHAPE_STRING,
    GEN_SHAPE_STRINGS,
    GEN_SHAPE_BYTES, /* NULL or counted bytes */
    GEN_SHAPE_PNEXT,
    GEN_SHAPE_STYPE,
    GEN_SHAPE_BITS, /* a bit-field: compute returns its value */
    GEN_SHAPE_SKIP  /* never recorded: allocators, callbacks */
};

enum gen_count {
    GEN_COUNT_CONSTANT, /* `count` */
    GEN_COUNT_MEMBER,   /* the sibling at index count_member */
    GEN_COUNT_POINTEE,  /* the value that this sibling points to; no elements when it is NULL */
    GEN_COUNT_COMPUTE   /* compute */
};

enum gen_member_flags {
    GEN_MEMBER_OUTPUT = 1,    /* written by the call */
    GEN_MEMBER_CREATED = 2,   /* handles that the call creates */
    GEN_MEMBER_DESTROYED = 4, /* a handle that the call destroys */
    GEN_MEMBER_NEEDED = 8,    /* must not be null unless its count is 0, according to the registry */
    GEN_MEMBER_ELEMENTS = 16, /* the handles that it points to must not be null either */
    GEN_MEMBER_HIDDEN = 32,   /* a feature that the layer hides from programs */
    GEN_MEMBER_READ = 64      /* the contents of its object are only read (codegen/effects.toml) */
};

#define GEN_MEMBER_NONE UINT8_MAX

/* Names of members and of values, one behind the other. The tables have offsets into it. */
extern const char gen_reflect_names[];

struct gen_member {
    uint64_t (*compute)(const void *owner, uint64_t row);
    uint32_t name;   /* gen_member_name */
    uint32_t offset; /* in the owner; not for bit-fields */
    uint32_t count;
    uint32_t element_bytes;
    uint16_t type;
    uint8_t element, shape, count_kind; /* enum gen_element, gen_shape, gen_count */
    uint8_t count_member, selector;     /* indices of siblings; GEN_MEMBER_NONE */
    uint8_t flags;                      /* enum gen_member_flags */
};

static inline const char *gen_member_name(const struct gen_member *member)
{
    return &gen_reflect_names[member->name];
}

/* The member of a union for a value of the selector. */
struct gen_selection {
    int64_t value;
    uint32_t member;
};

struct gen_struct_info {
    const struct gen_member *members;
    const struct gen_selection *selections; /* of unions with a selector */
    uint32_t bytes;                         /* 0: not compiled on this platform */
    uint16_t member_count, selection_count;
    bool is_union;
    bool raw;      /* a union whose members are all valid to read */
    bool features; /* extends VkDeviceCreateInfo with VkBool32 members */
};

struct gen_command_info {
    const struct gen_member *members; /* of struct gen_args_X; a recorded result follows the last one */
    uint16_t member_count;
    bool present;    /* false: a command of another platform */
    bool has_result; /* its result is recorded */
};

struct gen_enum_value {
    int64_t value;
    uint32_t name; /* gen_enum_value_name */
};

static inline const char *gen_enum_value_name(const struct gen_enum_value *value)
{
    return &gen_reflect_names[value->name];
}

struct gen_enum_info {
    const char *name;
    const struct gen_enum_value *values; /* sorted by value */
    uint32_t value_count;
};

struct gen_extension_info {
    const char *name;
    const uint16_t *commands,
        *structs;       /* added by it: enum gen_command and enum gen_struct of chained ones, 0-terminated */
    bool device;        /* false: an instance extension */
    const char *hidden; /* why the layer hides it from programs; NULL: it does not */
};

#endif
