/* SPDX-License-Identifier: MIT */
/* What the filter of system calls says to each, in a process of its own. A filter below it keeps all attempts from the
 * kernel, so what is found is the sandbox's answer alone, whoever runs this and wherever, and no attempt does harm. */
#include <asm/sockios.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/net.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/process/sandbox_internal.h"
#include "base/process/sanitizers.h"
#include "tests/unit/unit.h"

#define ATTEMPT    0x4c61706cul /* as the sixth argument: not for the kernel */
#define ALLOWED    EXFULL       /* what such an attempt fails with where the sandbox lets it pass */
#define MOST_CALLS 1024         /* more than any machine has */

enum { HOLDS, LEAKS, NOT_HERE };

/* As SECURITY.md has them. */
static const char *const refused[] = {
    /* programs and processes */
    "execve", "execveat", "fork", "vfork", "uselib", "tkill", "pidfd_open", "pidfd_getfd", "pidfd_send_signal",
    "process_vm_readv", "process_vm_writev", "process_madvise", "process_mrelease", "kcmp", "move_pages",
    "migrate_pages",
#if !LAP_ADDRESS_SANITIZER
    "ptrace",
#endif
    /* files */
    "truncate", "truncate64", "chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "fchown", "lchown", "fchownat",
    "chown32", "fchown32", "lchown32", "setxattr", "lsetxattr", "fsetxattr", "setxattrat", "removexattr",
    "lremovexattr", "fremovexattr", "removexattrat", "utime", "utimes", "futimesat", "utimensat", "utimensat_time64",
    "file_setattr", "fanotify_init",
    /* network and sockets */
    "socket", "connect", "bind", "listen", "accept", "accept4",
    /* queues and semaphores */
    "ipc", "msgget", "msgsnd", "msgrcv", "msgctl", "semget", "semop", "semtimedop", "semtimedop_time64", "semctl",
    "mq_open", "mq_unlink",
    /* ways into the kernel */
    "io_uring_setup", "io_uring_enter", "io_uring_register", "bpf", "userfaultfd", "perf_event_open", "keyctl",
    "add_key", "request_key", "mount", "umount", "umount2", "pivot_root", "chroot", "open_tree", "open_tree_attr",
    "move_mount", "fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr", "unshare", "setns", "open_by_handle_at",
    "name_to_handle_at", "modify_ldt", "lookup_dcookie", "nfsservctl", "_sysctl", "sysfs", "ustat", "vm86", "vm86old",
    /* the machine */
    "settimeofday", "stime", "clock_settime", "clock_settime64", "adjtimex", "clock_adjtime", "clock_adjtime64",
    "sethostname", "setdomainname", "swapon", "swapoff", "quotactl", "quotactl_fd", "acct", "syslog", "iopl", "ioperm",
    "vhangup"};

static const char *const fatal[] = {"init_module", "finit_module",    "delete_module",
                                    "kexec_load",  "kexec_file_load", "reboot"};

/* What a C library may not have heard of yet. */
static const struct {
    const char *name;
    int call;
} newer[] = {
    {"fchmodat2", 452}, {"setxattrat", 463}, {"removexattrat", 466}, {"open_tree_attr", 467}, {"file_setattr", 469}};

/* A call whose arguments decide; `come`: what it has to fail with. */
struct attempt {
    const char *what, *name;
    uint64_t arguments[4];
    int come;
};

#define THREAD (unsigned long)(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM)
#define SELF   UINT64_MAX /* replaced by the number of this process; no argument of 32 bits is this */

