/**
 * Compiles a seccomp filter for bubblewrap (`--seccomp`): an array of `struct sock_filter` of classic BPF, see
 * seccomp(2) and linux/seccomp.h.
 *
 * A C program that reads the bytes of strangers and needs little, such as a decoder, may use the calls of an allow list,
 * and no others. Node with its libraries uses other calls in every release: what it never needs is on a deny list, that is
 * calls that reach other processes, the network, or parts of the kernel that have often had vulnerabilities. `execve` stays,
 * because bubblewrap starts the program behind the filter; what it leads to has the same one.
 */
export type SystemCalls = 'allow-list' | 'deny-list';

interface Machine {
  /** AUDIT_ARCH_* of linux/audit.h. */
  audit: number;
  /** System call numbers: arch/x86/entry/syscalls/syscall_64.tbl, include/uapi/asm-generic/unistd.h. */
  clone: number;
  /** The allow list, in the order of the names beside x64; and `clone`, for threads. */
  allowed: readonly (readonly number[])[];
  /** The deny list. */
  denied: readonly (readonly number[])[];
}

/** On the allow list, too; added to the kernel after 5.1, so that it has the same number on every machine. */
const FACCESSAT2 = 439;

/** Numbers that are the same on every machine, since they were added to the kernel from 5.1 on. */
const DENIED_EVERYWHERE: readonly (readonly number[])[] = [
  [425, 426, 427], // io_uring_setup, io_uring_enter, io_uring_register
  [428, 429, 430, 431, 432, 433], // open_tree, move_mount, fsopen, fsconfig, fsmount, fspick
  [434, 438, 440], // pidfd_open, pidfd_getfd, process_madvise
  [442, 443], // mount_setattr, quotactl_fd
];

const MACHINES: Partial<Record<NodeJS.Architecture, Machine>> = {
  x64: {
    audit: 0xc000003e,
    clone: 56,
    allowed: [
      [0, 1, 19, 20, 17, 3, 8, 2, 257], // read, write, readv, writev, pread64, close, lseek, open, openat
      [21, 269, 4, 5, 6, 262, 332, 137, 138], // access, faccessat, stat, fstat, lstat, newfstatat, statx, statfs, fstatfs
      [217, 89, 267, 79, 72, 16, 221], // getdents64, readlink, readlinkat, getcwd, fcntl, ioctl, fadvise64
      [32, 33, 292, 22, 293, 7, 271, 23, 270], // dup, dup2, dup3, pipe, pipe2, poll, ppoll, select, pselect6
      [9, 11, 10, 25, 12, 28, 149], // mmap, munmap, mprotect, mremap, brk, madvise, mlock
      [239, 238, 237], // get_mempolicy, set_mempolicy, mbind: libnuma, which BLAS loads
      [202, 273, 334, 218, 324, 219], // futex, set_robust_list, rseq, set_tid_address, membarrier, restart_syscall
      [59, 61, 60, 231, 157, 158], // execve, wait4 (of bubblewrap), exit, exit_group, prctl, arch_prctl
      [63, 99, 318, 98, 100, 97, 302], // uname, sysinfo, getrandom, getrusage, times, getrlimit, prlimit64
      [13, 14, 15, 131, 234], // rt_sigaction, rt_sigprocmask, rt_sigreturn, sigaltstack, tgkill
      [35, 230, 228, 229, 96, 201], // nanosleep, clock_nanosleep, clock_gettime, clock_getres, gettimeofday, time
      [24, 204, 203, 309], // sched_yield, sched_getaffinity, sched_setaffinity, getcpu
      [143, 145, 146, 147], // sched_getparam, sched_getscheduler, sched_get_priority_max, sched_get_priority_min
      [39, 110, 186, 102, 107, 104, 108], // getpid, getppid, gettid, getuid, geteuid, getgid, getegid
    ],
    denied: [
      [41, 42, 49, 50, 43, 288], // socket, connect, bind, listen, accept, accept4
      [101, 310, 311, 312], // ptrace, process_vm_readv, process_vm_writev, kcmp
      [155, 161, 165, 166, 272, 308], // pivot_root, chroot, mount, umount2, unshare, setns
      [175, 176, 313, 246, 320, 169], // init_module, delete_module, finit_module, kexec_load, kexec_file_load, reboot
      [248, 249, 250], // add_key, request_key, keyctl
      [298, 321, 323], // perf_event_open, bpf, userfaultfd
      [303, 304], // name_to_handle_at, open_by_handle_at
      [64, 65, 66, 29, 30, 31, 68, 69, 70, 71, 240], // System V semaphores, memory and messages; mq_open
      [134, 135, 136, 139, 153, 154, 156, 163, 164, 167, 168, 170, 171, 172, 173, 179, 180], // obsolete and privileged
      [227, 305, 159], // clock_settime, clock_adjtime, adjtimex
      [256, 279], // migrate_pages, move_pages
    ],
  },
  arm64: {
    audit: 0xc00000b7,
    clone: 220,
    allowed: [
      [63, 64, 65, 66, 67, 57, 62, 56],
      [48, 80, 79, 291, 43, 44],
      [61, 78, 17, 25, 29, 223],
      [23, 24, 59, 73, 72],
      [222, 215, 226, 216, 214, 233, 228],
      [236, 237, 235],
      [98, 99, 293, 96, 283, 128],
      [221, 260, 93, 94, 167],
      [160, 179, 278, 165, 153, 163, 261],
      [134, 135, 139, 132, 131],
      [101, 115, 113, 114, 169],
      [124, 123, 122, 168],
      [121, 120, 125, 126],
      [172, 173, 178, 174, 175, 176, 177],
    ],
    denied: [
      [198, 203, 200, 201, 202, 242], // socket, connect, bind, listen, accept, accept4
      [117, 270, 271, 272], // ptrace, process_vm_readv, process_vm_writev, kcmp
      [41, 51, 40, 39, 97, 268], // pivot_root, chroot, mount, umount2, unshare, setns
      [105, 106, 273, 104, 294, 142], // init_module, delete_module, finit_module, kexec_load, kexec_file_load, reboot
      [217, 218, 219], // add_key, request_key, keyctl
      [241, 280, 282], // perf_event_open, bpf, userfaultfd
      [264, 265], // name_to_handle_at, open_by_handle_at
      [190, 191, 193, 194, 195, 196, 186, 187, 188, 189, 180], // System V semaphores, memory and messages; mq_open
      [60, 89, 92, 161, 162, 170, 224, 225, 42], // quotactl, acct, personality, names, settimeofday, swap, nfsservctl
      [112, 266, 171], // clock_settime, clock_adjtime, adjtimex
      [238, 239], // migrate_pages, move_pages
    ],
  },
};

