// All that the library knows of its process, behind one lock.
#include "races/state.hpp"

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <mutex>

#include "base/pages.hpp"
#include "interpose/environment.hpp"
#include "interpose/foreign_process.hpp"
#include "races/thread.hpp"

namespace isthmus::races {
namespace {

constinit State the_state;
constinit std::atomic<bool> is_locked = false, watching = false, launch_is_quiet = false;
// Not zero in this process: its page is one that the kernel wipes in children.
constinit const volatile std::byte* mark = nullptr;

void make_mark() {
    const std::size_t bytes = system_page();
    void* const page = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return;
    (void)madvise(page, bytes, MADV_WIPEONFORK);  // old kernels have it not, and such children their parent's pages
    *static_cast<std::byte*>(page) = std::byte{1};
    mark = static_cast<const volatile std::byte*>(page);
}

void lock() {
    while (is_locked.exchange(true, std::memory_order_acquire)) sched_yield();
}
void unlock() {
    is_locked.store(false, std::memory_order_release);
}

// Signals stay as the program has them while it forks: a handler that touches a protected page then would wait for
// itself, so they are blocked here, too.
constinit thread_local SignalMask before_fork = 0;
void prepare_fork() {
    before_fork = block_signals();
    lock();
}
void continue_parent() {
    unlock();
    change_signals(before_fork);
}
// The parent's copies are none of its child, which has its memory as it was.
void leave_parent() {
    handle_in_child();
    watching = false;
    the_state.copies.open_all();
    the_state.record = nullptr;
    unlock();
}
void continue_child() {
    leave_parent();
    change_signals(before_fork);
}

}  // namespace

thread_local unsigned InDriver::depth = 0;
thread_local bool InDriver::is_drivers_thread = false;

std::uint32_t State::site_of(const Frames& frames) {
    const std::uint64_t hash = frames.hash();
    auto* const end = hashes_.begin() + site_count_;
    auto* const known = std::find(hashes_.begin(), end, hash);
    if (known != end) return static_cast<std::uint32_t>(known - hashes_.begin() + 1);
    // The last one stays empty, for those without a text.
    if (site_count_ == most_sites - 1) return 0;
    hashes_[site_count_] = hash;
    places.describe(frames, sites_[site_count_]);
    return static_cast<std::uint32_t>(++site_count_);
}

// Null where it has been recorded, or there is no room.
Finding* State::begin_finding(const Access& use, std::uint64_t touch, bool is_write, const Range& touched) const {
    if (record == nullptr) return nullptr;
    Finding* finding = record->slot(use.site, touch, (use.is_write ? 2 : 0) + (is_write ? 1 : 0));
    if (finding == nullptr || finding->count++ != 0) return nullptr;
    const Range bytes = use.rows.range();
    finding->stream = use.stream;
    finding->copied_bytes = bytes.end - bytes.begin;
    finding->touched_at = touched.begin > bytes.begin ? touched.begin - bytes.begin : 0;
    finding->thread_of_copy = use.thread;
    finding->is_into_host = use.is_write ? 1 : 0;
    finding->is_write = is_write ? 1 : 0;
    finding->copy_place = text_of(use.site);
    return finding;
}

void State::note(const Access& copy, const Frames& touch, const Range& touched, bool is_write,
                 bool is_system_call) const {
    Finding* const finding = begin_finding(copy, touch.hash(), is_write, touched);
    if (finding == nullptr) return;
    finding->kind = is_system_call ? Finding::by_system_call : Finding::by_processor;
    finding->thread_of_touch = static_cast<std::uint32_t>(syscall(SYS_gettid));
    places.describe(touch, finding->touch_place);
    finding->is_complete = 1;
}

void State::note(const Access& earlier, const Access& later) const {
    // Not the hash of a touch.
    const std::uint64_t touch = ~(later.site == 0 ? 0 : hashes_[later.site - 1]);
    Finding* const finding = begin_finding(earlier, touch, later.is_write, later.rows.range());
    if (finding == nullptr) return;
    finding->kind = later.is_free || earlier.is_free ? Finding::by_free : Finding::by_stream;
    finding->other_stream = later.stream;
    finding->thread_of_touch = later.thread;
    finding->touch_place = text_of(later.site);
    finding->is_complete = 1;
}

void State::count_copy() const {
    if (record == nullptr) return;
    record->followed = followed;
    record->without_room = copies.without_room();
}

void State::let_go(const char* reason, const Clock& clock) {
    if (record != nullptr && (copies.any() || accesses.any())) record->add_reason(reason);
    copies.finish(clock);
    accesses.finish(clock);
}

void State::protect_none(const char* reason) {
    if (record != nullptr) record->add_reason(reason);
    copies.protect_none();
}

void State::stop(const char* reason) {
    if (record != nullptr) record->add_reason(reason);
    watching = false;
    copies.open_all();
}

Locked::Locked() noexcept {
    lock();
}
Locked::~Locked() {
    const State& state = the_state;
    launch_is_quiet.store(state.has_launched && !state.devices_meet && !state.copies.any() && !state.accesses.any(),
                          std::memory_order_relaxed);
    unlock();
}
State* Locked::operator->() const noexcept {
    return &the_state;
}

Places& places() noexcept {
    return the_state.places;
}
bool is_launch_quiet() noexcept {
    return launch_is_quiet.load(std::memory_order_relaxed);
}
bool is_watching() noexcept {
    if (!watching.load(std::memory_order_relaxed)) return false;
    if (mark == nullptr || *mark != std::byte{0}) return true;
    // In a child that the C library knows nothing of: the thread that held the lock is not here.
    leave_parent();
    return false;
}

void before_fork_alone() noexcept {
    prepare_fork();
}
void after_fork_alone(bool is_child) noexcept {
    is_child ? continue_child() : continue_parent();
}

// Before the program's own, so that the lock is taken after what these wait for.
__attribute__((constructor)) void hook_forks() {
    if (is_enabled()) pthread_atfork(&prepare_fork, &continue_parent, &continue_child);
}

bool begin_watching() noexcept {
    static constinit std::atomic<bool> has_begun = false;
    static constinit std::mutex beginning;
    if (has_begun.load(std::memory_order_acquire)) return is_watching();
    interpose::guarded([] {
        const std::lock_guard guard(beginning);
        if (has_begun.load(std::memory_order_relaxed)) return;
        has_begun.store(true, std::memory_order_release);
        if (interpose::is_switched_off("ISTHMUS_RACES")) return;
        Record* const record = make_record();
        if (record == nullptr) return;
        {
            const Locked state;
            state->record = record;
        }
        begin_handling();
        make_mark();
        watching = true;
    });
    return is_watching();
}

}  // namespace isthmus::races
