/* SPDX-License-Identifier: MIT */
/* lapilli print, info, tree, draws, find, shaders, state, memory and uses, as text and as JSON, of a whole trace, and
 * of one with calls in flight in its tail file (tests/fuzz/tail.h says what such an input is). */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/fuzz/forge.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/tail.h"
#include "tools/show/shader_text.h"
#include "trace/crash/tail.h"

_Static_assert(LAP_TAIL_HEADER_BYTES % LAP_TAIL_ENTRY_ALIGN == 0, "the list begins where entries can");

/* The programs' main functions, under other names: tests/fuzz/module.mk. */
int print_main(int argc, char **argv);
int info_main(int argc, char **argv);
int tree_main(int argc, char **argv);
int draws_main(int argc, char **argv);
int shaders_main(int argc, char **argv);
int state_main(int argc, char **argv);
int memory_main(int argc, char **argv);

/* Without SPIRV-Tools and SPIRV-Cross, which have fuzz tests of their own. */
const lap_shader_text_fn lap_shader_spirv = NULL, lap_shader_glsl = NULL;
int uses_main(int argc, char **argv);
int report_main(int argc, char **argv);
int find_main(int argc, char **argv);

/* Instead of lap_calls_enter_sandbox: libFuzzer writes what it finds. */
void stay_outside(void);
void stay_outside(void) {}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    /* What the programs say goes nowhere; libFuzzer and sanitizers speak on stderr. */
    return freopen("/dev/null", "w", stdout) ? 0 : 1;
}

struct way {
    int (*program)(int, char **);
    const char *options[3];
    const char *object; /* behind the file; NULL: none */
};

static int run(const struct way *way, const char *path)
{
    char *argv[8] = {(char *)"lapilli"};
    int argc = 1;

    for (size_t i = 0; i < sizeof way->options / sizeof *way->options && way->options[i]; i++)
        argv[argc++] = (char *)way->options[i];
    argv[argc++] = (char *)path;
    if (way->object)
        argv[argc++] = (char *)way->object;
    optind = 0;
    return way->program(argc, argv);
}

/* The trace without its end, and the calls; NULL: it is no file that has a header. */
static const char *place_calls(bool notes, const uint8_t *list, size_t list_bytes, const uint8_t *trace, size_t bytes)
{
    size_t room = notes ? TAIL_NOTES_END : LAP_TAIL_HEADER_BYTES + tail_calls_room(list_bytes) + LAP_TAIL_ENTRY_ALIGN;
    size_t used = room;
    const char *path;
    uint8_t *tail;

    if (bytes < LAP_FILE_HEADER_BYTES)
        return NULL;
    tail = calloc(1, room);
    if (!tail)
        abort();
    if (notes)
        tail_notes_store(list, list_bytes, trace, tail);
    else
        used = LAP_TAIL_HEADER_BYTES + tail_calls_store(list, list_bytes, trace, tail + LAP_TAIL_HEADER_BYTES);
    used = (used + LAP_TAIL_ENTRY_ALIGN - 1) & ~(size_t)(LAP_TAIL_ENTRY_ALIGN - 1);
    tail_header(tail, trace, used, used);
    path = tail_place(trace, tail_cut(trace, bytes), tail, used);
    free(tail);
    return path;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static const struct way ways[] = {{print_main, {"--color=never"}, NULL},
                                      {print_main, {"--json"}, NULL},
                                      {info_main, {"--"}, NULL},
                                      {info_main, {"--json"}, NULL},
                                      {tree_main, {"--depth=99"}, NULL},
                                      {tree_main, {"--json", "--depth=99"}, NULL},
                                      {tree_main, {"--json", "--all", "--depth=99"}, NULL},
                                      {tree_main, {"--all", "--at=1.1.1", "--children=2-5"}, NULL},
                                      {draws_main, {"--no-header"}, NULL},
                                      {draws_main, {"--json", "--state"}, NULL},
                                      {shaders_main, {"--no-header"}, NULL},
                                      {shaders_main, {"--json", "--at=1"}, NULL},
                                      {state_main, {"--at=1.1.1.5"}, NULL},
                                      {state_main, {"--at=1"}, NULL},
                                      {state_main, {"--json", "--at=1"}, NULL},
                                      {state_main, {"--diff=#4", "#40"}, NULL},
                                      {state_main, {"--at=#40"}, "VkDevice:1"},
                                      {state_main, {"--json", "--at=#60"}, "VkDeviceMemory:1"},
                                      {state_main, {"--at=1.1.1.5"}, "VkImage:1"},
                                      {state_main, {"--json", "--at=1"}, "VkQueryPool:1"},
                                      {state_main, {"--json", "--at=1.1.1.5"}, "VkSemaphore:1"},
                                      {state_main, {"--at=#60"}, "VkQueue:1"},
                                      {state_main, {"--at=1"}, "VkDescriptorSet:1"},
                                      {memory_main, {"--at=1"}, "VkBuffer:1"},
                                      {memory_main, {"--json", "--at=1.1.1.5"}, "VkBuffer:2"},
                                      {find_main, {"--limit=99999"}, "e"},
                                      {find_main, {"--json"}, "1.1.1.5"},
                                      {uses_main, {"--unused"}, NULL},
                                      {uses_main, {"--unused", "--json"}, NULL},
                                      {uses_main, {"--bindings"}, "VkDeviceMemory:1"},
                                      {uses_main, {"--json"}, "VkImage:1"},
                                      {report_main, {"--all"}, NULL},
                                      {report_main, {"--json"}, NULL}};
    size_t list_bytes;
    const uint8_t *list = tail_list(data, bytes, &list_bytes);
    const char *path =
        !list ? forge_place(data, bytes)
              : place_calls(data[0] == 'N', list, list_bytes, list + list_bytes, bytes - TAIL_LIST_AT - list_bytes);
    const struct way *way = &ways[bytes % (sizeof ways / sizeof *ways)];
    int code = path ? run(way, path) : 0;

    /* 2: the trace has no such position or object. */
    FUZZ_CHECK(code == 0 || code == 3 || code == 4 ||
               (code == 2 && (way->program == tree_main || way->program == state_main || way->program == memory_main ||
                              way->program == shaders_main || way->program == uses_main)));
    if (list && path)
        tail_remove();
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t capacity, unsigned seed)
{
    size_t list_bytes;
    uint8_t *list = (uint8_t *)tail_list(data, bytes, &list_bytes), *trace;

    if (!list)
        return forge_mutator(data, bytes, capacity, seed);
    trace = list + list_bytes;
    if (seed % 2 || !list_bytes)
        return TAIL_LIST_AT + list_bytes +
               forge_mutator(trace, bytes - TAIL_LIST_AT - list_bytes, capacity - TAIL_LIST_AT - list_bytes, seed / 2);
    /* The list becomes no longer, so that the trace stays where it is, or moves to the front. */
    size_t shorter = LLVMFuzzerMutate(list, list_bytes, list_bytes);
    memmove(list + shorter, trace, bytes - TAIL_LIST_AT - list_bytes);
    data[1] = (uint8_t)shorter;
    data[2] = (uint8_t)(shorter >> 8);
    return bytes - list_bytes + shorter;
}
