/* SPDX-License-Identifier: MIT */
#include "layer/payload.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/own_file.h"
#include "layer/layer.h"
#include "layer/resource.h"

#define KEPT_FILES 8u
#define KCMP_FILES 0 /* KCMP_FILE of linux/kcmp.h, which older systems lack */

struct layer_payload {
    struct layer_payload *next, **previous; /* in layer.payloads; under devices_mutex, as all of it */
    struct layer_payload_user *users;
    uint64_t bytes;
    bool named; /* device and inode are those of its file */
    dev_t device;
    ino_t inode;
    struct lap_own_file kept[KEPT_FILES]; /* exports that have no file of their own: the newest ones */
    uint32_t kept_count;
    bool exported, several; /* it was; it had several names at a time */
};

struct layer_payload_user {
    struct layer_payload *payload;
    struct layer_payload_user *next, **previous;
    struct layer_device *device;
    uint64_t space;
    struct lap_mem *mem; /* while it is tracked */
    void *pointer;       /* while it is mapped: its first byte */
    pid_t process;       /* a child of fork() has none of these */
};

/* ---- what is said, once, of memory that a replay does not share ---- */

enum note { OF_TWO_DEVICES, FROM_OUTSIDE, GIVEN_OUTSIDE };

static const struct {
    const char *key, *text; /* in the trace's info */
} notes[] = {
    [OF_TWO_DEVICES] = {"memory_of_two_devices", "what one device writes into memory that two of them have is seen by "
                                                 "the other in a replay only where the program has it mapped"},
    [FROM_OUTSIDE] = {"memory_from_outside",
                      "memory of another process or API was imported: what others write there is "
                      "recorded only where the program has it mapped"},
    [GIVEN_OUTSIDE] = {"memory_given_outside", "memory was exported to another process or API: what others wrote there "
                                               "is recorded only where the program had it mapped"},
};

static void say_once(enum note note)
{
    char json[320];
    if (layer.payload_notes >> note & 1)
        return;
    layer.payload_notes |= 1u << note;
    lap_log(&layer.log, LAP_LOG_WARNING, "%s", notes[note].text);
    snprintf(json, sizeof json, "{\"%s\":\"%s\"}", notes[note].key, notes[note].text);
    layer_recording_info(json);
}

/* ---- which payload a descriptor is ---- */

/* Regular files (memfd among them) and dma-bufs have an inode for each payload. Device nodes and other nameless files
 * share one. */
static bool find_name(int fd, dev_t *device, ino_t *inode)
{
    char path[32], target[64];
    struct stat status;
    ssize_t length;

    if (fstat(fd, &status) != 0)
        return false;
    *device = status.st_dev;
    *inode = status.st_ino;
    if (S_ISREG(status.st_mode))
        return true;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    length = readlink(path, target, sizeof target - 1);
    target[length > 0 ? length : 0] = '\0';
    return strncmp(target, "/dmabuf:", 8) == 0;
}

static bool is_same_file(int a, int b)
{
#ifdef SYS_kcmp
    return syscall(SYS_kcmp, getpid(), getpid(), KCMP_FILES, a, b) == 0;
#else
    return false;
#endif
}

static bool is_payload(struct layer_payload *payload, int fd, bool named, dev_t device, ino_t inode)
{
    if (named)
        return payload->named && payload->device == device && payload->inode == inode;
    for (uint32_t i = 0; i < payload->kept_count; i++)
        if (is_same_file(lap_own_file_fd(&payload->kept[i]), fd))
            return true;
    return false;
}

static void drop_kept(struct layer_payload *payload, uint32_t first)
{
    lap_own_file_release(&payload->kept[first]);
    payload->kept_count--;
    for (uint32_t i = first; i < payload->kept_count; i++)
        lap_own_file_move(&payload->kept[i + 1], &payload->kept[i]);
}

/* The descriptor is the program's, which may close it; the open file is what is compared. */
static void keep_file(struct layer_payload *payload, int fd)
{
    int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (own < 0)
        return;
    if (payload->kept_count == KEPT_FILES)
        drop_kept(payload, 0);
    lap_own_file_init(&payload->kept[payload->kept_count++], own, NULL);
}

static void give_name(struct layer_payload *payload, int fd)
{
    dev_t device;
    ino_t inode;
    if (find_name(fd, &device, &inode)) {
        payload->named = true;
        payload->device = device;
        payload->inode = inode;
    } else {
        keep_file(payload, fd);
    }
}

/* ---- payloads and their users; devices_mutex is held ---- */

static struct layer_payload *find_payload(int fd, uint64_t bytes)
{
    dev_t device = 0;
    ino_t inode = 0;
    bool named = find_name(fd, &device, &inode);
    struct layer_payload *payload = layer.payloads;
    while (payload && (payload->bytes != bytes || !is_payload(payload, fd, named, device, inode)))
        payload = payload->next;
    return payload;
}

static struct layer_payload *create_payload(uint64_t bytes)
{
    struct layer_payload *payload = calloc(1, sizeof *payload);
    if (!payload)
        return NULL;
    payload->bytes = bytes;
    payload->previous = &layer.payloads;
    payload->next = layer.payloads;
    if (payload->next)
        payload->next->previous = &payload->next;
    layer.payloads = payload;
    return payload;
}

