/* SPDX-License-Identifier: MIT */
/* Which memories are one payload, by their descriptors, and through which of them it is read. Only the layer's
 * payload.c. */
#include "layer/memory/payload.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "layer/core/layer.h"
#include "layer/entry/resource.h"
#include "memtrack/memtrack_internal.h"
#include "tests/unit/unit.h"

enum { BYTES = 8192 };

struct layer_state layer = {.devices_mutex = PTHREAD_MUTEX_INITIALIZER, .log = {.fd = -1}};
static struct layer_device devices[2];
static bool recording;
static char noted[512];

bool layer_is_recording(void)
{
    return recording;
}

void layer_recording_info_once(const char *json)
{
    CHECK(!json); /* of a part */
}
void layer_recording_info(const char *json)
{
    snprintf(noted, sizeof noted, "%s", json);
}

static void begin(void)
{
    struct lap_memtrack_options options = {.watch = LAP_WATCH_COMPARE};
    recording = true;
    atomic_store(&layer.unseen, 0);
    noted[0] = '\0';
    for (unsigned i = 0; i < 2; i++) {
        pthread_mutex_init(&devices[i].submit.mutex, NULL);
        CHECK_EQ_INT(lap_memtrack_create(&options, &devices[i].memtrack), LAP_OK);
    }
}

static void end(void)
{
    for (unsigned i = 0; i < 2; i++) {
        lap_memtrack_destroy(&devices[i].memtrack);
        pthread_mutex_destroy(&devices[i].submit.mutex);
    }
    CHECK(layer.payloads == NULL);
}

/* One memory: new and exportable with fd < 0, else imported. */
struct memory {
    struct layer_payload_user *user;
    struct lap_mem *mem;
};

static struct memory make_of(unsigned device, int fd, VkDeviceSize bytes, VkExternalMemoryHandleTypeFlagBits type)
{
    VkExportMemoryAllocateInfo export = {.sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO, .handleTypes = type};
    VkImportMemoryFdInfoKHR import = {
        .sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR, .handleType = type, .fd = fd};
    VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = bytes};
    struct memory made = {0};
    info.pNext = fd < 0 ? (const void *)&export : &import;
    CHECK(layer_payload_begin(&devices[device], &info, &made.user));
    CHECK(made.user != NULL);
    CHECK_EQ_INT(layer_payload_track(made.user, LAP_MEM_HOST_VISIBLE | LAP_MEM_HOST_COHERENT, &made.mem), LAP_OK);
    return made;
}

static struct memory make(unsigned device, int fd, VkDeviceSize bytes)
{
    return make_of(device, fd, bytes, VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT);
}

static void drop(struct memory *memory)
{
    layer_payload_untrack(memory->user);
    lap_mem_destroy(&memory->mem);
    layer_payload_end(memory->user);
}

static bool is_one(const struct memory *a, const struct memory *b)
{
    return layer_payload_space(a->user) == layer_payload_space(b->user);
}

static int file(void)
{
    int fd = memfd_create("payload", MFD_CLOEXEC);
    CHECK(fd >= 0);
    return fd;
}

UNIT_TEST(a_descriptor_with_a_file_of_its_own_is_known_by_it)
{
    struct memory first, again, second, other;
    int fds[2];
    begin();
    fds[0] = file();
    fds[1] = file();
    first = make(0, -1, BYTES);
    second = make(0, -1, BYTES);
    layer_payload_exported(first.user, VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT, fds[0]);
    layer_payload_exported(second.user, VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT, fds[1]);
    fds[0] = dup(fds[0]);
    again = make(0, fds[0], BYTES);
    CHECK(is_one(&first, &again) && !is_one(&first, &second));
    drop(&first);
    first = make(0, fds[0], BYTES); /* what is exported still is, whoever did */
    CHECK(is_one(&first, &again));
    other = make(0, fds[1], BYTES);
    CHECK(is_one(&other, &second));
    CHECK_EQ_U64(atomic_load(&layer.unseen), 0);
    drop(&other);
    drop(&first);
    drop(&again);
    drop(&second);
    CHECK_EQ_U64(atomic_load(&layer.unseen), 0); /* exported, and imported again */
    end();
}

/* Like the device nodes of some drivers: the ends of all pipes are nameless, so what is compared is the open file. */
UNIT_TEST(a_descriptor_without_one_is_known_by_the_open_file)
{
    struct memory first, again, foreign;
    int ends[2], others[2], copy;
    begin();
    CHECK(pipe(ends) == 0 && pipe(others) == 0);
    copy = dup(ends[0]);
    if (syscall(SYS_kcmp, getpid(), getpid(), 0, copy, ends[0]) != 0)
        SKIP("kcmp is not to be had here");
    first = make(0, -1, BYTES);
    layer_payload_exported(first.user, VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT, ends[0]);
    close(ends[0]); /* the program's; what is compared stays */
    again = make(0, copy, BYTES);
    CHECK(is_one(&first, &again));
    foreign = make(0, others[0], BYTES);
    CHECK(!is_one(&first, &foreign));
    CHECK(strstr(noted, "memory_from_outside") != NULL);
    drop(&again);
    again = make(0, others[1], BYTES);
    CHECK(!is_one(&foreign, &again));
    drop(&again);
    again = make(0, others[0], BYTES); /* twice from outside is one */
    CHECK(is_one(&foreign, &again));
    drop(&again);
    drop(&foreign);
    for (unsigned i = 0; i < 20; i++)
        layer_payload_exported(first.user, VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT, others[i % 2]);
    drop(&first);
    close(copy);
    close(ends[1]);
    CHECK(close(others[0]) == 0 && close(others[1]) == 0);
    end();
}

