/* SPDX-License-Identifier: MIT */
/*
 * replay: the state of one replay. Hand-written replay functions are grouped by topic (instance.c, memory.c,
 * swapchain.c, ...); generated ones (gen_replay.c) call the driver directly. Both get the context, the device and the
 * decoded arguments.
 *
 * Three kinds of numbers: an index in the trace (uint64_t, dense per handle type), a live handle of the replay's driver
 * (as uint64_t in tables), and the handle values of the recorded program, which a trace does not have.
 *
 * One thread. While it waits, several threads may each use a copy of the context: see parallel.h.
 */
#ifndef LAP_REPLAYER_CORE_REPLAY_H
#define LAP_REPLAYER_CORE_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/log.h"
#include "base/map.h"
#include "base/slab.h"
#include "base/status.h"
#include "gen_decode.h"
#include "gen_dispatch.h"
#include "replayer/core/object_table.h"
#include "replayer/core/options.h"
#include "replayer/core/progress.h"
#include "replayer/core/watch.h"
#include "trace/read/reader.h"

struct lap_block;       /* vulkan/block.h */
struct replay_program;  /* replayer/vm/program.h */
struct trace_analysis;  /* inspector/analysis/trace_analysis.h */
struct replay_check;    /* verify.h: the checks of --verify */
struct replay_aliases;  /* alias_groups.h: which objects share memory */
struct replay_report;   /* report.h: for `lapilli check` */
struct replay_measure;  /* measure.h: figures of a replay */
struct replay_command;  /* player.c: how to play a command's packets */
struct replay_formats;  /* format.h: the substitutes of formats */
struct replay_parallel; /* parallel.h: several threads play blocks */

struct replay;

/* The position of the replay in the trace. */
struct replay_position {
    struct lap_packet packet;      /* the current one, for messages */
    uint32_t command;              /* enum gen_command of the current packet or block command */
    uint32_t call;                 /* enum gen_command of the program's last call that was replayed */
    uint64_t call_ticket;          /* its packet */
    const char *block_command;     /* name of the current command in a block, or NULL */
    const struct lap_block *block; /* behind that command; NULL: no block is played */
    uint32_t block_family;         /* recorded family of the played command buffer; UINT32_MAX: none */
    uint32_t mapped_family;        /* the recorded family of the last mapping */
};

/* The live objects of all types; handles.c. */
struct replay_objects {
    struct replay_table tables[GEN_HANDLE_COUNT];
    struct lap_live_table *live[GEN_HANDLE_COUNT]; /* the tables' */
    uint64_t next_order;                           /* of the next object */
    uint64_t removed;                              /* objects that ended */
    uint64_t ends;                                 /* ended objects that command buffers may use: reference_check.h */
    uint64_t holes;                                /* unused indices below the largest ones, of all types together */
    uint64_t alive;                                /* objects of all types, and those of replay_objects_reserve */
    uint64_t page_count;                           /* of all tables */
    struct replay_object_page *spare_pages;        /* without objects, zero except their links */
    uint32_t spare_count;
    bool several;       /* several instances or devices: decoders check the owner of each object */
    const void *caller; /* the instance or device of the decoded command */
    struct replay_caller caller_seen;
    struct lap_slab buffers, images;                /* records: resource.h */
    struct replay_reference_check *reference_check; /* NULL until an object refers to others */
    /* Set by the reference check. Called when an object with references ends. */
    void (*drop_references)(struct replay *r, struct replay_object *object);
};

struct replay_loader {
    void *library; /* the Vulkan loader */
    PFN_vkGetInstanceProcAddr get_instance_proc_addr;
};

struct replay_analysis {
    struct trace_analysis *trace;            /* NULL: no part was requested; replayer/analysis/analysis.h */
    struct replay_analysis_waiting *waiting; /* for a pass; NULL: nothing is */
    struct replay_aliases *aliases;          /* NULL: there are none */
};

/* Counts and notes for the replay's summary. */
struct replay_summary {
    uint64_t frames;                            /* presented so far */
    uint64_t first_frame, last_frame;           /* of the trace that were; 0: none */
    uint32_t images_of_frame;                   /* presented in the last one */
    bool warned_hidden;                         /* the warning that no window shows frames was given */
    bool warned_signalled;                      /* the warning of a second signal was given */
    bool gave_up_waiting;                       /* a recorded wait can't end on the replay device */
    char gpu[VK_MAX_PHYSICAL_DEVICE_NAME_SIZE]; /* the one that was named last */
    char *gpu_json;           /* the one that was chosen last, as --list-gpus has it; NULL: none, or no memory */
    uint64_t peak_bytes;      /* of a device's memory, the most; of those that were destroyed */
    uint64_t skipped_structs; /* pNext structures that this build does not know */
    uint64_t invalid_count;   /* calls that were left out or made in part: invalid_calls.h */
    uint64_t *invalid;        /* [command]: the same by command; NULL: none, or no memory */
};

