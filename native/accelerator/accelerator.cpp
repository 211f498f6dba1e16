// The library in a program: takes the copies that it makes faster, and leaves all others as they are.
#include "accelerator/accelerator.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <mutex>

#include "accelerator/crowd.hpp"
#include "accelerator/functions.hpp"
#include "base/clock.hpp"
#include "base/fork.hpp"
#include "interpose/environment.hpp"
#include "interpose/foreign_process.hpp"

namespace isthmus::accelerator {
namespace {

// The first copy's costs: page-locked memory, threads, and the library's own start. What a copy gains at least, in
// seconds per byte: 10 against 40 GB/s, and 4 against 30.
constexpr double start_seconds = 20e-3, gain_to_device = 7e-11, gain_to_host = 2e-10;
// The same for page-locked memory, by two links in place of one: 100 against 54 GB/s.
constexpr double gain_of_links = 8e-12;
constexpr std::size_t part_alignment = 64;

const Options& options() {
    static const Options& read = *new Options(Options::from_environment());
    return read;
}

// Null where it cannot work: in the child of a fork, after the process began to end, or without memory.
Accelerator* current() {
    using Mine = interpose::Only<Accelerator>;
    static std::atomic<bool> tried = false;
    static constinit std::mutex mutex;
    // Guarded by it, too: memory may run out before they do, and again after.
    static bool outlasts_forks = false;
    static Ledger* ledger = nullptr;
    if (!tried.load(std::memory_order_acquire)) {
        const std::lock_guard lock(mutex);
        if (!tried.load(std::memory_order_relaxed)) {
            if (!outlasts_forks) outlast_forks(mutex);
            outlasts_forks = true;
            if (ledger == nullptr) ledger = Ledger::open(options().folder);
            if (ledger != nullptr) {
                ledger->leave_all(Reason::no_memory);
                Mine::set(new Accelerator(options(), *ledger));
                Mine::follow_process();
                ledger->leave_none();
            }
            tried.store(true, std::memory_order_release);
        }
    }
    return Mine::get();
}

}  // namespace

bool is_switched_off() noexcept {
    enum class Switch : char { unknown, on, off };
    static std::atomic<Switch> known = Switch::unknown;
    Switch now = known.load(std::memory_order_relaxed);
    if (now != Switch::unknown) return now == Switch::off;
    now = interpose::is_switched_off("ISTHMUS_ACCELERATE") ? Switch::off : Switch::on;
    if (known.exchange(now) == Switch::unknown && now == Switch::off) {
        interpose::guarded([] {
            if (Ledger* ledger = Ledger::open(options().folder)) ledger->leave_all(Reason::switched_off);
        });
    }
    return now == Switch::off;
}

std::size_t least_bytes() noexcept {
    static std::atomic<std::size_t> known = 0;
    std::size_t least = known.load(std::memory_order_relaxed);
    if (least != 0) return least;
    // Without memory to read the options every copy is the driver's.
    least = std::numeric_limits<std::size_t>::max();
    interpose::guarded([&] { known = least = options().least_bytes; });
    return least;
}

bool has_ended(const Progress& progress) noexcept {
    if (progress.stage != Progress::Stage::ended) return false;
    // What the driver refuses is no copy.
    if (progress.reason && progress.code == 0) count_left(*progress.reason, progress.bytes);
    return true;
}

bool next_part(Request& request, Progress& progress) noexcept {
    const Inside inside;
    const NotCancelled not_cancelled;
    std::optional<bool> is_more;
    interpose::guarded([&] {
        if (Accelerator* const accelerator = current()) is_more = accelerator->go_on(request, progress);
    });
    // Memory ran out, at worst after some of it had been copied.
    return is_more ? *is_more : progress.leave(request.bytes());
}

void count_left(Reason reason, std::size_t bytes) noexcept {
    const Inside inside;
    const NotCancelled not_cancelled;
    interpose::guarded([&] {
        if (Accelerator* const accelerator = current()) accelerator->count_left(reason, bytes);
    });
}

void begin_host_pages(const void* site, std::size_t bytes, const void* frame) noexcept {
    const Inside inside;
    const NotCancelled not_cancelled;
    interpose::guarded([&] {
        Accelerator* const accelerator = current();
        HostPages* const pages = accelerator != nullptr ? accelerator->host_pages() : nullptr;
        if (pages != nullptr) pages->begin(site, bytes, frame);
    });
}

void end_host_pages(bool succeeded) noexcept {
    const Inside inside;
    const NotCancelled not_cancelled;
    interpose::guarded([&] {
        Accelerator* const accelerator = interpose::Only<Accelerator>::get();
        HostPages* const pages = accelerator != nullptr ? accelerator->host_pages() : nullptr;
        if (pages != nullptr) pages->end(succeeded);
    });
    HostAllocation::of_thread().since = nullptr;
}

void begin() noexcept {
    const Inside inside;
    const NotCancelled not_cancelled;
    interpose::guarded([] { (void)current(); });
}

// The accelerator is there already, or it is not: what may be called with any locks held does not start it.
StagedStep staged(StagedCopy& copy) noexcept {
    if (Inside::here()) return StagedStep::plain;
    const Inside inside;
    const NotCancelled not_cancelled;
    StagedStep step = StagedStep::plain;
    interpose::guarded([&] {
        if (Accelerator* const accelerator = interpose::Only<Accelerator>::get()) step = accelerator->go_on(copy);
    });
    return step;
}

bool Accelerator::left(Reason reason, const Request& request, Progress& progress) {
    return progress.leave(request.bytes(), reason);
}

bool Accelerator::pays(const Request& request) {
    if (options_.eager || missed_seconds_ >= start_seconds) return true;
    const double a_byte = request.is_pinned() ? gain_of_links : request.to_device() ? gain_to_device : gain_to_host;
    const double gain = static_cast<double>(request.bytes()) * a_byte;
    return missed_seconds_.fetch_add(gain) + gain >= start_seconds;
}

std::optional<Reason> Accelerator::why_not(Request& request) {
    if (auto reason = request.why_not(options_, ledger_)) return reason;
    if (!pays(request)) return Reason::early;
    // No threads are to copy it.
    if (request.is_pinned()) return request.divides() ? std::nullopt : std::optional(Reason::not_pageable);
    if (!options_.eager && is_crowded()) return Reason::crowded;
    return std::nullopt;
}

Way Accelerator::way_of(const Request& request) {
    if (request.is_pinned()) return request.to_device() ? Way::pinned_to_device : Way::pinned_to_host;
    return request.to_device() ? Way::to_device : Way::to_host;
}

std::size_t Accelerator::sampled_bytes(const Request& request) {
    // The rates of one link and of two differ by less: a larger sample shows it, and leaves more than half to divide.
    const std::size_t most = request.is_pinned() ? most_sampled_of_links : most_sampled_bytes;
    const std::size_t share = request.bytes() / (request.is_pinned() ? 4 : 2);
    return std::min(share / part_alignment * part_alignment, most);
}

bool Accelerator::may_sample_whole(Request& request) const {
    double seconds_per_byte = learning_.driver_seconds_per_byte(way_of(request));
    if (seconds_per_byte == 0) seconds_per_byte = request.probe();
    return static_cast<double>(request.bytes()) * seconds_per_byte <= most_whole_seconds;
}

bool Accelerator::queue(Request& request, Progress& progress) {
    auto queued = request.queue();
    if (!queued.ok()) {
        ledger_.keep(queued.take_status().message());
        request.failed();
        return left(Reason::failed, request, progress);
    }
    if (!queued.value()) return left(Reason::links_taken, request, progress);
    ledger_.queue(request.bytes());
    Inside::copied();
    return progress.end();
}

bool Accelerator::go_on(Request& request, Progress& progress) {
    switch (progress.stage) {
        case Progress::Stage::fresh: return begin(request, progress);
        case Progress::Stage::sampled: return has_sampled(request, progress);
        case Progress::Stage::last_part: return progress.code != 0 ? progress.end() : end(request, progress);
        case Progress::Stage::ended: break;
    }
    return progress.end();
}

bool Accelerator::begin(Request& request, Progress& progress) {
    if (stopped_) return progress.leave(request.bytes());
    if (const auto reason = why_not(request)) return left(*reason, request, progress);
    if (request.is_queued()) return queue(request, progress);
    const auto [row, maker] = learning_.next({request.site(), way_of(request), request.bytes()});
    if (maker == Learning::Maker::driver && !options_.eager) return left(Reason::slower, request, progress);
    // The time of earlier work on the stream is neither the driver's nor the library's.
    if (!request.wait().ok()) return progress.leave(request.bytes());
    if (const auto reason = request.why_not_yet()) return left(*reason, request, progress);
    progress.has_waited = true;
    progress.row = row;
    progress.to_device = request.to_device();
    progress.sampled = SampleParts(request.in_one_piece() ? sampled_bytes(request) : request.bytes());
    const bool samples = maker == Learning::Maker::sample && (request.in_one_piece() || may_sample_whole(request));
    return samples ? sample(request, progress) : by_library(request, progress);
}

bool Accelerator::sample(Request& request, Progress& progress) {
    const std::size_t made = progress.sampled.bytes();
    const std::size_t bytes = request.in_one_piece() ? progress.sampled.next() : request.bytes() - made;
    if (bytes == 0) return made < request.bytes() ? by_library(request, progress) : end(request, progress);
    progress.stage = Progress::Stage::sampled;
    progress.begin = made;
    progress.bytes = bytes;
    progress.begun = now();
    return true;
}

bool Accelerator::has_sampled(Request& request, Progress& progress) {
    if (progress.code != 0) return progress.end();
    if (const auto reason = request.why_not_resume(progress.to_device, options_, ledger_)) {
        return left(*reason, request, progress);
    }
    // What is not known to have arrived is copied once more, and finds a failure.
    if (request.has_ended_soon()) {
        progress.sampled.add(progress.bytes, seconds_between(progress.begun, now()));
        return sample(request, progress);
    }
    return progress.sampled.bytes() < request.bytes() ? by_library(request, progress) : end(request, progress);
}

bool Accelerator::by_library(Request& request, Progress& progress) {
    const std::size_t begin = progress.sampled.bytes();
    const std::size_t end = request.bytes() - request.last_bytes_of_driver();
    const TimePoint begun = now();
    const Outcome outcome = request.by_library(begin);
    if (!outcome.status.ok()) {
        ledger_.keep(outcome.status.message());
        request.failed();
        return left(Reason::failed, request, progress);
    }
    progress.ours = {end - begin, seconds_between(begun, now())};
    if (end == request.bytes()) return this->end(request, progress);
    progress.stage = Progress::Stage::last_part;
    progress.begin = end;
    progress.bytes = request.bytes() - end;
    return true;
}

bool Accelerator::end(Request& request, Progress& progress) {
    const SampleParts& sampled = progress.sampled;
    learning_.record(progress.row, progress.ours, {sampled.bytes(), sampled.seconds()}, sampled.seconds_per_byte());
    if (progress.ours.bytes != 0) Inside::copied();
    if (!options_.verify) return progress.end();
    auto same = request.same_by_driver();
    std::atomic_ref(ledger_.checked).fetch_add(1);
    if (same.ok() && same.value()) return progress.end();
    if (same.ok()) {
        std::atomic_ref(ledger_.wrong).fetch_add(1);
        ledger_.leave_all(Reason::differed);
        stopped_ = true;
    }
    if (progress.stage == Progress::Stage::last_part) request.forget_last_part();
    return progress.leave(request.bytes());
}

}  // namespace isthmus::accelerator
