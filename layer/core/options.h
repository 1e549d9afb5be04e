/* SPDX-License-Identifier: MIT */
/*
 * options: what a user can set for the layer. One table (options.c) gives name, environment variable, settings key,
 * default and help; it is resolved once, at the first vkCreateInstance, in the order environment,
 * vk_layer_settings.txt, default. In a setuid or setgid program nothing is honoured and the layer is off.
 */
#ifndef LAP_LAYER_OPTIONS_H
#define LAP_LAYER_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/frames.h"
#include "base/key.h"
#include "base/log.h"
#include "memtrack/memtrack.h"
#include "trace/format.h"

/* Whose pages host-visible memory lies in. */
enum layer_backing_option {
    LAYER_BACKING_AUTO, /* the layer's where the driver's can't be watched for writes or are slow to read */
    LAYER_BACKING_HOST, /* the layer's wherever that can be done */
    LAYER_BACKING_OFF   /* the driver's */
};

/* Which parts of the run are recorded. Numbers of frames and submits begin at 1. */
struct layer_parts {
    bool on;                  /* parts are; else all of it is */
    struct lap_frames frames; /* presented; where the program has no surface: submits that run commands */
    struct lap_frames submits;
    struct lap_frames milliseconds; /* since the first instance */
    bool signal;                    /* SIGUSR2 begins one */
    const struct lap_key *key;      /* or this key, in a window of the program; NULL: none does */
    char *trigger_file;             /* or that this file appears, which then goes; NULL: none does */
    bool calls;                     /* or the program itself: include/lapilli.h */
    bool control;                   /* or whoever commands: control.h */
    uint64_t trigger_frames;        /* of each such part */
    struct lap_length keep_last;    /* instead of all that: the run's last part, of at least this length. Commands can
                                       change it: part/turns.h */
    bool exit_after;                /* the program gets SIGTERM when the last part that can come is recorded */
};

struct layer_options {
    bool armed; /* recording was asked for */
    char *file; /* pattern: %p pid, %e program, %t time, %n number, %%; or, streamed, an address */
    bool streamed;
    bool stream_wait; /* for a receiver, before the program's first call */
    char *control;    /* an address where commands come from; NULL: from who receives the trace, if it is streamed */
    char *token_file; /* of the receiver, and of who commands, or NULL */
    char *report;     /* a file to which the path of each trace is appended, or NULL */
    bool verify;
    bool verify_bytes; /* with verify: the texels and pixels that are checked are in the trace, too */
    bool verify_all;   /* with verify: all that submitted work wrote is read back behind it */
    bool reads_back;   /* contents can be read back by the layer: for verify_all, or for what parts begin with */
    struct layer_parts parts;
    bool real_memory_types;
    enum lap_watch_kind write_watch;
    enum layer_backing_option backing;
    bool in_flight;                 /* calls are noted before they are made: notes.h */
    bool no_addresses;              /* nothing is recorded with which a replay could have device addresses again */
    const struct lap_codec *packer; /* NULL: nothing is compressed */
    size_t queue_bytes;             /* as in lap_writer_options */
    enum lap_log_level log_level;
    struct lap_frames screenshots;
    char *screenshot_dir;
};

/* Resolves all options. named: the program enabled the layer by its name, which asks for a recording unless
 * LAPILLI_CAPTURE says otherwise. Bad values are reported to the log and replaced by the default. */
void layer_options_resolve(struct layer_options *options, bool named, const struct lap_log *log);
void layer_options_finish(struct layer_options *options);

/* The name of the program's file. */
void layer_options_program(char *out, size_t capacity);

/* Expands the file pattern; attempt > 1 adds or changes the number. Caller frees; NULL when out of memory. */
char *layer_options_path(const struct layer_options *options, unsigned attempt);

#endif
