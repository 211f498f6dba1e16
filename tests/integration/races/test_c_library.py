"""Each function of the C library that gives the kernel memory of a program is taken by `isthmus races`."""

import platform
import re
import shutil
import subprocess
from bisect import bisect_right
from pathlib import Path

import pytest

from isthmus.installing import installed_file
from tests.integration.accelerate.programs import IS_SANITIZED
from tests.integration.races.conftest import REPOSITORY

# Those that make system calls and are not taken, by the reason.
NOT_TAKEN = {
    "given numbers alone, or nothing": """
        alarm brk clock_getcpuclockid close close_range dup dup2 dup3 epoll_create epoll_create1 eventfd fallocate
        fallocate64 fchdir fchmod fchown fdatasync flock fsync ftruncate ftruncate64 getegid geteuid getgid getpgid
        getpgrp getpid getppid getpriority getsid gettid getuid inotify_init inotify_init1 inotify_rm_watch kill
        listen llseek lseek lseek64 mlockall mq_close msgget munlock munlockall pause personality pidfd_getfd
        pidfd_open pkey_alloc pkey_free posix_fadvise posix_fadvise64 posix_fallocate posix_fallocate64 readahead
        sched_get_priority_max sched_get_priority_min sched_getcpu sched_getscheduler sched_yield semget setegid
        seteuid setfsgid setfsuid setgid setpgid setpriority setregid setresgid setresuid setreuid setsid setuid
        shmdt shmget shutdown socket sync sync_file_range syncfs tcdrain tee tgkill thrd_yield timer_delete
        timer_getoverrun timerfd_create umask unshare setns vhangup _exit _Exit msync process_mrelease
    """,
    "structures of the C library's own": """
        abort herror pthread_sigqueue tcgetattr tcsetattr pthread_mutex_init
    """,
    "had another meaning in older versions, which older programs ask for": """
        posix_spawn posix_spawnp realpath ustat
    """,
    "return elsewhere, or twice": """
        clone vfork getcontext setcontext swapcontext
    """,
    "map memory": """
        mmap mmap64 remap_file_pages shmat process_madvise
    """,
    "manage the machine, or another process": """
        arch_prctl clock_adjtime clock_settime create_module delete_module fanotify_init fanotify_mark fsconfig
        fsmount fsopen fspick get_kernel_syms init_module ioperm iopl klogctl modify_ldt mount mount_setattr
        move_mount nfsservctl open_tree pidfd_send_signal pivot_root ptrace query_module quotactl reboot
        setdomainname setgroups sethostname swapoff swapon umount2 uselib
    """,
}
# All functions of this version were read.
READ = ("glibc", "2.36")
# Names that begin so are for the C library itself, but what headers put in place of others to check sizes.
OWN, CHECKED = "__", re.compile(r"__\w+_(chk|2)|__[flx]*x(stat|mknod)(at|64|at64)?")


def output(*words: str | Path) -> list[str]:
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()


def exported(library: Path) -> dict[str, tuple[int, int]]:
    """Where each function that a library shows begins, and how long it is."""
    rows = [line.split() for line in output("nm", "-D", "-S", "--defined-only", library)]
    return {
        row[3].partition("@")[0]: (int(row[0], 16), int(row[1], 16))
        for row in rows
        if len(row) == 4 and row[2] in "TWi"
    }


@pytest.fixture(scope="module")
def taken() -> set[str]:
    return set(exported(installed_file("libisthmus_races.so")))


@pytest.mark.skipif(IS_SANITIZED, reason="sanitizers take them")
@pytest.mark.skipif(not all(map(shutil.which, ("nm", "objdump"))), reason="needs binutils")
@pytest.mark.skipif(
    platform.machine() != "x86_64" or platform.libc_ver() != READ, reason="functions were read of another C library"
)
def test_each_function_that_makes_system_calls_is_taken_or_has_a_reason(taken: set[str]) -> None:
    [library] = {
        Path(line.split()[-1]) for line in Path("/proc/self/maps").read_text().splitlines() if "/libc.so" in line
    }
    functions = exported(library)
    places = sorted(dict(functions.values()).items())
    begins = [begin for begin, _ in places]
    calling: set[int] = set()
    for line in output("objdump", "-d", "--no-show-raw-insn", library):
        if found := re.match(r"\s+([0-9a-f]+):\s+syscall\b", line):
            begin, size = places[bisect_right(begins, int(found[1], 16)) - 1]
            if int(found[1], 16) < begin + size:
                calling.add(begin)
    made = {name for name, (begin, _) in functions.items() if begin in calling}
    made = {name for name in made if not name.startswith(OWN) or CHECKED.fullmatch(name)}
    explained = set(" ".join(NOT_TAKEN.values()).split())
    assert len(made) > 300
    assert made - taken - explained == set()
    assert explained & taken == set()
    assert explained <= set(functions)


@pytest.mark.skipif(IS_SANITIZED, reason="sanitizers take them")
@pytest.mark.skipif(shutil.which("nm") is None, reason="needs binutils")
def test_what_is_taken_is_shown_to_programs(taken: set[str]) -> None:
    races = REPOSITORY / "native/races"
    rows = re.findall(r"\b(?:X|ISTHMUS_TAKE)\((\w+)[,)]", (races / "c_library.cpp").read_text("utf-8"))
    rows = [row for row in rows if row != "name"]
    assert len(rows) > 250
    assert set(rows) <= taken
    shown = set(re.findall(r"[\w]+(?=;)", (races / "races.map").read_text("utf-8")))
    assert {name for name in taken if not name.startswith("cu")} == shown
