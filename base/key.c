/* SPDX-License-Identifier: MIT */
#include "base/key.h"

#include <linux/input-event-codes.h>
#include <stddef.h>
#include <string.h>

static const struct lap_key keys[] = {
    {"F1", 0xffbe, KEY_F1},       {"F2", 0xffbf, KEY_F2},       {"F3", 0xffc0, KEY_F3},
    {"F4", 0xffc1, KEY_F4},       {"F5", 0xffc2, KEY_F5},       {"F6", 0xffc3, KEY_F6},
    {"F7", 0xffc4, KEY_F7},       {"F8", 0xffc5, KEY_F8},       {"F9", 0xffc6, KEY_F9},
    {"F10", 0xffc7, KEY_F10},     {"F11", 0xffc8, KEY_F11},     {"F12", 0xffc9, KEY_F12},
    {"Print", 0xff61, KEY_SYSRQ}, {"Pause", 0xff13, KEY_PAUSE}, {"ScrollLock", 0xff14, KEY_SCROLLLOCK},
};

const struct lap_key *lap_key_find(const char *name)
{
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(keys[i].name, name) == 0)
            return &keys[i];
    return NULL;
}

const struct lap_key *lap_key_trigger(const char *text)
{
    if (strcmp(text, "key") == 0)
        return lap_key_find(LAP_KEY_DEFAULT);
    return strncmp(text, "key:", 4) == 0 ? lap_key_find(text + 4) : NULL;
}