static const struct attempt attempts[] = {
    {"a thread", "clone", {THREAD}, ALLOWED},
#if !LAP_ADDRESS_SANITIZER
    {"a process", "clone", {SIGCHLD}, EPERM},
#endif
    {"a thread with mounts of its own", "clone", {THREAD | CLONE_NEWNS}, EPERM},
    {"with groups", "clone", {THREAD | CLONE_NEWCGROUP}, EPERM},
    {"with names", "clone", {THREAD | CLONE_NEWUTS}, EPERM},
    {"with queues", "clone", {THREAD | CLONE_NEWIPC}, EPERM},
    {"with users", "clone", {THREAD | CLONE_NEWUSER}, EPERM},
    {"with processes", "clone", {THREAD | CLONE_NEWPID}, EPERM},
    {"with networks", "clone", {THREAD | CLONE_NEWNET}, EPERM},
    {"what no filter can see", "clone3", {0}, ENOSYS},
    {"what no filter can see", "openat2", {0}, ENOSYS},
    {"oneself", "kill", {SELF, SIGABRT}, ALLOWED},
    {"another process", "kill", {1, SIGTERM}, EPERM},
    {"a group of processes", "kill", {0, SIGTERM}, EPERM},
    {"oneself", "tgkill", {SELF, 1, SIGABRT}, ALLOWED},
    {"another process", "tgkill", {1, 1, SIGTERM}, EPERM},
    {"another process", "rt_sigqueueinfo", {1, SIGTERM}, EPERM},
    {"another process", "rt_tgsigqueueinfo", {1, 1, SIGTERM}, EPERM},
    {"flags", "fcntl", {3, F_GETFL}, ALLOWED},
    {"seals", "fcntl", {3, F_ADD_SEALS}, ALLOWED},
    {"locks", "fcntl", {3, F_SETLK}, ALLOWED},
    {"who gets signals", "fcntl", {3, F_SETOWN}, EPERM},
#if __SIZEOF_LONG__ > 4
    {"who gets signals, with more bits", "fcntl", {3, F_SETOWN | 1ul << 63, 1}, EPERM},
#endif
    {"who gets signals", "fcntl", {3, F_SETOWN_EX}, EPERM},
    {"a lease", "fcntl", {3, F_SETLEASE}, EPERM},
    {"who gets signals", "fcntl64", {3, F_SETOWN}, EPERM},
    {"who gets signals", "fcntl64", {3, F_SETOWN_EX}, EPERM},
    {"a lease", "fcntl64", {3, F_SETLEASE}, EPERM},
    {"DRM", "ioctl", {3, 0xc0106400}, ALLOWED},
    {"NVIDIA", "ioctl", {3, 0xc020462a}, ALLOWED},
    {"NVIDIA's memory", "ioctl", {3, 0x30000001}, ALLOWED},
    {"AMD's compute", "ioctl", {3, 0x80084b01}, ALLOWED},
    {"buffers of DMA", "ioctl", {3, 0x40086200}, ALLOWED},
    {"what there is to read", "ioctl", {3, FIONREAD}, ALLOWED},
    {"the size of a terminal", "ioctl", {3, TIOCGWINSZ}, ALLOWED},
    {"who gets signals", "ioctl", {3, FIOSETOWN}, EPERM},
    {"who gets signals", "ioctl", {3, SIOCSPGRP}, EPERM},
    {"flags of interfaces", "ioctl", {3, SIOCSIFFLAGS}, EPERM},
    {"sizes of interfaces", "ioctl", {3, SIOCSIFMTU}, EPERM},
    {"routes", "ioctl", {3, SIOCADDRT}, EPERM},
    {"wireless interfaces", "ioctl", {3, 0x8b02}, EPERM},
    {"the discipline of a terminal", "ioctl", {3, TIOCSETD}, EPERM},
    {"flags of files", "ioctl", {3, _IOW('f', 2, long)}, EPERM},
    {"projects of files", "ioctl", {3, _IOW('X', 32, char[28])}, EPERM},
    {"clones of files", "ioctl", {3, _IOW(0x94, 9, int)}, EPERM},
    {"a pair for bytes", "socketpair", {AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC}, ALLOWED},
    {"a pair for messages", "socketpair", {AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK}, EPERM},
    {"a raw pair", "socketpair", {AF_UNIX, SOCK_RAW}, EPERM},
    {"a pair on a network", "socketpair", {AF_INET, SOCK_STREAM}, EPERM},
    {"one's own", "setpriority", {PRIO_PROCESS, 0, 1}, ALLOWED},
    {"another's", "setpriority", {PRIO_PROCESS, 1, 1}, EPERM},
    {"all of a user's", "setpriority", {PRIO_USER, 0, 1}, EPERM},
    {"another's", "ioprio_set", {1, 1, 0}, EPERM},
    {"all of a user's", "ioprio_set", {3, 0, 0}, EPERM},
    {"one's own", "sched_setattr", {0}, ALLOWED},
    {"another's", "sched_setattr", {1}, EPERM},
    {"for reading", "openat", {3, 0, O_RDONLY}, ALLOWED},
    {"for reading, to cut", "openat", {3, 0, O_RDONLY | O_TRUNC}, EPERM},
    {"for writing, which Landlock decides", "openat", {3, 0, O_WRONLY | O_TRUNC}, ALLOWED},
    {"for reading, to cut", "open", {0, O_RDONLY | O_TRUNC}, EPERM},
    {"to ask", "personality", {0xffffffff}, ALLOWED},
    {"to change", "personality", {0x0040000}, EPERM},
    {"to ask for another's", "prlimit64", {1, RLIMIT_CORE, 0}, ALLOWED},
    {"to set one's own", "prlimit64", {0, RLIMIT_CORE, 1}, ALLOWED},
    {"to set another's", "prlimit64", {1, RLIMIT_CORE, 1}, EPERM},
    {"memory", "memfd_create", {0}, ALLOWED},
    {"memory", "mmap", {0}, ALLOWED},
    {"waiting", "futex", {0}, ALLOWED},
    {"processors", "sched_setaffinity", {1}, ALLOWED},
    {"to the display", "sendmsg", {3}, ALLOWED},
    {"from the display", "recvmsg", {3}, ALLOWED},
    /* In 32 bits, with everything else behind a pointer, which no filter follows. */
    {"sockets", "socketcall", {SYS_SOCKET}, EPERM},
    {"connections", "socketcall", {SYS_CONNECT}, EPERM},
    {"names", "socketcall", {SYS_BIND}, EPERM},
    {"listening", "socketcall", {SYS_LISTEN}, EPERM},
    {"others' connections", "socketcall", {SYS_ACCEPT}, EPERM},
    {"others' connections", "socketcall", {SYS_ACCEPT4}, EPERM},
    {"a pair", "socketcall", {SYS_SOCKETPAIR}, EPERM},
    {"to the display", "socketcall", {SYS_SENDMSG}, ALLOWED},
    {"from the display", "socketcall", {SYS_RECVMSG}, ALLOWED}};

