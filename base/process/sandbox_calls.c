/* SPDX-License-Identifier: MIT */
/* The seccomp half of a sandbox. Calls that are not listed are allowed: drivers use different calls, and the kernel's
 * interface grows. Listed are ways to other processes, other files and the whole system. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/process/sandbox_internal.h"
#include "base/process/sanitizers.h"

#define IOCTL_TYPE    0xff00u /* of requests: the subsystem */
#define OF_SOCKETS    0x8900u
#define OF_WIRELESS   0x8b00u
#define IO_OF_PROCESS 1 /* IOPRIO_WHO_PROCESS */
#ifndef SHM_STAT_ANY
#define SHM_STAT_ANY 15
#endif

#define REFUSE  SCMP_ACT_ERRNO(EPERM)
#define UNKNOWN SCMP_ACT_ERRNO(ENOSYS) /* the C library then takes the older call */

static const int refused[] = {
    /* processes */
    SCMP_SYS(fork), SCMP_SYS(vfork), SCMP_SYS(uselib),
    /* other processes */
    SCMP_SYS(process_vm_readv), SCMP_SYS(process_vm_writev), SCMP_SYS(process_madvise), SCMP_SYS(process_mrelease),
    SCMP_SYS(kcmp), SCMP_SYS(pidfd_open), SCMP_SYS(pidfd_getfd), SCMP_SYS(pidfd_send_signal), SCMP_SYS(tkill),
    SCMP_SYS(move_pages), SCMP_SYS(migrate_pages),
#if !LAP_ADDRESS_SANITIZER
    SCMP_SYS(ptrace),
#endif
    /* sockets; those that are open are used with other calls (libseccomp finds each behind socketcall, too, with which
     * 32-bit programs talk to an X display) */
    SCMP_SYS(connect),
    /* io_uring does all of these, and no filter sees it */
    SCMP_SYS(io_uring_setup), SCMP_SYS(io_uring_enter), SCMP_SYS(io_uring_register),
    /* for files, beyond Landlock */
    SCMP_SYS(truncate), SCMP_SYS(truncate64), SCMP_SYS(chmod), SCMP_SYS(fchmod), SCMP_SYS(fchmodat), SCMP_SYS(chown),
    SCMP_SYS(fchown), SCMP_SYS(lchown), SCMP_SYS(fchownat), SCMP_SYS(chown32), SCMP_SYS(fchown32), SCMP_SYS(lchown32),
    SCMP_SYS(setxattr), SCMP_SYS(lsetxattr), SCMP_SYS(fsetxattr), SCMP_SYS(removexattr), SCMP_SYS(lremovexattr),
    SCMP_SYS(fremovexattr), SCMP_SYS(utime), SCMP_SYS(utimes), SCMP_SYS(futimesat), SCMP_SYS(utimensat),
    SCMP_SYS(utimensat_time64), SCMP_SYS(open_by_handle_at), SCMP_SYS(name_to_handle_at), SCMP_SYS(fanotify_init),
    /* queues and semaphores of other processes */
    SCMP_SYS(ipc), SCMP_SYS(msgget), SCMP_SYS(msgsnd), SCMP_SYS(msgrcv), SCMP_SYS(msgctl), SCMP_SYS(semget),
    SCMP_SYS(semop), SCMP_SYS(semtimedop), SCMP_SYS(semtimedop_time64), SCMP_SYS(semctl), SCMP_SYS(mq_open),
    SCMP_SYS(mq_unlink),
    /* mounts and namespaces */
    SCMP_SYS(mount), SCMP_SYS(umount), SCMP_SYS(umount2), SCMP_SYS(pivot_root), SCMP_SYS(chroot), SCMP_SYS(unshare),
    SCMP_SYS(setns), SCMP_SYS(open_tree), SCMP_SYS(move_mount), SCMP_SYS(fsopen), SCMP_SYS(fsconfig), SCMP_SYS(fsmount),
    SCMP_SYS(fspick), SCMP_SYS(mount_setattr),
    /* calls that were used in attacks on kernels, and that no driver uses */
    SCMP_SYS(bpf), SCMP_SYS(perf_event_open), SCMP_SYS(userfaultfd), SCMP_SYS(keyctl), SCMP_SYS(add_key),
    SCMP_SYS(request_key), SCMP_SYS(modify_ldt), SCMP_SYS(lookup_dcookie), SCMP_SYS(nfsservctl), SCMP_SYS(_sysctl),
    SCMP_SYS(sysfs), SCMP_SYS(ustat), SCMP_SYS(vm86), SCMP_SYS(vm86old),
    /* the system */
    SCMP_SYS(acct), SCMP_SYS(quotactl), SCMP_SYS(quotactl_fd), SCMP_SYS(swapon), SCMP_SYS(swapoff),
    SCMP_SYS(sethostname), SCMP_SYS(setdomainname), SCMP_SYS(settimeofday), SCMP_SYS(stime), SCMP_SYS(clock_settime),
    SCMP_SYS(clock_settime64), SCMP_SYS(adjtimex), SCMP_SYS(clock_adjtime), SCMP_SYS(clock_adjtime64), SCMP_SYS(iopl),
    SCMP_SYS(ioperm), SCMP_SYS(syslog), SCMP_SYS(vhangup),
    /* by their numbers, which all machines have in common: fchmodat2, setxattrat, removexattrat, open_tree_attr,
     * file_setattr */
    452, 463, 466, 467, 469};