// linux/bpf_common.h and linux/seccomp.h.
const LOAD_WORD = 0x20;
const JUMP_IF_EQUAL = 0x15;
const JUMP_IF_AT_LEAST = 0x35;
const JUMP_IF_ANY_BIT = 0x45;
const RETURN = 0x06;
const ALLOW = 0x7fff0000;
const KILL_PROCESS = 0x80000000;
const FAIL_WITH = 0x00050000;
const EPERM = 1;
const ENOSYS = 38;

// Offsets in `struct seccomp_data`; the arguments are 64 bits wide, lower half first on both machines.
const NUMBER = 0;
const ARCHITECTURE = 4;
const FIRST_ARGUMENT = 16;

/** The bit of the 32-bit system calls of x86-64 (x32), whose numbers would pass the list. */
const X32 = 0x40000000;
/** Its flags lie in memory, where a filter cannot see them. C libraries fall back to clone. */
const CLONE3 = 435;
/** CLONE_NEWTIME and the other CLONE_NEW*: a process in a user namespace of its own reaches more of the kernel. */
const NEW_NAMESPACES = 0x7e020080;

/** CLONE_THREAD: a program with an allow list starts threads, and no processes. */
const THREAD = 0x00010000;
/** Every clone has some: a signal, or flags. */
const ANY_FLAG = 0xffffffff;
/** The first of the calls that libraries try, and replace by older ones on ENOSYS. */
const FIRST_OF_LINUX_5 = 424;

/** Null on a machine whose system calls are not listed here. */
export function seccompFilter(calls: SystemCalls, machine: NodeJS.Architecture = process.arch): Buffer | null {
  const known = MACHINES[machine];
  if (!known) return null;
  const program = [
    [LOAD_WORD, 0, 0, ARCHITECTURE],
    [JUMP_IF_EQUAL, 1, 0, known.audit],
    [RETURN, 0, 0, KILL_PROCESS],
    [LOAD_WORD, 0, 0, NUMBER],
    [JUMP_IF_AT_LEAST, 0, 1, X32],
    [RETURN, 0, 0, FAIL_WITH | ENOSYS],
    [JUMP_IF_EQUAL, 0, 1, CLONE3],
    [RETURN, 0, 0, FAIL_WITH | ENOSYS],
    [JUMP_IF_EQUAL, 0, 6, known.clone],
    [LOAD_WORD, 0, 0, FIRST_ARGUMENT],
    [JUMP_IF_ANY_BIT, 0, 1, NEW_NAMESPACES],
    [RETURN, 0, 0, FAIL_WITH | EPERM],
    [JUMP_IF_ANY_BIT, 1, 0, calls === 'allow-list' ? THREAD : ANY_FLAG],
    [RETURN, 0, 0, FAIL_WITH | EPERM],
    [RETURN, 0, 0, ALLOW],
    ...(calls === 'allow-list' ? onlyThese(known) : allButThese(known)),
  ];
  return Buffer.concat(
    program.map(([code = 0, ifTrue = 0, ifFalse = 0, k = 0]) => instruction(code, ifTrue, ifFalse, k)),
  );
}

function onlyThese({ allowed }: Machine): number[][] {
  return [
    ...[...allowed.flat(), FACCESSAT2].flatMap((number) => answer(number, ALLOW)),
    [JUMP_IF_AT_LEAST, 0, 1, FIRST_OF_LINUX_5],
    [RETURN, 0, 0, FAIL_WITH | ENOSYS],
    [RETURN, 0, 0, FAIL_WITH | EPERM],
  ];
}

function allButThese({ denied }: Machine): number[][] {
  const numbers = [...new Set([...denied, ...DENIED_EVERYWHERE].flat())];
  return [...numbers.flatMap((number) => answer(number, FAIL_WITH | EPERM)), [RETURN, 0, 0, ALLOW]];
}

const answer = (number: number, action: number): number[][] => [
  [JUMP_IF_EQUAL, 0, 1, number],
  [RETURN, 0, 0, action],
];

/** `struct sock_filter` in the byte order of both machines. */
function instruction(code: number, ifTrue: number, ifFalse: number, k: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt16LE(code, 0);
  bytes.writeUInt8(ifTrue, 2);
  bytes.writeUInt8(ifFalse, 3);
  bytes.writeUInt32LE(k >>> 0, 4);
  return bytes;
}
