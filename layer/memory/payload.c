/* SPDX-License-Identifier: MIT */
#include "layer/memory/payload.h"
#include "vulkan/chain.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file/own_file.h"
#include "layer/core/descriptor.h"
#include "layer/core/hardware_functions.h"
#include "layer/core/layer.h"
#include "layer/core/unseen.h"
#include "layer/image/hardware_buffer.h"

#define MOST_FILES 8u

struct layer_payload {
    struct layer_payload *next, **previous; /* in layer.payloads; all members under devices_mutex */
    struct layer_payload_user *users;
    uint64_t bytes;
    bool named; /* device and inode are those of its file */
    dev_t device;
    ino_t inode;
    struct lap_own_file files[MOST_FILES]; /* exports that have no file of their own: the newest ones */
    uint32_t file_count;
    bool exported, several; /* it was exported; it had several handles at a time */
    bool outside;           /* others made it */
    bool of_devices;        /* of this process several have had it */
    bool hides;             /* an image was bound there whose layout only a driver knows */
    void *shown;            /* where it is read: its dma-buf, mapped, or pages of its buffer; NULL: it can't be */
    struct layer_hardware_buffer *buffer; /* NULL: its handles are descriptors */
    struct lap_own_file shown_file;
};

struct layer_payload_user {
    struct layer_payload *payload;
    struct layer_payload_user *next, **previous;
    struct layer_device *device;
    uint64_t space;
    struct lap_mem *mem; /* while it is tracked */
    bool readable;       /* if there is a pointer: it is tracked as memory that the host sees */
    void *pointer;       /* while it is mapped: its first byte */
    bool shows;          /* it can be exported as a dma-buf */
    pid_t process;       /* a child of fork() has none of these */
    bool is_listed;
    struct layer_payload_user *next_shown; /* of its device, if the payload is shown; under submit.mutex */
};

/* ---- which payload a descriptor is ---- */

static bool is_payload(struct layer_payload *payload, int fd, bool named, dev_t device, ino_t inode)
{
    if (named)
        return payload->named && payload->device == device && payload->inode == inode;
    for (uint32_t i = 0; i < payload->file_count; i++)
        if (layer_descriptor_is_same(lap_own_file_fd(&payload->files[i]), fd))
            return true;
    return false;
}

static void drop_file(struct layer_payload *payload, uint32_t first)
{
    lap_own_file_release(&payload->files[first]);
    payload->file_count--;
    for (uint32_t i = first; i < payload->file_count; i++)
        lap_own_file_move(&payload->files[i + 1], &payload->files[i]);
}

/* The program may close its descriptor, so a duplicate is kept; open files are compared. */
static void keep_file(struct layer_payload *payload, int fd)
{
    int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (own < 0)
        return;
    if (payload->file_count == MOST_FILES)
        drop_file(payload, 0);
    lap_own_file_init(&payload->files[payload->file_count++], own, NULL);
}

static void give_name(struct layer_payload *payload, int fd)
{
    dev_t device;
    ino_t inode;
    if (layer_descriptor_name(fd, &device, &inode)) {
        payload->named = true;
        payload->device = device;
        payload->inode = inode;
    } else {
        keep_file(payload, fd);
    }
}

/* ---- dma-bufs that can be read ---- */

/* A file that begins with the payload's first byte: only of dma-bufs is that known. */
static void show_file(struct layer_payload *payload, VkExternalMemoryHandleTypeFlagBits type, int fd)
{
    off_t before, end;
    void *shown;
    int own;

    if (type != VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT || payload->shown || !payload->bytes)
        return;
    before = lseek(fd, 0, SEEK_CUR); /* fails for a dma-buf, which knows its end and its beginning only */
    end = lseek(fd, 0, SEEK_END);
    (void)lseek(fd, before < 0 ? 0 : before, SEEK_SET);
    if (end < 0 || (uint64_t)end < payload->bytes)
        return;
    shown = mmap(NULL, (size_t)payload->bytes, PROT_READ, MAP_SHARED, fd, 0);
    if (shown == MAP_FAILED)
        return;
    own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (own < 0) {
        munmap(shown, (size_t)payload->bytes);
        return;
    }
    lap_own_file_init(&payload->shown_file, own, NULL);
    payload->shown = shown;
}

static void unshow_file(struct layer_payload *payload)
{
    if (!payload->shown || payload->buffer)
        return;
    munmap(payload->shown, (size_t)payload->bytes);
    lap_own_file_release(&payload->shown_file);
    payload->shown = NULL;
}

/* To and from the list of its device. */
static void list_shown(struct layer_payload_user *user)
{
    struct layer_device *dev = user->device;
    if (user->is_listed || !user->payload->shown)
        return;
    pthread_mutex_lock(&dev->submit.mutex);
    user->is_listed = true;
    user->next_shown = dev->submit.shown_payloads;
    dev->submit.shown_payloads = user;
    pthread_mutex_unlock(&dev->submit.mutex);
}

