/* SPDX-License-Identifier: MIT */
/*
 * driver: a Vulkan driver that does nothing but look at what it is given, as a real one would rely on it: every pointer
 * that must be valid is followed, every handle must be one that was handed out, of the right type and alive, and of the
 * device that is called. What is wrong ends the process. Stands for the loader as well. Any thread: calls wait
 * for each other.
 *
 * Submitted work is under way until it is waited for, or its fence was asked for several times. What such work has, in
 * its command buffers and those that they execute, or what a sparse bind names, must not be destroyed, freed, recorded
 * anew or reset then. What only descriptors name is not looked at.
 *
 * What the layer hides from programs must not come either: their commands and structures, extensions and features
 * that are switched on. Nor must addresses of the host, memory to import, and data for a cache.
 *
 * It does not check numbers against limits, features or usages: what a replay hands on as recorded.
 */
#ifndef LAP_TESTS_FUZZ_DRIVER_H
#define LAP_TESTS_FUZZ_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <vulkan/vulkan.h>

#include "gen_ids.h"
#include "vulkan/reflect.h"

struct driver_function {
    const char *name;
    PFN_vkVoidFunction function;
};

/* Generated (emit_driver.py): every command, under all of its names. */
extern struct driver_function driver_functions[];
extern const size_t driver_function_count;

/* What each of them calls: args is its struct gen_args_X. Returns its result. */
uint64_t driver_call(uint32_t command, void *args);

PFN_vkVoidFunction VKAPI_CALL driver_get_instance_proc_addr(VkInstance instance, const char *name);

/* All objects are gone, and their memory with them. */
void driver_reset(void);

/* Of all calls since then but questions, and of the numbers and handles that they were given: the same calls in the
 * same order have the same. */
uint64_t driver_digest(void);

/* ---- driver_check.c ---- */

struct driver_object {
    uint32_t type; /* enum gen_handle_type */
    uint32_t alive;
    uint64_t device; /* the VkDevice, or VkInstance, that it belongs to */
    uint64_t pool;   /* that it ends with; 0: none */
    uint64_t bytes;  /* of buffers, images and memory */
    uint32_t width, height, depth, levels, layers;
    uint32_t family, number; /* of queues */
    void *data;              /* of memory: what it holds */
    uint64_t queue, work; /* the last work that has it, and on which queue; of a queue: its last work, which is over */
    uint32_t asked;       /* of a fence, since it was given */
    bool signalled;
    uint64_t *names; /* of a command buffer: what its commands name */
    size_t name_count, name_capacity;
};

/* Says what is wrong and ends the process. */
void driver_problem(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* A new object's handle, and which of all it is, from 1. */
uint64_t driver_object_new(uint32_t type, uint64_t device);
uint64_t driver_object_number(uint64_t handle);
/* A handle in memory: those of a member that are pointers have 32 bits on some machines, all others 64. */
uint64_t driver_load_handle(const struct gen_member *member, const void *at);
void driver_store_handle(const struct gen_member *member, void *at, uint64_t handle);
/* It must be alive and of this type; NULL for VK_NULL_HANDLE. */
struct driver_object *driver_object(uint32_t type, uint64_t handle);
void driver_object_end(uint32_t type, uint64_t handle);
/* The first object from *at on that is alive; *at is moved behind it. NULL: there is none. */
struct driver_object *driver_object_next(size_t *at, uint64_t *out_handle);

/* Looks at all parameters of a call. */
void driver_check(uint32_t command, const void *args);

/* What is named in a command buffer is in use by work from now on; 0: nothing. */
void driver_work(uint64_t handle, uint64_t queue, uint64_t work);
/* Ends the process where work under way has it. */
void driver_idle(uint32_t type, uint64_t handle);
bool driver_is_under_way(const struct driver_object *object);

/* The VkDevice or VkInstance behind the first parameter. */
uint64_t driver_owner(uint32_t command, const void *args);

#endif