/* Of memory that is shared with an X display. */
static const struct attempt of_memory[] = {{"one's own", "shmget", {IPC_PRIVATE, 1, 0600}, ALLOWED},
                                           {"another's", "shmget", {1, 1, 0600}, EPERM},
                                           {"to attach", "shmat", {1}, ALLOWED},
                                           {"to remove", "shmctl", {1, IPC_RMID}, ALLOWED},
                                           {"to change", "shmctl", {1, IPC_SET}, EPERM},
                                           {"to look at", "shmctl", {1, IPC_STAT}, EPERM},
                                           {"to look at all", "shmctl", {1, IPC_INFO}, EPERM},
                                           {"to look at all", "shmctl", {1, 14 /* SHM_INFO */}, EPERM},
                                           {"to look for", "shmctl", {1, 13 /* SHM_STAT */}, EPERM},
                                           {"to look for", "shmctl", {1, 15 /* SHM_STAT_ANY */}, EPERM},
                                           {"to lock", "shmctl", {1, SHM_LOCK}, EPERM},
                                           {"to unlock", "shmctl", {1, SHM_UNLOCK}, EPERM}};
static const struct attempt of_no_memory[] = {{"one's own", "shmget", {IPC_PRIVATE, 1, 0600}, EPERM},
                                              {"to attach", "shmat", {1}, EPERM},
                                              {"to remove", "shmctl", {1, IPC_RMID}, EPERM}};

/* Of sockets that wait for others. */
static const struct attempt of_sockets[] = {{"of packets", "socket", {AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC}, ALLOWED},
                                            {"of bytes", "socket", {AF_UNIX, SOCK_STREAM}, EPERM},
                                            {"of messages", "socket", {AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK}, EPERM},
                                            {"raw", "socket", {AF_UNIX, SOCK_RAW}, EPERM},
                                            {"of a network", "socket", {AF_INET, SOCK_SEQPACKET}, EPERM},
                                            {"of the kernel", "socket", {AF_NETLINK, SOCK_SEQPACKET}, EPERM},
                                            {"its name", "bind", {3}, ALLOWED},
                                            {"to wait", "listen", {3}, ALLOWED},
                                            {"to be reached", "accept", {3}, EPERM},
                                            {"to be reached", "accept4", {3}, EPERM},
                                            {"to reach others", "connect", {3}, EPERM}};

/* Of those that listen already. */
static const struct attempt of_listeners[] = {
    {"to be reached", "accept", {3}, ALLOWED},  {"to be reached", "accept4", {3}, ALLOWED},
    {"to reach others", "connect", {3}, EPERM}, {"another one", "socket", {AF_UNIX, SOCK_SEQPACKET}, EPERM},
    {"its name", "bind", {3}, EPERM},           {"to wait", "listen", {3}, EPERM}};

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* The call that has this number on this machine; -1: none has. What 32-bit programs can also reach through socketcall
 * or ipc, libseccomp gives no number by its name. */