static void unlist_shown(struct layer_payload_user *user)
{
    struct layer_payload_user **at = &user->device->submit.shown_payloads;
    if (!user->is_listed)
        return;
    pthread_mutex_lock(&user->device->submit.mutex);
    while (*at != user)
        at = &(*at)->next_shown;
    *at = user->next_shown;
    user->is_listed = false;
    pthread_mutex_unlock(&user->device->submit.mutex);
}

/* A substitute for a dma-buf, such as a memfd, does not know the ioctl. */
static void sync_file(struct layer_payload_user *user, uint64_t flags)
{
    struct dma_buf_sync sync = {.flags = flags | DMA_BUF_SYNC_READ};
    int fd = user->payload->buffer ? -1 : lap_own_file_fd(&user->payload->shown_file);
    int before = errno;
    if (user->payload->buffer && flags == DMA_BUF_SYNC_START && !layer_hardware_buffer_look(user->payload->buffer))
        layer_note_unseen(LAP_UNSEEN_FROM_OUTSIDE);
    while (fd >= 0 && ioctl(fd, DMA_BUF_IOCTL_SYNC, &sync) < 0 && (errno == EINTR || errno == EAGAIN))
        ;
    errno = before;
}

void layer_payload_look(struct layer_device *dev)
{
    for (struct layer_payload_user *user = dev->submit.shown_payloads; user; user = user->next_shown)
        sync_file(user, DMA_BUF_SYNC_START);
}

void layer_payload_looked(struct layer_device *dev)
{
    for (struct layer_payload_user *user = dev->submit.shown_payloads; user; user = user->next_shown)
        sync_file(user, DMA_BUF_SYNC_END);
}

bool layer_payload_is_read(const struct layer_payload_user *user)
{
    return user && (user->payload->shown || user->shows);
}

/* ---- payloads and their users; devices_mutex is held ---- */

static struct layer_payload *find_by_file(int fd, uint64_t bytes)
{
    dev_t device = 0;
    ino_t inode = 0;
    bool named = layer_descriptor_name(fd, &device, &inode);
    struct layer_payload *payload = layer.payloads;
    while (payload && (payload->bytes != bytes || !is_payload(payload, fd, named, device, inode)))
        payload = payload->next;
    return payload;
}

static struct layer_payload *find_by_buffer(const struct AHardwareBuffer *buffer)
{
    struct layer_payload *payload = layer.payloads;
    while (payload && (!payload->buffer || !layer_hardware_buffer_is(payload->buffer, buffer)))
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
    while (payload->file_count)
        drop_file(payload, 0);
    unshow_file(payload);
    layer_hardware_buffer_drop(&payload->buffer);
    free(payload);
}

static void say_hidden(const struct layer_payload *payload)
{
    if (payload->hides && (payload->outside || payload->of_devices))
        layer_note_unseen(LAP_UNSEEN_TILED_OUTSIDE);
}

static void add_user(struct layer_payload *payload, struct layer_payload_user *user)
{
    for (const struct layer_payload_user *other = payload->users; other; other = other->next) {
        payload->several = true;
        if (other->device == user->device)
            user->space = other->space;
        else
            payload->of_devices = true;
    }
    if (payload->of_devices && !payload->shown)
        layer_note_unseen(LAP_UNSEEN_TWO_DEVICES);
    say_hidden(payload);
    if (!user->space)
        user->space = ++layer.last_space;
    user->payload = payload;
    user->previous = &payload->users;
    user->next = payload->users;
    if (user->next)
        user->next->previous = &user->next;
    payload->users = user;
}

/* What of a vkAllocateMemory makes it memory with handles. */
struct handles {
    VkExternalMemoryHandleTypeFlags exported;
    const VkImportMemoryFdInfoKHR *file; /* or */
    struct AHardwareBuffer *buffer;
};

static struct handles handles_of(const VkMemoryAllocateInfo *info)
{
    const VkExportMemoryAllocateInfo *export =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO);
    const VkImportAndroidHardwareBufferInfoANDROID *buffer =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_IMPORT_ANDROID_HARDWARE_BUFFER_INFO_ANDROID);
    struct handles handles = {.exported = export ? export->handleTypes : 0};

    handles.file = lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR);
    if (handles.file && !handles.file->handleType)
        handles.file = NULL;
    if (buffer && layer_hardware_exists())
        handles.buffer = buffer->buffer;
    return handles;
}

/* The bytes in which objects lie: those that the driver says, and all rows that are read. */
static bool take_buffer(struct layer_payload *payload, struct AHardwareBuffer *buffer, VkDeviceSize bytes)
{
    payload->buffer = layer_hardware_buffer_hold(buffer);
    if (!payload->buffer)
        return false;
    payload->bytes = layer_hardware_buffer_bytes(payload->buffer);
    if (payload->bytes < bytes)
        payload->bytes = bytes;
    payload->shown = layer_hardware_buffer_pages(payload->buffer, payload->bytes);
    return true;
}