/* The reader, its position, the live objects, and the modules, each behind its own type. */
struct replay {
    struct replay_options options;
    const struct lap_log *log;
    struct lap_reader *reader;
    struct replay_program *program; /* of the reader: vm/program.h; NULL: it is a trace */
    struct lap_edits *edits;        /* of the reader: experiments.h; NULL: the trace is as it was recorded */
    bool waited;                    /* at options.wait, and it goes on: waiting.h */
    bool holds;                     /* the packet where it stands there, which is read already: */
    struct lap_packet held;
    struct lap_reader *reader_before;  /* the one in front of it, to which modules refer: waiting.h; NULL: none */
    struct lap_edits *edits_before;    /* of reader_before; NULL: none */
    struct lap_dictionary *dictionary; /* vulkan/dictionary.h */
    struct replay_position at;
    struct lap_arena arena; /* arguments of the current packet or block command */
    struct lap_dec_source source;
    struct replay_objects objects;
    struct replay_loader loader;
    struct replay_instance *instances;
    struct replay_device *devices;
    struct replay_analysis analysis;
    struct replay_command *commands;                      /* player.c: by number in the file */
    struct replay_formats *formats;                       /* NULL: not chosen yet */
    struct replay_check *check;                           /* verify.h; NULL without --verify */
    struct replay_measure *measure;                       /* NULL without --measure */
    struct replay_call_times *call_times;                 /* NULL without --profile */
    const struct replay_submit_observer *submit_observer; /* submit.h */
    struct replay_parallel *parallel;                     /* NULL: one thread */
    struct replay_report *report; /* NULL: a replay. Else nothing is played: see check_trace.h */
    struct replay_progress progress;
    struct replay_watch watch;
    struct replay_summary summary;
};

/* Fails with the packet's position: "frame 3, packet 4711 (vkCreateImage), chunk at offset 5432, byte 118: TEXT".
 * Returns LAP_ERROR_REPLAY. */
enum lap_status replay_fail(struct replay *r, const char *format, ...) LAP_PRINTF(2, 3);
/* The same for an invalid call of the program, before any part of it was made. Returns LAP_ERROR_INVALID. */
enum lap_status replay_invalid(struct replay *r, const char *format, ...) LAP_PRINTF(2, 3);
/* The same where the replay device lacks something that the trace needs. Returns LAP_ERROR_UNSUPPORTED. */
enum lap_status replay_refuse(struct replay *r, const char *format, ...) LAP_PRINTF(2, 3);
/* LAP_OK for results >= 0. Else a failure with the names of the result and the call: LAP_ERROR_UNSUPPORTED for a
 * format, a feature or an extension that the driver lacks, otherwise LAP_ERROR_REPLAY. */
enum lap_status replay_result(struct replay *r, VkResult result) LAP_MUST_CHECK;
/* The name of a VkResult. */
const char *replay_result_name(VkResult result);
/* The name of a value of an enum ("VkFormat"); NULL: unknown to this build. */
const char *replay_enum_name(const char *type, int64_t value);

/* Puts the position in front of the current error sentence, unless the sentence has it. Returns `status`. */
enum lap_status replay_place(struct replay *r, enum lap_status status);
/* The driver lacks the command: LAP_ERROR_UNSUPPORTED, or LAP_OK for commands that only serve debuggers. */
enum lap_status replay_missing(struct replay *r, uint32_t command);
/* The failure for a current command that no replay calls (gen_replay_refusals). */
enum lap_status replay_refuse_command(struct replay *r);
/* The failure for a parameter that a driver dereferences and that is NULL in the trace. */
enum lap_status replay_absent(struct replay *r, const char *parameter);
/* Whether shaders run by a command: draws, dispatches and their like. */
bool replay_is_work(uint32_t command);
/* Zeroed memory until the next packet; NULL for 0 bytes, and without memory. */
void *replay_scratch(struct replay *r, uint64_t count, size_t element_bytes);
enum lap_status replay_no_scratch(struct replay *r);
/* lap_reader_blob. Reading has no time limit. */
enum lap_status replay_read_blob(struct replay *r, enum lap_blob_kind kind, uint64_t id, const uint8_t **out_data,
                                 size_t *out_bytes) LAP_MUST_CHECK;
/* Milliseconds of a clock that never goes back. */
uint64_t replay_now_ms(void);

#endif
