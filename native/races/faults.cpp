// The handler of faults: a touch of a protected page is recorded, the page opened, and the program goes on.
//
// It comes before the program's own handler, which gets all other faults as it would without the library.
#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "base/pages.hpp"
#include "base/threads.hpp"
#include "interpose/hooks/hooks.hpp"
#include "races/state.hpp"
#include "races/thread.hpp"

namespace isthmus::races {
namespace {

// What the program set, under the lock.
constinit struct sigaction programs {};
constinit std::atomic<bool> is_handling = false;
constinit std::atomic<pid_t> handling_process = 0;

thread_local bool is_inside __attribute__((tls_model("initial-exec"))) = false;
// The last fault that was none of ours: the page may have been opened between the fault and the handler, so each is
// tried again once.
thread_local std::uintptr_t tried_address __attribute__((tls_model("initial-exec"))) = 0;
thread_local const void* tried_code __attribute__((tls_model("initial-exec"))) = nullptr;
thread_local std::uint64_t tried_changes __attribute__((tls_model("initial-exec"))) = 0;

// Reads come with whole vectors, whatever of them is used: one this near to where a copy begins or ends may be meant
// for its neighbour on the same page. Writes change what they touch.
constexpr std::uintptr_t longest_vector = 64;

const void* code_of(const ucontext_t& context) {
#if defined(__x86_64__)
    return reinterpret_cast<const void*>(context.uc_mcontext.gregs[REG_RIP]);  // NOLINT(performance-no-int-to-ptr)
#else
    return reinterpret_cast<const void*>(context.uc_mcontext.pc);  // NOLINT(performance-no-int-to-ptr)
#endif
}

bool is_write(const ucontext_t& context) {
#if defined(__x86_64__)
    constexpr long long write = 2;
    return (context.uc_mcontext.gregs[REG_ERR] & write) != 0;
#else
    constexpr std::uint32_t magic = 0x45535201;
    constexpr std::uint64_t write = 1U << 6U;
    const unsigned char* at = context.uc_mcontext.__reserved;
    const unsigned char* const end = at + sizeof context.uc_mcontext.__reserved;
    struct Head {
        std::uint32_t magic, bytes;
    } head{};
    for (; at + sizeof head + sizeof(std::uint64_t) <= end; at += head.bytes) {
        std::memcpy(&head, at, sizeof head);
        std::uint64_t syndrome = 0;
        std::memcpy(&syndrome, at + sizeof head, sizeof syndrome);
        if (head.magic == magic) return (syndrome & write) != 0;
        if (head.magic == 0 || head.bytes == 0) break;
    }
    return false;
#endif
}

bool is_meant(const Copy& copy, std::uintptr_t address) {
    const std::uintptr_t page = system_page();
    const bool shares_first = copy.bytes.begin % page != 0, shares_last = copy.bytes.end % page != 0;
    const bool is_near_first =
        shares_first && address / page == copy.bytes.begin / page && address < copy.bytes.begin + longest_vector;
    const bool is_near_last =
        shares_last && address / page == copy.bytes.end / page && address + longest_vector >= copy.bytes.end;
    return !is_near_first && !is_near_last;
}

bool handle(std::uintptr_t address, const ucontext_t& context) {
    const void* const code = code_of(context);
    const bool writes = is_write(context);
    const bool is_programs = !InDriver::here();
    Frames frames;
    if (is_programs && !places().is_drivers(code)) frames = places().here(code);
    const Locked state;
    return state->copies.at(address, [&](Copy& copy) {
        const bool is_touched = copy.rows.meets(Range{address, address + 1}) && (writes || copy.is_write);
        if (!is_touched) return state->copies.unprotect_at(copy, address);
        if (frames.native_count != 0 && (writes || is_meant(copy, address)))
            state->note(copy, frames, Range{address, address + 1}, writes, false);
        state->copies.unprotect(copy);
    });
}

// As if ours were not there: also where the program's handler itself faults. Not noexcept: the program's handler may
// leave by a jump, or throw.
void hand_on(int signal, siginfo_t* info, void* context) {
    struct sigaction given {};
    SignalMask mask = 0;
    std::memcpy(&mask, &static_cast<ucontext_t*>(context)->uc_sigmask, sizeof mask);
    bool is_default = info->si_code > 0 && (mask & bit_of(fault_is_blocked)) != 0;
    unsigned flags = 0;
    {
        const Locked state;
        given = programs;
        flags = static_cast<unsigned>(given.sa_flags);
        is_default = is_default || given.sa_handler == SIG_DFL || (given.sa_handler == SIG_IGN && info->si_code > 0);
        if ((flags & SA_RESETHAND) != 0) programs.sa_handler = SIG_DFL;
    }
    if (is_default) {
        // The fault happens again, or is sent again, and ends the process as it would have.
        struct sigaction none {};
        none.sa_handler = SIG_DFL;
        if (SetAction const set = next_sigaction()) set(signal, &none, nullptr);
        if (info->si_code <= 0) syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), signal, info);
        return;
    }
    if (given.sa_handler == SIG_IGN) return;
    SignalMask more = 0;
    std::memcpy(&more, &given.sa_mask, sizeof more);
    const bool blocks = (flags & SA_NODEFER) == 0 || (more & bit_of(SIGSEGV)) != 0;
    more = (more & ~bit_of(fault_is_blocked)) | (blocks ? bit_of(fault_is_blocked) : 0);
    change_signals((mask | more) & ~bit_of(SIGSEGV));
    if ((flags & SA_SIGINFO) != 0) return given.sa_sigaction(signal, info, context);
    given.sa_handler(signal);
}

