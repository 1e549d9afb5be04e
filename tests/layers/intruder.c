/* SPDX-License-Identifier: MIT */
/*
 * intruder: does in vkCreateDevice what somebody would do who has taken the process over, and says on stderr what came
 * of each attempt: "intruder: NAME: done" or "intruder: NAME: " and the name of the error. Nothing of it does harm:
 * files are made and changed in the folder LAPILLI_INTRUDER only, which has a file "victim".
 *
 * LAPILLI_INTRUDER_TYPES=1: instead it types on the terminal. LAPILLI_INTRUDER_KEEPS=FILE: a file that may be written.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/layers/chain.h"

static const char *folder;

/* In the folder; each call has a place of its own of three. */
static const char *inside(const char *name)
{
    static char paths[3][4096];
    static unsigned next;
    char *path = paths[next++ % 3];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static int result(long returned)
{
    return returned < 0 ? errno : 0;
}

static int closed(int fd)
{
    int error = result(fd);
    if (fd >= 0)
        close(fd);
    return error;
}

/* ---- attempts: 0 or an errno ---- */

static int run_program(void)
{
    char *const arguments[] = {"true", NULL}, *const environment[] = {NULL};
    return result(execve("/bin/true", arguments, environment));
}

static int run_program_by_descriptor(void)
{
    char *const arguments[] = {"true", NULL}, *const environment[] = {NULL};
    int fd = open("/bin/true", O_RDONLY | O_CLOEXEC);
    return fd < 0 ? errno : result(syscall(SYS_execveat, fd, "", arguments, environment, AT_EMPTY_PATH));
}

static int make_socket(void)
{
    return closed(socket(AF_UNIX, SOCK_STREAM, 0));
}

static int make_internet_socket(void)
{
    return closed(socket(AF_INET, SOCK_STREAM, 0));
}

/* It could be connected to whoever listens for messages. */
static int make_message_sockets(void)
{
    int fds[2], error = result(socketpair(AF_UNIX, SOCK_DGRAM, 0, fds));
    if (!error)
        (void)(close(fds[0]), close(fds[1]));
    return error;
}

#ifdef SYS_socketcall
/* What 32-bit programs may call instead: each of those that make or connect one, in a way that can't succeed. */
static int call_for_sockets(void)
{
    static const int calls[] = {1, 2, 3, 4, 5, 8, 18}; /* socket, bind, connect, listen, accept, socketpair, accept4 */
    const unsigned long arguments[6] = {~0ul, ~0ul, ~0ul, ~0ul, ~0ul, ~0ul};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (syscall(SYS_socketcall, calls[i], arguments) < 0 && errno != EPERM)
            return errno;
    return EPERM;
}
#endif

static int create_file(void)
{
    return closed(open(inside("created"), O_WRONLY | O_CREAT, 0600));
}

static int write_file(void)
{
    return closed(open(inside("victim"), O_WRONLY));
}

static int cut_file(void)
{
    return result(truncate(inside("victim"), 0));
}

static int cut_file_while_reading(void)
{
    return closed(open(inside("victim"), O_RDONLY | O_TRUNC));
}

static int change_mode(void)
{
    return result(chmod(inside("victim"), 0777));
}

static int set_attribute(void)
{
    return result(syscall(SYS_setxattr, inside("victim"), "user.intruder", "1", 1, 0));
}

static int make_folder(void)
{
    return result(mkdir(inside("made"), 0700));
}

static int make_link(void)
{
    return result(symlink("victim", inside("link")));
}

static int rename_file(void)
{
    return result(rename(inside("victim"), inside("renamed")));
}

static int remove_file(void)
{
    return result(unlink(inside("renamed")) == 0 ? 0 : unlink(inside("victim")));
}

static int trace_me(void)
{
    return result(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
}

static int read_process(void)
{
    char from = 1, to;
    struct iovec local = {&to, 1}, remote = {&from, 1};
    return result(process_vm_readv(getpid(), &local, 1, &remote, 1, 0));
}

/* A file like others, but for what is in it. */
static int read_environment_of_process(void)
{
    char path[64], byte;
    int fd, error;

    snprintf(path, sizeof path, "/proc/%d/environ", (int)getppid());
    fd = open(path, O_RDONLY | O_CLOEXEC);
    error = fd < 0 ? errno : result(read(fd, &byte, 1));
    if (fd >= 0)
        close(fd);
    return error;
}

static int signal_process(void)
{
    return result(kill(getppid(), 0));
}

/* It would be sent SIGIO. */
static int name_process(void)
{
    int fds[2], error;
    if (pipe(fds) != 0)
        return errno;
    error = result(fcntl(fds[0], F_SETOWN, getppid()));
    (void)(close(fds[0]), close(fds[1]));
    return error;
}

static int open_process(void)
{
    return closed((int)syscall(SYS_pidfd_open, getpid(), 0));
}

/* As nice as it is; but it could be less. */
static int set_priority(void)
{
    errno = 0;
    int value = getpriority(PRIO_PROCESS, (id_t)getppid());
    return errno ? errno : result(setpriority(PRIO_PROCESS, (id_t)getppid(), value));
}

/* That of all of somebody's processes; there is no such kind of who, so without a sandbox it fails in another way. */
static int set_priority_of_many(void)
{
    return result(setpriority((__priority_which_t)3, 0, 0));
}

static int set_io_priority(void)
{
    long value = syscall(SYS_ioprio_get, 1, getppid());
    return value < 0 ? errno : result(syscall(SYS_ioprio_set, 1, getppid(), value));
}

static int set_attributes_of_process(void)
{
    char attributes[56] = {56};
    return result(syscall(SYS_sched_setattr, getppid(), attributes, 0));
}

static int set_times(void)
{
    return result(utimensat(AT_FDCWD, inside("victim"), NULL, 0));
}

static int set_old_times(void)
{
    return result(utimes(inside("victim"), NULL));
}

/* Nothing of it is as it should be, but who refuses what kinds of requests does not look. */
static int ask_file_system(unsigned long request)
{
    int fd = open(inside("victim"), O_RDONLY | O_CLOEXEC), error = fd < 0 ? errno : result(ioctl(fd, request, NULL));
    if (fd >= 0)
        close(fd);
    return error;
}

static int set_flags(void)
{
    return ask_file_system(_IOW('f', 2, long));
}

static int set_project(void)
{
    return ask_file_system(_IOW('X', 32, char[28]));
}

static int clone_file(void)
{
    return ask_file_system(_IOW(0x94, 9, int));
}

static int list_shared_memory(void)
{
    char info[256];
    return result(shmctl(0, 14 /* SHM_INFO */, (struct shmid_ds *)(void *)info));
}

static int remove_shared_memory(void)
{
    return result(shmctl(INT_MAX, IPC_RMID, NULL));
}

#ifdef __i386__
/* Not the way that the C library goes there. */
static int attach_by_number(void)
{
    return result((int)syscall(397 /* shmat */, INT_MAX, NULL, 0));
}

static int remove_by_number(void)
{
    return result((int)syscall(396 /* shmctl */, INT_MAX, IPC_RMID, NULL));
}

static int wait_by_number(void)
{
    return result((int)syscall(420 /* semtimedop_time64 */, INT_MAX, NULL, 0, NULL));
}
#endif

static int leave_namespace(void)
{
    return result(unshare(CLONE_NEWUTS));
}

static int ask_for_keys(void)
{
    return result(syscall(SYS_keyctl, 0 /* KEYCTL_GET_KEYRING_ID */, -3, 1));
}

static int make_ring(void)
{
    char parameters[120] = {0};
    return closed((int)syscall(425 /* io_uring_setup */, 1, parameters));
}

static int make_queue(void)
{
    int queue = msgget(IPC_PRIVATE, 0600), error = result(queue);
    if (!error)
        msgctl(queue, IPC_RMID, NULL);
    return error;
}

static int mount_folder(void)
{
    return result(syscall(SYS_mount, folder, inside("no such folder"), NULL, 4096 /* MS_BIND */, NULL));
}

static int load_program(void)
{
    char attributes[64] = {0};
    return closed(
        (int)syscall(SYS_bpf, 0 /* BPF_MAP_CREATE: nothing that is said about it is right */, attributes, 64));
}

/* Of no GPU; it could be asked for things. */
static int open_device(void)
{
    return closed(open("/dev/ptmx", O_RDONLY | O_NOCTTY | O_CLOEXEC));
}

/* What drivers do, and what must go on. */
static int read_file(void)
{
    return closed(open(inside("victim"), O_RDONLY));
}

static int make_memory(void)
{
    return closed(memfd_create("intruder", MFD_CLOEXEC));
}

static int write_kept_file(void)
{
    return closed(open(getenv("LAPILLI_INTRUDER_KEEPS"), O_WRONLY | O_CREAT, 0600));
}

static int be_nice(void)
{
    errno = 0;
    int value = getpriority(PRIO_PROCESS, 0);
    return errno ? errno : result(setpriority(PRIO_PROCESS, 0, value));
}

static int choose_processors(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) != 0 ? errno
                                                       : pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

static int map_code(void)
{
    void *pages = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return pages == MAP_FAILED ? errno : result(munmap(pages, 4096));
}

static const struct {
    const char *name;
    int (*try)(void);
} attempts[] = {{"execve", run_program},
                {"execveat", run_program_by_descriptor},
                {"socket", make_socket},
                {"internet-socket", make_internet_socket},
                {"message-sockets", make_message_sockets},
#ifdef SYS_socketcall
                {"socketcall", call_for_sockets},
#endif
                {"create", create_file},
                {"write", write_file},
                {"chmod", change_mode},
                {"setxattr", set_attribute},
                {"truncate", cut_file},
                {"open-truncate", cut_file_while_reading},
                {"mkdir", make_folder},
                {"symlink", make_link},
                {"ptrace", trace_me},
                {"process_vm_readv", read_process},
                {"environ", read_environment_of_process},
                {"kill", signal_process},
                {"fcntl-owner", name_process},
                {"pidfd_open", open_process},
                {"setpriority", set_priority},
                {"setpriority-of-many", set_priority_of_many},
                {"ioprio_set", set_io_priority},
                {"sched_setattr", set_attributes_of_process},
                {"utimensat", set_times},
                {"utimes", set_old_times},
                {"file-flags", set_flags},
                {"file-project", set_project},
                {"file-clone", clone_file},
                {"shmctl-info", list_shared_memory},
                {"shmctl-remove", remove_shared_memory},
#ifdef __i386__
                {"shmat-number", attach_by_number},
                {"shmctl-number", remove_by_number},
                {"semtimedop-number", wait_by_number},
#endif
                {"unshare", leave_namespace},
                {"keyctl", ask_for_keys},
                {"io_uring", make_ring},
                {"msgget", make_queue},
                {"mount", mount_folder},
                {"bpf", load_program},
                {"device", open_device},
                {"rename", rename_file},
                {"unlink", remove_file},
                {"may-read", read_file},
                {"may-memfd", make_memory},
                {"may-be-nice", be_nice},
                {"may-choose-processors", choose_processors},
                {"may-map-code", map_code},
                {"may-write", write_kept_file}};

/* In a process of its own, so that what succeeds changes nothing here; where there can't be one, here. */
static int attempt(int (*try)(void), bool *out_forked)
{
    int status = 0;
    pid_t child = fork();

    *out_forked = child >= 0;
    if (child == 0)
        _exit(try());
    if (child < 0)
        return try();
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : ECHILD;
}

static void intrude(void)
{
    bool forked = false;

    for (size_t i = 0; i < sizeof attempts / sizeof *attempts; i++) {
        int error = attempt(attempts[i].try, &forked);
        fprintf(stderr, "intruder: %s: %s\n", attempts[i].name, error ? strerrorname_np(error) : "done");
    }
    fprintf(stderr, "intruder: fork: %s\n", forked ? "done" : "EPERM");
}

static VkResult create_device(struct chain_device *chain, PFN_vkCreateDevice create, const VkDeviceCreateInfo *info,
                              const VkAllocationCallbacks *allocator, VkDevice *out)
{
    folder = getenv("LAPILLI_INTRUDER");
    if (getenv("LAPILLI_INTRUDER_TYPES"))
        fprintf(stderr, "intruder: type: %s\n",
                ioctl(STDIN_FILENO, TIOCSTI, "\n") == 0 ? "done" : strerrorname_np(errno));
    else if (folder)
        intrude();
    return create(chain->gpu, info, allocator, out);
}

static const struct chain_function *functions(size_t i)
{
    static const struct chain_function none[] = {CHAIN_END};
    return i == 0 ? none : NULL;
}

const struct chain_layer chain_layer = {
    .device_bytes = sizeof(struct chain_device), .create_device = create_device, .functions = functions};
