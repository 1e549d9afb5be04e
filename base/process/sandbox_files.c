/* SPDX-License-Identifier: MIT */
/* The Landlock half of a sandbox. Its structures and numbers are defined here, because headers are often older than
 * kernels. Each is as in the kernel's documentation ("Landlock: unprivileged access control"). */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/process/sandbox_internal.h"

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule       445
#define SYS_landlock_restrict_self  446
#endif

#define ASK_VERSION  1u
#define PATH_BENEATH 1

enum access {
    EXECUTE = 1 << 0,
    WRITE_FILE = 1 << 1,
    READ_FILE = 1 << 2,
    READ_DIR = 1 << 3,
    REMOVE_DIR = 1 << 4,
    REMOVE_FILE = 1 << 5,
    MAKE_DIR = 1 << 7,
    MAKE_REG = 1 << 8,
    ALL_OF_VERSION_1 = (1 << 13) - 1,
    REFER = 1 << 13,     /* version 2 */
    TRUNCATE = 1 << 14,  /* 3 */
    IOCTL_DEV = 1 << 15, /* 5 */
    OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
};

/* The kernel accepts a struct longer than its own if the additional bytes are zero. */
struct ruleset {
    uint64_t files;  /* rights that need a rule */
    uint64_t net;    /* version 4: TCP's bind and connect */
    uint64_t scoped; /* version 6: sockets of abstract names and signals stay within the restricted processes */
};

struct rule {
    uint64_t allowed;
    int32_t folder;
} __attribute__((packed));

static struct ruleset ruleset_of(long version)
{
    struct ruleset set = {.files = ALL_OF_VERSION_1};

    set.files |= version >= 2 ? REFER : 0;
    set.files |= version >= 3 ? TRUNCATE : 0;
    set.files |= version >= 5 ? IOCTL_DEV : 0;
    set.net = version >= 4 ? 3 : 0;
    set.scoped = version >= 6 ? 3 : 0;
    return set;
}

/* Takes the descriptor, which may be -1 with an errno. */
static int allow_opened(int ruleset, const struct ruleset *set, int opened, uint64_t what)
{
    struct rule rule = {.allowed = what & set->files, .folder = opened};
    struct stat info;
    int error = 0;

    if (rule.folder < 0)
        return errno;
    if (fstat(rule.folder, &info) == 0 && !S_ISDIR(info.st_mode))
        rule.allowed &= OF_FILES;
    if (syscall(SYS_landlock_add_rule, ruleset, PATH_BENEATH, &rule, 0) != 0)
        error = errno;
    close(rule.folder);
    return error;
}

static int allow(int ruleset, const struct ruleset *set, const char *path, uint64_t what)
{
    return allow_opened(ruleset, set, open(path, O_PATH | O_CLOEXEC), what);
}

/* All files except devices: before version 5, opening a device for reading allows all its ioctls. So each folder beside
 * /dev gets a rule of its own; the target of a link is in another of these folders. In /dev only shared memory with
 * names is allowed. */
static int allow_reading(int ruleset, const struct ruleset *set, uint64_t what)
{
    DIR *root = opendir("/");
    const struct dirent *entry;
    int error = root ? allow(ruleset, set, "/", READ_DIR) : errno;

    while (root && !error && (entry = readdir(root)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 && strcmp(entry->d_name, "dev") != 0)
            (void)allow_opened(ruleset, set, openat(dirfd(root), entry->d_name, O_PATH | O_NOFOLLOW | O_CLOEXEC), what);
    if (root)
        closedir(root);
    if (!error)
        (void)allow(ruleset, set, "/dev/shm", READ_FILE);
    return error;
}

/* Prefixes of names in /dev: DRM, NVIDIA, AMD's compute, WSL, and devices of SoCs; and devices that share memory with
 * them. */
static const char *const gpus[] = {"dri",  "nvidia", "nvhost", "nvmap", "nvgpu",   "kfd",  "dxg",
                                   "mali", "kgsl",   "pvr",    "ion",   "udmabuf", "dma_h"};

static void allow_devices(int ruleset, const struct ruleset *set, bool with_gpus)
{
    static const char *const harmless[] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"};
    const uint64_t what = WRITE_FILE | READ_FILE | READ_DIR | TRUNCATE | IOCTL_DEV;
    DIR *folder = with_gpus ? opendir("/dev") : NULL;
    const struct dirent *entry;
    char path[300];

    for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++)
        (void)allow(ruleset, set, harmless[i], what & ~(uint64_t)IOCTL_DEV);
    while (folder && (entry = readdir(folder)))
        for (size_t i = 0; i < sizeof gpus / sizeof *gpus; i++)
            if (strncmp(entry->d_name, gpus[i], strlen(gpus[i])) == 0) {
                snprintf(path, sizeof path, "/dev/%s", entry->d_name);
                (void)allow(ruleset, set, path, what);
            }
    if (folder)
        closedir(folder);
}

int lap_sandbox_restrict_files(const struct lap_sandbox_options *options)
{
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, ASK_VERSION);
    struct ruleset set = ruleset_of(version);
    int ruleset, error;

    if (version < 1)
        return version < 0 ? errno : ENOSYS;
    ruleset = (int)syscall(SYS_landlock_create_ruleset, &set, sizeof set, 0);
    if (ruleset < 0)
        return errno;
    error = allow_reading(ruleset, &set, READ_FILE | (options->executes ? EXECUTE : 0));
    if (!error)
        allow_devices(ruleset, &set, options->gpus);
    for (size_t i = 0; i < options->folder_count && !error; i++)
        (void)allow(ruleset, &set, options->folders[i],
                    READ_FILE | READ_DIR | WRITE_FILE | TRUNCATE | REMOVE_FILE | REMOVE_DIR | MAKE_DIR | MAKE_REG);
    if (!error && syscall(SYS_landlock_restrict_self, ruleset, 0) != 0)
        error = errno;
    close(ruleset);
    return error;
}