void on_fault(int signal, siginfo_t* info, void* context) {
    const int reason = errno;
    const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
    const auto& interrupted = *static_cast<ucontext_t*>(context);
    if (info->si_code > 0 && !is_inside) {
        is_inside = true;
        (void)is_watching();  // a child opens its pages
        const bool is_ours = handle(address, interrupted);
        is_inside = false;
        const void* const code = code_of(interrupted);
        // Also where pages were opened since: by another thread that came here for the same one.
        const std::uint64_t changes = Copies::changes();
        const bool is_new = tried_address != address || tried_code != code || tried_changes != changes;
        tried_changes = changes;
        tried_address = is_ours || !is_new ? 0 : address;
        tried_code = is_ours || !is_new ? nullptr : code;
        errno = reason;
        if (is_ours || is_new) return;
    }
    is_inside = false;
    hand_on(signal, info, context);
}

ISTHMUS_NEXT(sigaction, SetAction)

}  // namespace

SetAction next_sigaction() noexcept {
    return ISTHMUS_NEXT_OF(sigaction);
}

void handle_in_child() noexcept {
    handling_process = getpid();
}

void begin_handling() noexcept {
    SetAction const set = next_sigaction();
    if (set == nullptr) return;
    struct sigaction ours {
    }, before{};
    ours.sa_sigaction = &on_fault;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
    const sigset_t all = all_but_faults();
    ours.sa_mask = all;
    if (set(SIGSEGV, nullptr, &before) != 0) return;
    {
        const Locked state;
        programs = before;
        is_handling = true;
        handle_in_child();
    }
    set(SIGSEGV, &ours, nullptr);
}

int set_fault_action(const struct sigaction* action, struct sigaction* before) noexcept {
    // A child that shares its parent's memory has handlers of its own.
    if (!is_handling || getpid() != handling_process) return next_sigaction()(SIGSEGV, action, before);
    // A reader of the program's may be on a protected page, so its memory is touched without the lock.
    struct sigaction given {
    }, was{};
    if (action != nullptr) given = *action;
    {
        const Locked state;
        was = programs;
        if (action != nullptr) programs = given;
    }
    if (before != nullptr) *before = was;
    return 0;
}

}  // namespace isthmus::races