static const int unknown[] = {SCMP_SYS(openat2), SCMP_SYS(clone3)}; /* a filter can't see their arguments */

/* No replay calls these, even of an unusual trace. */
static const int fatal[] = {SCMP_SYS(init_module), SCMP_SYS(finit_module),    SCMP_SYS(delete_module),
                            SCMP_SYS(kexec_load),  SCMP_SYS(kexec_file_load), SCMP_SYS(reboot)};

static int add_all(scmp_filter_ctx filter, uint32_t action, const int *calls, size_t count)
{
    int error = 0;

    for (size_t i = 0; i < count && !error; i++)
        error = seccomp_rule_add(filter, action, calls[i], 0);
    return error;
}

/* Refuses a call if an argument has another value, or if, of the bits of a mask, it has just these. Comparisons are of
 * 64 bits; for arguments of 32 bits the mask also has 32. */
struct condition {
    int call;
    struct scmp_arg_cmp argument;
};
#define IF_NOT(call, number, value)                                                                                    \
    {                                                                                                                  \
        SCMP_SYS(call),                                                                                                \
        {                                                                                                              \
            (number), SCMP_CMP_NE, (value), 0                                                                          \
        }                                                                                                              \
    }
#define IF_BITS(call, number, mask, bits)                                                                              \
    {                                                                                                                  \
        SCMP_SYS(call),                                                                                                \
        {                                                                                                              \
            (number), SCMP_CMP_MASKED_EQ, (mask), (bits)                                                               \
        }                                                                                                              \
    }

static int add_conditions(scmp_filter_ctx filter, uint32_t action, const struct condition *conditions, size_t count)
{
    int error = 0;

    for (size_t i = 0; i < count && !error; i++)
        error = seccomp_rule_add(filter, action, conditions[i].call, 1, conditions[i].argument);
    return error;
}