static void end_payload(struct layer_payload *payload)
{
    *payload->previous = payload->next;
    if (payload->next)
        payload->next->previous = payload->previous;
    while (payload->kept_count)
        drop_kept(payload, 0);
    free(payload);
}

static void add_user(struct layer_payload *payload, struct layer_payload_user *user)
{
    for (const struct layer_payload_user *other = payload->users; other; other = other->next) {
        payload->several = true;
        if (other->device == user->device)
            user->space = other->space;
        else
            say_once(OF_TWO_DEVICES);
    }
    if (!user->space)
        user->space = ++layer.last_space;
    user->payload = payload;
    user->previous = &payload->users;
    user->next = payload->users;
    if (user->next)
        user->next->previous = &user->next;
    payload->users = user;
}

bool layer_payload_begin(struct layer_device *dev, const VkMemoryAllocateInfo *info, struct layer_payload_user **out)
{
    const VkExportMemoryAllocateInfo *export =
        layer_chain_find(info->pNext, VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO);
    const VkImportMemoryFdInfoKHR *import = layer_chain_find(info->pNext, VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR);
    struct layer_payload *payload = NULL;
    struct layer_payload_user *user;

    *out = NULL;
    if (import && !import->handleType)
        import = NULL;
    if (!layer_is_recording() || (!import && (!export || !export->handleTypes)))
        return true;
    user = calloc(1, sizeof *user);
    if (!user)
        return false;
    user->device = dev;
    user->process = getpid();
    pthread_mutex_lock(&layer.devices_mutex);
    if (import)
        payload = find_payload(import->fd, info->allocationSize);
    if (!payload) {
        payload = create_payload(info->allocationSize);
        if (payload && import) {
            give_name(payload, import->fd);
            say_once(FROM_OUTSIDE);
        }
    }
    if (payload)
        add_user(payload, user);
    pthread_mutex_unlock(&layer.devices_mutex);
    if (!payload) {
        free(user);
        return false;
    }
    *out = user;
    return true;
}

void layer_payload_end(struct layer_payload_user *user)
{
    struct layer_payload *payload;
    if (!user)
        return;
    pthread_mutex_lock(&layer.devices_mutex);
    if (user->process == getpid()) {
        payload = user->payload;
        *user->previous = user->next;
        if (user->next)
            user->next->previous = user->previous;
        if (!payload->users) {
            if (payload->exported && !payload->several)
                say_once(GIVEN_OUTSIDE);
            end_payload(payload);
        }
    }
    pthread_mutex_unlock(&layer.devices_mutex);
    free(user);
}

void layer_payload_exported(struct layer_payload_user *user, int fd)
{
    if (!user || user->process != getpid())
        return;
    pthread_mutex_lock(&layer.devices_mutex);
    give_name(user->payload, fd);
    user->payload->exported = true;
    pthread_mutex_unlock(&layer.devices_mutex);
}

uint64_t layer_payload_space(const struct layer_payload_user *user)
{
    return user->space;
}

/* ---- where it can be read ---- */

static void *any_pointer(const struct layer_payload *payload)
{
    for (const struct layer_payload_user *user = payload->users; user; user = user->next)
        if (user->pointer)
            return user->pointer;
    return NULL;
}

static void point_all(const struct layer_payload *payload)
{
    void *pointer = any_pointer(payload);
    for (const struct layer_payload_user *user = payload->users; user; user = user->next)
        if (user->mem)
            lap_mem_point(user->mem, pointer);
}

enum lap_status layer_payload_track(struct layer_payload_user *user, uint32_t flags, struct lap_mem **out)
{
    enum lap_status status;
    pthread_mutex_lock(&layer.devices_mutex);
    status = lap_mem_join(user->device->memtrack, user->space, user->payload->bytes, flags, out);
    user->mem = *out;
    if (user->mem)
        lap_mem_point(user->mem, any_pointer(user->payload));
    pthread_mutex_unlock(&layer.devices_mutex);
    return status;
}

static void set_pointer(struct layer_payload_user *user, void *pointer)
{
    user->pointer = pointer;
    point_all(user->payload);
}

void layer_payload_untrack(struct layer_payload_user *user)
{
    if (!user || user->process != getpid())
        return;
    pthread_mutex_lock(&layer.devices_mutex);
    if (user->pointer)
        set_pointer(user, NULL);
    user->mem = NULL;
    pthread_mutex_unlock(&layer.devices_mutex);
}

void layer_payload_map(struct layer_payload_user *user, void *pointer)
{
    if (user->process != getpid())
        return;
    pthread_mutex_lock(&layer.devices_mutex);
    set_pointer(user, pointer);
    pthread_mutex_unlock(&layer.devices_mutex);
}

void layer_payload_unmap(struct layer_payload_user *user)
{
    layer_payload_map(user, NULL);
}

void layer_payload_flush(struct layer_payload_user *user, VkDeviceSize offset, VkDeviceSize bytes)
{
    if (user->process != getpid())
        return;
    pthread_mutex_lock(&layer.devices_mutex);
    for (const struct layer_payload_user *each = user->payload->users; each; each = each->next)
        if (each->mem)
            lap_mem_flush(each->mem, offset, bytes);
    pthread_mutex_unlock(&layer.devices_mutex);
}