static int own_number_of(const char *name)
{
    for (int call = 0; call < MOST_CALLS; call++) {
        char *known = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, call);
        bool found = known && strcmp(known, name) == 0;
        free(known);
        if (found)
            return call;
    }
    return -1;
}

/* Below 0: not on this machine; __NR_SCMP_ERROR: on none. */
static int number_of(const char *name)
{
    int call = seccomp_syscall_resolve_name(name), own;

    for (size_t i = 0; i < COUNT(newer) && call == __NR_SCMP_ERROR; i++)
        if (strcmp(newer[i].name, name) == 0)
            return newer[i].call;
    own = call < 0 ? own_number_of(name) : call;
    return own < 0 ? call : own;
}

/* What this machine does not have can't be tried on it. */
static char left_out[1024];

static void leave_out(const char *name)
{
    static const char *last;
    size_t used = strlen(left_out);

    if (!used || strcmp(last, name) != 0)
        snprintf(left_out + used, sizeof left_out - used, " %s", name);
    last = name;
}

static void say_left_out(const char *what)
{
    if (left_out[0])
        dprintf(STDOUT_FILENO, "skip parts of %s: this machine has no%s\n", what, left_out);
    left_out[0] = '\0';
}

/* False: seccomp can't be had. */
static bool enter_with(bool shared_memory, bool waiting_sockets, bool accepts)
{
    struct sock_filter guard[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[5])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ATTEMPT, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ALLOWED),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {COUNT(guard), guard};
    const struct lap_sandbox_options options = {
        .shared_memory = shared_memory, .waiting_sockets = waiting_sockets, .accepts = accepts};

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0 &&
           lap_sandbox_restrict_calls(&options) == 0;
}

static bool enter(bool shared_memory)
{
    return enter_with(shared_memory, false, false);
}

static int attempt(int call, const uint64_t arguments[4])
{
    unsigned long given[4];
    int error;

    for (size_t i = 0; i < 4; i++)
        given[i] = arguments[i] == SELF ? (unsigned long)getpid() : (unsigned long)arguments[i];
    errno = 0;
    (void)syscall(call, given[0], given[1], given[2], given[3], 0ul, ATTEMPT);
    error = errno;
    /* Calls with fewer arguments leave in the register what was there. */
    (void)syscall(SYS_getpid, 0ul, 0ul, 0ul, 0ul, 0ul, 0ul);
    return error;
}

static bool comes(const struct attempt *of)
{
    int call = number_of(of->name), error;

    if (call == __NR_SCMP_ERROR) {
        dprintf(STDOUT_FILENO, "%s: there is no such call\n", of->name);
        return false;
    }
    if (call < 0) {
        leave_out(of->name);
        return true;
    }
    error = attempt(call, of->arguments);
    if (error != of->come)
        dprintf(STDOUT_FILENO, "%s (%s): %s, expected %s\n", of->name, of->what, strerrorname_np(error),
                strerrorname_np(of->come));
    return error == of->come;
}

static int come(const char *what, const struct attempt *list, size_t count)
{
    int result = HOLDS;

    for (size_t i = 0; i < count; i++)
        if (!comes(&list[i]))
            result = LEAKS;
    say_left_out(what);
    return result;
}

static int all_are_refused(const void *unused)
{
    int result = HOLDS;

    if (!enter(true))
        return NOT_HERE;
    for (size_t i = 0; i < COUNT(refused); i++)
        if (!comes(&(struct attempt){"whatever it is about", refused[i], {1}, EPERM}))
            result = LEAKS;
    say_left_out("what no replay needs");
    return result;
}

static int arguments_decide(const void *unused)
{
    return enter(true) ? come("what a call is about", attempts, COUNT(attempts)) : NOT_HERE;
}

static int memory_is_shared(const void *unused)
{
    return enter(true) ? come("shared memory", of_memory, COUNT(of_memory)) : NOT_HERE;
}

static int no_memory_is_shared(const void *wanted)
{
    return enter(*(const bool *)wanted) ? come("no shared memory", of_no_memory, COUNT(of_no_memory)) : NOT_HERE;
}

