/* SPDX-License-Identifier: MIT */
#include "layer/core/android.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* AOSP's AID_*: each user of the device has so many user ids. Installed apps have those from 10000 on, then come
 * sandboxes and isolated processes, which have no folder. */
#define IDS_OF_A_USER 100000u
#define ROOT          0u
#define SHELL         2000u
#define END_OF_APPS   20000u

#define INSTEAD       "debug.lapilli.file can name a folder, or an address"

bool layer_android_option(const struct layer_android *system, const char *environment,
                          char out_name[LAYER_PROPERTY_NAME_BYTES], char out_value[LAYER_PROPERTY_BYTES])
{
    static const char prefix[] = "LAPILLI_";
    const char *key = environment + sizeof prefix - 1;

    snprintf(out_name, LAYER_PROPERTY_NAME_BYTES, "debug.lapilli.%s", key);
    for (char *p = out_name; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    *out_value = '\0';
    return system->property(out_name, out_value) > 0 && *out_value;
}

/* PACKAGE of PACKAGE:PROCESS, if it may be one: it becomes a part of a path. */
static bool cut_package(char *command)
{
    command[strcspn(command, ":")] = '\0';
    if (!isalpha((unsigned char)*command))
        return false;
    for (const char *p = command; *p; p++)
        if (!isalnum((unsigned char)*p) && *p != '_' && *p != '.')
            return false;
    return true;
}

static bool is_app(const struct layer_android *system, const char *command)
{
    unsigned id = (unsigned)system->user() % IDS_OF_A_USER;
    return id != ROOT && id != SHELL && !strchr(command, '/');
}

bool layer_android_package(const struct layer_android *system, char out[LAYER_PACKAGE_BYTES])
{
    system->command(out, LAYER_PACKAGE_BYTES);
    return is_app(system, out) && cut_package(out);
}

static enum lap_status folder_of_program(char **out)
{
    char *here = getcwd(NULL, 0);

    if (here && here[1]) {
        *out = here;
        return LAP_OK;
    }
    free(here);
    return lap_fail(LAP_ERROR_UNSUPPORTED, "the current folder is the root; " INSTEAD);
}

enum lap_status layer_android_folder(const struct layer_android *system, char **out)
{
    char package[LAYER_PACKAGE_BYTES], command[LAYER_PACKAGE_BYTES];
    unsigned user = (unsigned)system->user();
    enum lap_status status = LAP_OK;

    *out = NULL;
    system->command(command, sizeof command);
    if (!is_app(system, command))
        return folder_of_program(out);
    if (user % IDS_OF_A_USER >= END_OF_APPS)
        return lap_fail(LAP_ERROR_UNSUPPORTED, "%s is an isolated process, which has no folder", command);
    memcpy(package, command, sizeof package);
    if (!cut_package(package))
        return lap_fail(LAP_ERROR_UNSUPPORTED, "%s is no name of a package; " INSTEAD, command);
    if (asprintf(out, "/data/user/%u/%s/files", user / IDS_OF_A_USER, package) < 0) {
        *out = NULL;
        return lap_no_memory(NULL);
    }
    /* It is there as soon as the app has asked for it. A process may have a name that is not its package's. */
    if (system->make_folder(*out) != 0 && errno != EEXIST) {
        status = lap_fail(LAP_ERROR_IO, "the folder %s can't be made: %s; " INSTEAD, *out, strerror(errno));
        free(*out);
        *out = NULL;
    }
    return status;
}
