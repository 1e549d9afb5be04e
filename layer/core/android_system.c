/* SPDX-License-Identifier: MIT */
#include "layer/core/android.h"

#ifdef __ANDROID__

#include <android/log.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/system_properties.h>
#include <unistd.h>

_Static_assert(LAYER_PROPERTY_BYTES == PROP_VALUE_MAX, "a property's value fits");

static void command(char *out, size_t capacity)
{
    int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t length = fd >= 0 ? read(fd, out, capacity - 1) : -1;

    if (fd >= 0)
        close(fd);
    out[length > 0 ? length : 0] = '\0';
}

static int make_folder(const char *path)
{
    return mkdir(path, 0771);
}

static void write_log(enum lap_log_level level, const char *message)
{
    static const int priorities[] = {[LAP_LOG_ERROR] = ANDROID_LOG_ERROR,
                                     [LAP_LOG_WARNING] = ANDROID_LOG_WARN,
                                     [LAP_LOG_INFO] = ANDROID_LOG_INFO,
                                     [LAP_LOG_DEBUG] = ANDROID_LOG_DEBUG};
    (void)__android_log_write(priorities[level], "lapilli", message);
}

const struct layer_android *layer_android(void)
{
    static const struct layer_android system = {.property = __system_property_get,
                                                .command = command,
                                                .user = getuid,
                                                .make_folder = make_folder,
                                                .log = write_log};
    return &system;
}

#else

const struct layer_android *layer_android(void)
{
    return NULL;
}

#endif
