/* SPDX-License-Identifier: MIT */
/*
 * key: keys of a keyboard that a user can name, as X and the Linux kernel (and so Wayland) know them. Any thread.
 */
#ifndef LAP_BASE_KEY_H
#define LAP_BASE_KEY_H

#include <stdint.h>

#define LAP_KEY_DEFAULT "F11"
#define LAP_KEY_HELP    "F1 to F12, Print, Pause or ScrollLock"

struct lap_key {
    const char *name;
    uint32_t keysym; /* X11/keysymdef.h */
    uint32_t code;   /* linux/input-event-codes.h */
};

/* NULL: no key has this name. */
const struct lap_key *lap_key_find(const char *name);

/* The same for the key in capture --trigger: "key", which is F11, or "key:NAME". */
const struct lap_key *lap_key_trigger(const char *text);

#endif