/* What else tests have a file for that the kernel maps: a memfd. */
UNIT_TEST(a_dma_buf_is_read_through_its_file)
{
    const VkExternalMemoryHandleTypeFlagBits type = VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT;
    struct memory first, second;
    int fd, small;
    begin();
    fd = file();
    small = file();
    CHECK(ftruncate(fd, BYTES) == 0 && ftruncate(small, BYTES - 1) == 0);
    first = make_of(0, fd, BYTES, type);
    CHECK(layer_payload_is_read(first.user) && lap_mem_mapped(first.mem));
    CHECK(devices[0].submit.shown_payloads == first.user);
    layer_payload_look(&devices[0]);
    layer_payload_looked(&devices[0]);
    second = make_of(1, fd, BYTES, type);
    CHECK(lap_mem_mapped(second.mem) && devices[1].submit.shown_payloads == second.user);
    CHECK_EQ_U64(atomic_load(&layer.unseen), 0); /* nothing goes unseen */
    drop(&first);
    CHECK(devices[0].submit.shown_payloads == NULL && lap_mem_mapped(second.mem));
    layer_payload_hides(second.user); /* but in an image that nobody can read */
    CHECK(strstr(noted, "images_from_outside") != NULL);
    drop(&second);
    first = make_of(0, small, BYTES, type); /* not all of it is there */
    CHECK(!layer_payload_is_read(first.user) && !lap_mem_mapped(first.mem));
    CHECK(strstr(noted, "memory_from_outside") != NULL);
    drop(&first);
    first = make_of(0, -1, BYTES, type);
    CHECK(layer_payload_is_read(first.user) && !lap_mem_mapped(first.mem));
    layer_payload_exported(first.user, type, fd);
    CHECK(lap_mem_mapped(first.mem) && devices[0].submit.shown_payloads == first.user);
    drop(&first);
    CHECK(devices[0].submit.shown_payloads == NULL);
    close(fd);
    close(small);
    end();
}

UNIT_TEST(two_devices_have_memories_of_their_own)
{
    struct memory first, second;
    int fd;
    begin();
    fd = file();
    first = make(0, -1, BYTES);
    layer_payload_exported(first.user, VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT, fd);
    second = make(1, fd, BYTES);
    CHECK(!is_one(&first, &second));
    CHECK(strstr(noted, "memory_of_two_devices") != NULL);
    drop(&second);
    drop(&first);
    second = make(0, fd, BYTES / 2); /* gone, and another size */
    CHECK(strstr(noted, "memory_from_outside") != NULL);
    drop(&second);
    close(fd);
    end();
}

UNIT_TEST(memory_exported_and_never_imported_is_reported)
{
    struct memory first;
    int fd;
    begin();
    fd = file();
    first = make(0, -1, BYTES);
    drop(&first);
    CHECK_EQ_U64(atomic_load(&layer.unseen), 0); /* it only could have been */
    first = make(0, -1, BYTES);
    layer_payload_exported(first.user, VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT, fd);
    drop(&first);
    CHECK(strstr(noted, "memory_given_outside") != NULL);
    close(fd);
    end();
}

UNIT_TEST(a_payload_is_read_where_any_of_its_memories_is_mapped)
{
    static unsigned char views[3][BYTES];
    struct memory first, second, other;
    int fd;
    begin();
    fd = file();
    first = make(0, -1, BYTES);
    layer_payload_exported(first.user, VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT, fd);
    second = make(0, fd, BYTES);
    layer_payload_map(second.user, views[1]);
    other = make(1, fd, BYTES);
    CHECK(first.mem->whole->pointer == views[1]);
    CHECK(other.mem->whole->pointer == views[1]);
    layer_payload_map(other.user, views[2]);
    layer_payload_unmap(second.user);
    CHECK(first.mem->whole->pointer == views[2]);
    layer_payload_map(first.user, views[0]);
    drop(&other); /* which ends its mapping */
    CHECK(second.mem->whole->pointer == views[0]);
    layer_payload_unmap(first.user);
    CHECK(!lap_mem_mapped(second.mem));
    drop(&first);
    drop(&second);
    close(fd);
    end();
}

UNIT_TEST(memory_without_a_descriptor_is_left_alone)
{
    VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = BYTES};
    VkExportMemoryAllocateInfo export = {.sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO};
    struct layer_payload_user *user = (struct layer_payload_user *)(void *)&info;
    begin();
    CHECK(layer_payload_begin(&devices[0], &info, &user) && !user);
    info.pNext = &export;
    CHECK(layer_payload_begin(&devices[0], &info, &user) && !user);
    export.handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
    recording = false;
    CHECK(layer_payload_begin(&devices[0], &info, &user) && !user);
    layer_payload_exported(NULL, VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT, 0);
    layer_payload_untrack(NULL);
    layer_payload_end(NULL);
    end();
}

UNIT_MAIN();
