/* SPDX-License-Identifier: MIT */
#include "base/process/sandbox.h"

#include <dirent.h>
#include <errno.h>
#include <linux/capability.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/process/sandbox_internal.h"

/* Looks for threads of preloaded libraries: Landlock would not apply to them. */
static bool is_alone(void)
{
    DIR *tasks = opendir("/proc/self/task");
    const struct dirent *entry;
    unsigned count = 0;

    if (!tasks)
        return true; /* unknown without /proc */
    while ((entry = readdir(tasks)))
        count += entry->d_name[0] != '.';
    closedir(tasks);
    return count <= 1;
}

static void add_lack(struct lap_sandbox *out, const char *what, int error)
{
    size_t used = strlen(out->lack);

    snprintf(out->lack + used, sizeof out->lack - used, "%s%s%s%s", used ? "; " : "", what, error ? ": " : "",
             error ? strerror(error) : "");
}

/* Of root's capabilities keeps only those for files of other owners (Landlock bounds them) and for queues of higher
 * priority. A capability for performance counters would allow reading every process, so it is not kept. */
static int drop_capabilities(void)
{
    static const unsigned kept[] = {CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_SYS_NICE};
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
    uint32_t masks[_LINUX_CAPABILITY_U32S_3] = {0}, dropped = 0;

    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        masks[CAP_TO_INDEX(kept[i])] |= CAP_TO_MASK(kept[i]);
    if (syscall(SYS_capget, &header, data) != 0)
        return errno;
    for (unsigned i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
        dropped |= data[i].permitted & ~masks[i];
        data[i].permitted &= masks[i];
        data[i].effective &= masks[i];
    }
    return !dropped || syscall(SYS_capset, &header, data) == 0 ? 0 : errno;
}

static int restrict_calls(const struct lap_sandbox_options *options, struct lap_sandbox *out)
{
#ifdef __ANDROID__
    add_lack(out, "system calls are not restricted, for builds for Android are without libseccomp", 0);
    return ENOSYS;
#else
    int error = lap_sandbox_restrict_calls(options);
    if (error)
        add_lack(out, "system calls are not restricted, for there is no seccomp here", error);
    return error;
#endif
}

void lap_sandbox_enter(const struct lap_sandbox_options *options, struct lap_sandbox *out)
{
    bool alone = is_alone();
    int capabilities, files = 0, calls;

    memset(out, 0, sizeof *out);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
        add_lack(out, "the kernel does not let privileges be given up", errno);
        return;
    }
    capabilities = drop_capabilities();
    if (capabilities)
        add_lack(out, "it keeps the rights of root", capabilities);
    if (!alone)
        add_lack(out, "files can be written, for there are other threads already", 0);
    else if ((files = lap_sandbox_restrict_files(options)))
        add_lack(out, "files can be written, for there is no Landlock here", files);
    calls = restrict_calls(options, out);
    if (!out->lack[0])
        out->state = LAP_SANDBOX_ON;
    else if ((alone && !files) || !calls)
        out->state = LAP_SANDBOX_PARTIAL;
}

static const char *const wish_names[] = {
    [LAP_SANDBOX_WISH_AUTO] = "auto", [LAP_SANDBOX_WISH_ON] = "on", [LAP_SANDBOX_WISH_OFF] = "off"};

enum lap_status lap_sandbox_wish_parse(const char *text, enum lap_sandbox_wish *out)
{
    for (unsigned i = 0; i < sizeof wish_names / sizeof *wish_names; i++)
        if (strcmp(wish_names[i], text) == 0) {
            *out = (enum lap_sandbox_wish)i;
            return LAP_OK;
        }
    return lap_fail(LAP_ERROR_ARGUMENT, "--sandbox wants on, off or auto, not \"%s\"", text);
}

const char *lap_sandbox_wish_name(enum lap_sandbox_wish wish)
{
    return wish_names[wish];
}

const char *lap_sandbox_state_name(enum lap_sandbox_state state)
{
    static const char *const names[] = {
        [LAP_SANDBOX_OFF] = "off", [LAP_SANDBOX_PARTIAL] = "partial", [LAP_SANDBOX_ON] = "on"};
    return names[state];
}