/* A payload of something that others have made. NULL: out of memory. */
static struct layer_payload *create_imported(const struct handles *handles, VkDeviceSize bytes)
{
    struct layer_payload *payload = create_payload(bytes);

    if (!payload)
        return NULL;
    if (handles->file) {
        give_name(payload, handles->file->fd);
        show_file(payload, handles->file->handleType, handles->file->fd);
    } else if (!take_buffer(payload, handles->buffer, bytes)) {
        end_payload(payload);
        return NULL;
    }
    payload->outside = true;
    if (!payload->shown)
        layer_note_unseen(LAP_UNSEEN_FROM_OUTSIDE);
    return payload;
}

static struct layer_payload *find_or_create(const struct handles *handles, VkDeviceSize bytes)
{
    struct layer_payload *found = NULL;

    if (!handles->file && !handles->buffer)
        return create_payload(bytes);
    found = handles->file ? find_by_file(handles->file->fd, bytes) : find_by_buffer(handles->buffer);
    return found ? found : create_imported(handles, bytes);
}

bool layer_payload_begin(struct layer_device *dev, const VkMemoryAllocateInfo *info, struct layer_payload_user **out)
{
    const struct handles handles = handles_of(info);
    const bool imported = handles.file || handles.buffer;
    struct layer_payload *payload;
    struct layer_payload_user *user;

    *out = NULL;
    if (!layer_is_recording() || (!imported && !handles.exported))
        return true;
    user = calloc(1, sizeof *user);
    if (!user)
        return false;
    user->device = dev;
    user->shows = !imported && handles.exported & VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT;
    user->process = getpid();
    pthread_mutex_lock(&layer.devices_mutex);
    payload = find_or_create(&handles, info->allocationSize);
    if (payload) {
        add_user(payload, user);
        list_shown(user);
    }
    pthread_mutex_unlock(&layer.devices_mutex);
    if (!payload) {
        free(user);
        return false;
    }
    *out = user;
    return true;
}

bool layer_payload_is_buffer(struct layer_payload_user *user, struct AHardwareBuffer *buffer, VkDeviceSize bytes)
{
    bool taken;

    if (!user)
        return true;
    pthread_mutex_lock(&layer.devices_mutex);
    taken = user->payload->buffer || take_buffer(user->payload, buffer, bytes);
    if (taken)
        list_shown(user);
    pthread_mutex_unlock(&layer.devices_mutex);
    return taken;
}

bool layer_payload_has_buffer(const struct layer_payload_user *user)
{
    return user && user->payload->buffer;
}

bool layer_payload_has_rows(const struct layer_payload_user *user, const VkImageCreateInfo *info, uint64_t pitch)
{
    return layer_hardware_buffer_has_rows(user->payload->buffer, info, pitch);
}

void layer_payload_end(struct layer_payload_user *user)
{
    struct layer_payload *payload;
    if (!user)
        return;
    pthread_mutex_lock(&layer.devices_mutex);
    if (user->process == getpid()) {
        payload = user->payload;
        unlist_shown(user);
        *user->previous = user->next;
        if (user->next)
            user->next->previous = user->previous;
        if (!payload->users) {
            if (payload->exported && !payload->several && (!payload->shown || payload->hides))
                layer_note_unseen(LAP_UNSEEN_GIVEN_OUTSIDE);
            end_payload(payload);
        }
    }
    pthread_mutex_unlock(&layer.devices_mutex);
    free(user);
}

static void point_all(const struct layer_payload *payload);

/* If a user tracks the payload as unreadable memory, this does not change. */
static void show_exported(struct layer_payload *payload, VkExternalMemoryHandleTypeFlagBits type, int fd)
{
    for (const struct layer_payload_user *user = payload->users; user; user = user->next)
        if (!user->readable)
            return;
    show_file(payload, type, fd);
    for (struct layer_payload_user *user = payload->users; user; user = user->next)
        list_shown(user);
    point_all(payload);
}

void layer_payload_exported(struct layer_payload_user *user, VkExternalMemoryHandleTypeFlagBits type, int fd)
{
    if (!user || user->process != getpid())
        return;
    pthread_mutex_lock(&layer.devices_mutex);
    if (fd >= 0) {
        give_name(user->payload, fd);
        show_exported(user->payload, type, fd);
    }
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
    if (payload->shown)
        return payload->shown;
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
    user->readable = flags & LAP_MEM_HOST_VISIBLE;
    if (user->mem && user->payload->buffer && user->payload->shown)
        lap_mem_fetch_with(user->mem, layer_hardware_buffer_fetch, user->payload->buffer);
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

void layer_payload_hides(struct layer_payload_user *user)
{
    if (!user || user->process != getpid())
        return;
    pthread_mutex_lock(&layer.devices_mutex);
    user->payload->hides = true;
    say_hidden(user->payload);
    pthread_mutex_unlock(&layer.devices_mutex);
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