static int sockets_wait(const void *unused)
{
    return enter_with(false, true, false) ? come("sockets that wait", of_sockets, COUNT(of_sockets)) : NOT_HERE;
}

static int listeners_accept(const void *unused)
{
    return enter_with(false, false, true) ? come("sockets that listen", of_listeners, COUNT(of_listeners)) : NOT_HERE;
}

static int one_call(const void *call)
{
    return enter(true) ? attempt(*(const int *)call, (const uint64_t[4]){0}) : NOT_HERE;
}

static int type_on_terminal(const void *request)
{
    return enter(true) ? attempt(number_of("ioctl"), (const uint64_t[4]){0, *(const unsigned long *)request})
                       : NOT_HERE;
}

static int nothing(const void *unused)
{
    return enter(true) ? HOLDS : NOT_HERE;
}

static int in_child(int (*run)(const void *), const void *argument)
{
    int status = 0;
    pid_t child = fork();

    if (child == 0)
        _exit(run(argument));
    return child > 0 && waitpid(child, &status, 0) == child ? status : -1;
}

static bool is_here(void)
{
    return in_child(nothing, NULL) == 0;
}

#define NEEDS_SECCOMP()                                                                                                \
    do {                                                                                                               \
        if (!is_here())                                                                                                \
            SKIP("the kernel has no seccomp, or lets nobody restrict himself");                                        \
    } while (0)

UNIT_TEST(what_no_replay_needs_is_refused)
{
    NEEDS_SECCOMP();
    CHECK_EQ_INT(in_child(all_are_refused, NULL), HOLDS);
}

UNIT_TEST(what_a_call_is_about_decides)
{
    NEEDS_SECCOMP();
    CHECK_EQ_INT(in_child(arguments_decide, NULL), HOLDS);
}

UNIT_TEST(memory_is_shared_with_displays_alone)
{
    bool wanted = false;

    NEEDS_SECCOMP();
    CHECK_EQ_INT(in_child(no_memory_is_shared, &wanted), HOLDS);
    wanted = true; /* in 32 bits, to no avail */
    CHECK_EQ_INT(in_child(sizeof(void *) > 4 ? memory_is_shared : no_memory_is_shared, &wanted), HOLDS);
}

UNIT_TEST(sockets_may_wait_for_others_and_reach_nobody)
{
    NEEDS_SECCOMP();
    if (sizeof(void *) == 4)
        SKIP("in 32 bits there are none");
    CHECK_EQ_INT(in_child(sockets_wait, NULL), HOLDS);
}

UNIT_TEST(sockets_that_listen_may_accept_and_no_other_be_made)
{
    NEEDS_SECCOMP();
    CHECK_EQ_INT(in_child(listeners_accept, NULL), HOLDS);
}

UNIT_TEST(what_has_no_innocent_reason_ends_the_process)
{
    static const unsigned long typing[] = {TIOCSTI, TIOCLINUX};

    NEEDS_SECCOMP();
    for (size_t i = 0; i < COUNT(fatal); i++) {
        int call = number_of(fatal[i]), status;
        if (call < 0 && call != __NR_SCMP_ERROR) {
            leave_out(fatal[i]);
            continue;
        }
        status = in_child(one_call, &call);
        if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGSYS)
            UNIT_FAIL("%s ended with %d", fatal[i], status);
    }
    for (size_t i = 0; i < COUNT(typing); i++) {
        int status = in_child(type_on_terminal, &typing[i]);
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
    }
    say_left_out("what ends the process");
}

#ifdef __x86_64__
/* The other ways into the kernel, with other numbers for the same calls. */
static int call_as_32_bits(const void *unused)
{
    long result = 20; /* getpid */

    signal(SIGSEGV, SIG_DFL); /* where there are no such calls; a sanitizer would make an exit status of it */
    if (!enter(true))
        return NOT_HERE;
    __asm__ volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
    return LEAKS;
}

static int call_as_x32(const void *unused)
{
    return enter(true) ? attempt(0x40000000 | SYS_getpid, (const uint64_t[4]){0}) : NOT_HERE;
}

UNIT_TEST(calls_of_other_machines_end_the_process)
{
    int status;

    NEEDS_SECCOMP();
    status = in_child(call_as_32_bits, NULL);
    CHECK(WIFSIGNALED(status));
    status = in_child(call_as_x32, NULL);
    CHECK(WIFSIGNALED(status));
}
#endif

UNIT_MAIN();
