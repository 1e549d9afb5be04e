/* SPDX-License-Identifier: MIT */
/* The layer's options in processes of Android. The test stands for the system. */
#include "layer/core/android.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "layer/core/options.h"
#include "layer/core/settings.h"
#include "tests/unit/unit.h"

/* There is no vk_layer_settings.txt. */
struct layer_settings *layer_settings_open(const struct lap_log *log)
{
    return NULL;
}

const char *layer_settings_value(struct layer_settings *settings, const char *key, bool is_list)
{
    return NULL;
}

void layer_settings_close(struct layer_settings *settings) {}

/* ---- the system ---- */

static const char *set[4][2]; /* properties */
static const char *command_line;
static uid_t user;
static int no_folder; /* an errno */
static char made[64], said[256];

static int property(const char *name, char *out)
{
    *out = '\0';
    for (size_t i = 0; i < sizeof set / sizeof *set; i++)
        if (set[i][0] && strcmp(set[i][0], name) == 0)
            return snprintf(out, LAYER_PROPERTY_BYTES, "%s", set[i][1]);
    return 0;
}

static void command(char *out, size_t capacity)
{
    snprintf(out, capacity, "%s", command_line);
}

static uid_t get_user(void)
{
    return user;
}

static int make_folder(const char *path)
{
    snprintf(made, sizeof made, "%s", path);
    errno = no_folder;
    return no_folder ? -1 : 0;
}

static void tell(enum lap_log_level level, const char *message)
{
    snprintf(said, sizeof said, "%d %s", level, message);
}

static unsigned long secure; /* AT_SECURE */

unsigned long __wrap_getauxval(unsigned long type);
unsigned long __wrap_getauxval(unsigned long type)
{
    return secure;
}

static const struct layer_android android = {property, command, get_user, make_folder, tell};
static struct layer_options options;

static void resolve(const char *name, uid_t id)
{
    const struct lap_log log = {.fd = -1, .level = LAP_LOG_WARNING, .write = android.log};

    layer_options_finish(&options);
    command_line = name;
    user = id;
    *made = *said = '\0';
    layer_options_resolve(&options, &android, true, &log);
}

static void set_property(unsigned index, const char *name, const char *value)
{
    set[index][0] = name;
    set[index][1] = value;
}

static void clear(void)
{
    layer_options_finish(&options);
    memset(set, 0, sizeof set);
    no_folder = 0;
}

/* ---- */

UNIT_TEST(an_app_that_is_named_writes_into_its_own_folder)
{
    static const struct {
        const char *command, *file;
        uid_t user;
    } apps[] = {
        {"com.example.game", "/data/user/0/com.example.game/files/%e.lapilli", 10123},
        {"com.example.game:render", "/data/user/0/com.example.game/files/%e.lapilli", 10123},
        {"com.example.game", "/data/user/11/com.example.game/files/%e.lapilli", 1110123},
        {"com.android.settings", "/data/user/0/com.android.settings/files/%e.lapilli", 1000},
    };
    for (size_t i = 0; i < sizeof apps / sizeof *apps; i++) {
        resolve(apps[i].command, apps[i].user);
        CHECK(options.armed);
        CHECK_STR(options.file, apps[i].file);
        CHECK_STR(said, "");
        char *path = layer_options_path(&options, 1), *end = strrchr(path, '/');
        CHECK(strncmp(made, path, (size_t)(end - path)) == 0 && strlen(made) == (size_t)(end - path));
        CHECK_STR(end, i == 3 ? "/com.android.settings.lapilli" : "/com.example.game.lapilli");
        free(path);
    }
    no_folder = EEXIST;
    resolve("com.example.game", 10123);
    CHECK(options.armed && !*said);
    clear();
}