/* Calls that depend on their arguments. */
static int add_arguments(scmp_filter_ctx filter, const struct lap_sandbox_options *options)
{
    const scmp_datum_t self = (scmp_datum_t)getpid(), low = UINT32_MAX;
    const struct condition some[] = {
#if !LAP_ADDRESS_SANITIZER /* it stops its own threads with a process that shares their memory and traces them */
        IF_BITS(clone, 0, CLONE_THREAD, 0),
#endif
        /* Nor a thread with a namespace of its own. */
        IF_BITS(clone, 0, CLONE_NEWNS, CLONE_NEWNS),
        IF_BITS(clone, 0, CLONE_NEWCGROUP, CLONE_NEWCGROUP),
        IF_BITS(clone, 0, CLONE_NEWUTS, CLONE_NEWUTS),
        IF_BITS(clone, 0, CLONE_NEWIPC, CLONE_NEWIPC),
        IF_BITS(clone, 0, CLONE_NEWUSER, CLONE_NEWUSER),
        IF_BITS(clone, 0, CLONE_NEWPID, CLONE_NEWPID),
        IF_BITS(clone, 0, CLONE_NEWNET, CLONE_NEWNET),
        /* Signals to the process itself: abort(). */
        IF_NOT(kill, 0, self),
        IF_NOT(tgkill, 0, self),
        IF_NOT(rt_sigqueueinfo, 0, self),
        IF_NOT(rt_tgsigqueueinfo, 0, self),
        /* Nor can the kernel be made to signal a named process about a file. */
        IF_BITS(fcntl, 1, low, F_SETOWN),
        IF_BITS(fcntl, 1, low, F_SETOWN_EX),
        IF_BITS(fcntl64, 1, low, F_SETOWN),
        IF_BITS(fcntl64, 1, low, F_SETOWN_EX),
        /* The same by ioctl on sockets, and addresses, routes and interfaces of the machine. */
        IF_BITS(ioctl, 1, IOCTL_TYPE, OF_SOCKETS),
        IF_BITS(ioctl, 1, IOCTL_TYPE, OF_WIRELESS),
        /* Line disciplines of terminals: the kernel loads modules for them. */
        IF_BITS(ioctl, 1, low, TIOCSETD),
        /* Leases: opening a leased file blocks until its lease is released. */
        IF_BITS(fcntl, 1, low, F_SETLEASE),
        IF_BITS(fcntl64, 1, low, F_SETLEASE),
        /* Pairs of sockets, except kinds that could send to other sockets. */
        IF_NOT(socketpair, 0, AF_UNIX),
        IF_BITS(socketpair, 1, 0xf, SOCK_DGRAM),
        IF_BITS(socketpair, 1, 0xf, SOCK_RAW),
        /* Priorities of others. A thread's number looks like another process's, so processors and policies, which
         * drivers set for threads, can still be set for all. */
        IF_NOT(setpriority, 0, PRIO_PROCESS),
        IF_NOT(setpriority, 1, 0),
        IF_NOT(ioprio_set, 0, IO_OF_PROCESS),
        IF_NOT(ioprio_set, 1, 0),
        IF_NOT(sched_setattr, 0, 0),
        /* ioctls that file systems have for a descriptor opened for reading: flags, projects, freezing, clones. */
        IF_BITS(ioctl, 1, IOCTL_TYPE, 'f' << 8),
        IF_BITS(ioctl, 1, IOCTL_TYPE, 'X' << 8),
        IF_BITS(ioctl, 1, IOCTL_TYPE, 0x94 << 8),
        /* Before Linux 6.2 Landlock does not notice that opening a file for reading can truncate it. */
        IF_BITS(openat, 2, O_TRUNC | O_ACCMODE, O_TRUNC),
        IF_BITS(open, 1, O_TRUNC | O_ACCMODE, O_TRUNC),
        /* The query stays allowed. */
        IF_NOT(personality, 0, low)
    };
    /* Input to the user's terminal. */
    const struct condition typing[] = {IF_BITS(ioctl, 1, low, TIOCSTI), IF_BITS(ioctl, 1, low, TIOCLINUX)};
    /* For memory shared with an X server only one's own segments can be created, and removed; no other command can
     * find, lock or change those of others. (The owner of a number is in no argument, so segments of others can be
     * attached and removed.) */
    const struct condition memory[] = {
        IF_NOT(shmget, 0, IPC_PRIVATE),     IF_BITS(shmctl, 1, 0xff, IPC_SET),  IF_BITS(shmctl, 1, 0xff, IPC_STAT),
        IF_BITS(shmctl, 1, 0xff, IPC_INFO), IF_BITS(shmctl, 1, 0xff, SHM_LOCK), IF_BITS(shmctl, 1, 0xff, SHM_UNLOCK),
        IF_BITS(shmctl, 1, 0xff, SHM_STAT), IF_BITS(shmctl, 1, 0xff, SHM_INFO), IF_BITS(shmctl, 1, 0xff, SHM_STAT_ANY)};
    const int no_memory[] = {SCMP_SYS(shmget), SCMP_SYS(shmat), SCMP_SYS(shmctl)};
    /* A socket that waits for connections, of the kind that NVIDIA's driver has for each process that traces rays; it
     * can't send. */
    const struct condition waiting[] = {IF_NOT(socket, 0, AF_UNIX), IF_BITS(socket, 1, 0xf, SOCK_STREAM),
                                        IF_BITS(socket, 1, 0xf, SOCK_DGRAM), IF_BITS(socket, 1, 0xf, SOCK_RAW),
                                        IF_BITS(socket, 1, 0xf, SOCK_RDM)};
    const int no_programs[] = {SCMP_SYS(execve), SCMP_SYS(execveat)};
    const int no_connections[] = {SCMP_SYS(accept), SCMP_SYS(accept4)};
    const int no_sockets[] = {SCMP_SYS(socket), SCMP_SYS(bind), SCMP_SYS(listen)};
    /* Setting limits of other processes. */
    const struct scmp_arg_cmp limits[] = {{0, SCMP_CMP_NE, 0, 0}, {2, SCMP_CMP_NE, 0, 0}};
    int error = add_conditions(filter, REFUSE, some, sizeof some / sizeof *some);

    if (!error)
        error = add_conditions(filter, SCMP_ACT_KILL_PROCESS, typing, sizeof typing / sizeof *typing);
    if (!error)
        error = seccomp_rule_add_array(filter, REFUSE, SCMP_SYS(prlimit64), 2, limits);
    if (!error && !options->executes)
        error = add_all(filter, REFUSE, no_programs, sizeof no_programs / sizeof *no_programs);
    if (!error && !options->accepts)
        error = add_all(filter, REFUSE, no_connections, sizeof no_connections / sizeof *no_connections);
    /* Not in 32 bits, where socketcall is another way. */
    if (!error && options->waiting_sockets && sizeof(void *) > 4)
        error = add_conditions(filter, REFUSE, waiting, sizeof waiting / sizeof *waiting);
    else if (!error)
        error = add_all(filter, REFUSE, no_sockets, sizeof no_sockets / sizeof *no_sockets);
    /* In 32 bits all this goes through ipc, which is refused, so these calls would be of no use. */
    if (!error && options->shared_memory && sizeof(void *) > 4)
        return add_conditions(filter, REFUSE, memory, sizeof memory / sizeof *memory);
    return error ? error : add_all(filter, REFUSE, no_memory, sizeof no_memory / sizeof *no_memory);
}

int lap_sandbox_restrict_calls(const struct lap_sandbox_options *options)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    int error = filter ? 0 : -ENOMEM;

    if (!error)
        error = add_all(filter, REFUSE, refused, sizeof refused / sizeof *refused);
    if (!error)
        error = add_all(filter, UNKNOWN, unknown, sizeof unknown / sizeof *unknown);
    if (!error)
        error = add_all(filter, SCMP_ACT_KILL_PROCESS, fatal, sizeof fatal / sizeof *fatal);
    if (!error)
        error = add_arguments(filter, options);
    if (!error) {
        /* A failure to set these leaves the same filter. SSB: the process has no secrets from itself, and kernels
         * before 5.16 would slow all of it down. */
        (void)seccomp_attr_set(filter, SCMP_FLTATR_API_SYSRAWRC, 1); /* the kernel's own errors */
        (void)seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
        (void)seccomp_attr_set(filter, SCMP_FLTATR_CTL_SSB, 1);
        (void)seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
        error = seccomp_load(filter);
    }
    seccomp_release(filter);
    return -error;
}