UNIT_TEST(who_has_no_folder_is_not_recorded_and_says_so)
{
    static const struct {
        const char *command, *said;
        uid_t user;
    } refused[] = {
        {"com.example.web:sandboxed_process0:org.example.Service",
         "0 nothing is recorded: com.example.web:sandboxed_process0:org.example.Service is an isolated process, which "
         "has "
         "no folder",
         99017},
        {"com.example.web:service",
         "0 nothing is recorded: com.example.web:service is an isolated process, which has no folder", 1190017},
        {"<pre-initialized>",
         "0 nothing is recorded: <pre-initialized> is no name of a package; debug.lapilli.file can name a folder, or "
         "an address",
         10123},
        {"..", "0 nothing is recorded: .. is no name of a package; debug.lapilli.file can name a folder, or an address",
         10123},
        {"", "0 nothing is recorded:  is no name of a package; debug.lapilli.file can name a folder, or an address",
         10123},
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        resolve(refused[i].command, refused[i].user);
        CHECK(!options.armed);
        CHECK_STR(said, refused[i].said);
        CHECK_STR(made, "");
    }
    no_folder = EACCES;
    resolve("name.of.its.own", 10123);
    CHECK(!options.armed);
    CHECK_STR(said,
              "0 nothing is recorded: the folder /data/user/0/name.of.its.own/files can't be made: Permission denied; "
              "debug.lapilli.file can name a folder, or an address");
    set_property(0, "debug.lapilli.file", "unix:@lapilli"); /* it needs none */
    resolve("name.of.its.own", 10123);
    CHECK(options.armed && options.streamed && !*said);
    set_property(0, "debug.lapilli.file", "/data/local/tmp/%p.lapilli");
    resolve("com.example.web:sandboxed_process0", 99017);
    CHECK(options.armed && !*said);
    clear();
}

UNIT_TEST(a_program_of_the_shell_has_its_current_folder)
{
    char here[4096], *path;

    CHECK(getcwd(here, sizeof here) != NULL);
    for (uid_t id = 0; id <= 2000; id += 2000) {
        resolve("vkcube", id);
        CHECK(options.armed && strncmp(options.file, here, strlen(here)) == 0);
        path = layer_options_path(&options, 1);
        CHECK(path && strstr(path, "/test_android.lapilli"));
        free(path);
    }
    resolve("/data/local/tmp/vkcube", 10123); /* run-as */
    CHECK(options.armed && strncmp(options.file, here, strlen(here)) == 0);
    CHECK(chdir("/") == 0);
    resolve("/data/local/tmp/vkcube", 2000);
    CHECK(!options.armed && strstr(said, "the current folder is the root"));
    CHECK(chdir(here) == 0);
    clear();
}

UNIT_TEST(each_option_is_a_property)
{
    char longest[LAYER_PROPERTY_BYTES];

    memset(longest, 'a', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    set_property(0, "debug.lapilli.verify", "all");
    set_property(1, "debug.lapilli.report", longest);
    set_property(2, "debug.lapilli.log", "");       /* as if it were not set */
    set_property(3, "debug.lapilli.queue", "much"); /* wrong */
    resolve("com.example.game", 10123);
    CHECK(options.verify_all && options.log_level == LAP_LOG_WARNING);
    CHECK(strncmp(options.report, "/data/user/0/com.example.game/files/aaa", 39) == 0);
    CHECK_EQ_U64(strlen(options.report), strlen("/data/user/0/com.example.game/files/") + LAYER_PROPERTY_BYTES - 1);
    CHECK_STR(said, "1 debug.lapilli.queue=much: this is not 0 or 16 to 65536 MiB; the default is used");
    setenv("LAPILLI_VERIFY", "0", 1); /* a program of the shell has an environment */
    resolve("vkcube", 2000);
    CHECK(!options.verify && options.armed);
    unsetenv("LAPILLI_VERIFY");
    set_property(0, "debug.lapilli.capture", "0");
    resolve("com.example.game", 10123);
    CHECK(!options.armed);
    clear();
}

UNIT_TEST(apps_are_no_setuid_programs)
{
    secure = 1; /* for each app */
    resolve("com.example.game", 10123);
    CHECK(options.armed);
    layer_options_finish(&options);
    CHECK(layer_android() == NULL);
    layer_options_resolve(&options, layer_android(), true, NULL);
    CHECK(!options.armed);
    secure = 0;
    layer_options_resolve(&options, layer_android(), true, NULL);
    CHECK(options.armed);
    CHECK_STR(options.file, "%e.lapilli");
    clear();
}

UNIT_MAIN();
