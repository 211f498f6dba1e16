// Which kernels are recorded.
#include "tracer/cuda/kernel_windows.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/threads.hpp"
#include "tracer/cuda/recorder.hpp"

namespace isthmus::tracer {
namespace {

// The rest of what may be spent is for copies, and for what is not foreseen.
constexpr double goal = 0.6;
// What the first kernels may cost: a program of 2,000 has all of them, and creating its context takes 20 times as long.
constexpr std::uint64_t most_at_once_ns = 10'000'000;
// The clock is read once in so many launches while all kernels are recorded.
constexpr std::uint64_t launches_a_look = 64;
// At the end of the program it is not waited for.
constexpr std::uint64_t look_ns = 20'000'000;
constexpr std::uint64_t switching_limit_ns = 2'000'000'000;

}  // namespace

KernelWindows::KernelWindows(const cupti::Api& api, trace::TraceFile& file, double share)
    : api_(api), file_(file), budget_(goal * share, most_at_once_ns, 0), plan_(goal * share), ended_(share >= 1.0) {}

void KernelWindows::start_clock(std::uint64_t now_ns) {
    budget_.begin(now_ns);
    opened_ns_ = now_ns;
    launched_ns_ = now_ns;
}

Status KernelWindows::listen(cupti::Subscriber subscriber, int domain, std::uint32_t number) {
    subscriber_ = subscriber;
    launches_.push_back({domain, number});
    return api_.call(api_.cuptiEnableCallback, 1U, subscriber, domain, number);
}

void KernelWindows::launched(std::uint64_t kernels) {
    const std::uint64_t count = counted_.fetch_add(1, std::memory_order_relaxed);
    cost_ns_.fetch_add(recording_ns(kernels), std::memory_order_relaxed);
    if (!whole_.load(std::memory_order_relaxed)) {
        last_ns_.store(trace_clock(), std::memory_order_relaxed);
        return;
    }
    announced_.fetch_add(kernels, std::memory_order_relaxed);
    budget_.spend(recording_ns(kernels));
    if (count % launches_a_look == launches_a_look - 1 || kernels >= launches_a_look) look();
}

void KernelWindows::recorded(std::uint64_t kernels) {
    const std::uint64_t all = recorded_.fetch_add(kernels, std::memory_order_relaxed) + kernels;
    const std::uint64_t announced = announced_.load(std::memory_order_relaxed);
    if (!whole_.load(std::memory_order_relaxed) || all <= announced) return;
    announced_.fetch_add(all - announced, std::memory_order_relaxed);
    budget_.spend(recording_ns(all - announced));
    look();
}

void KernelWindows::look() {
    if (ended_.load(std::memory_order_relaxed) || budget_.affords(trace_clock(), 0)) return;
    if (whole_.exchange(false)) start();
}

void KernelWindows::start() {
    auto thread = start_thread("isthmus-windows", [this] { run(); });
    if (thread) return thread->detach();
    file_.note("All kernels are recorded, which slows the program: there was no room for a thread that counts them.");
    ended_ = true;
}

void KernelWindows::run() {
    close();
    listen_to_all(false);
    std::uint64_t pause = plan_.next_window_ns();
    while (rest(pause)) {
        const std::uint64_t lasts = plan_.next_window_ns();
        if (!listen_to_all(true) || !rest(WindowPlan::compared_ns)) return;
        const Stretch before = stretch();
        if (!open() || !rest(lasts)) return;
        Stretch opened = stretch();
        // For as long as little is launched, and no longer: what that leaves is not saved for later.
        while (plan_.is_cheap(before) && plan_.is_cheap(opened)) {
            begin_stretch();
            if (!rest(lasts)) return;
            opened = stretch();
        }
        begin_stretch();
        if (!close() || !rest(WindowPlan::compared_ns)) return;
        const Stretch after = stretch();
        listen_to_all(false);
        pause = plan_.pause_ns(before, opened, after);
    }
}

bool KernelWindows::rest(std::uint64_t nanoseconds) {
    while (!ended_.load() && nanoseconds > 0) {
        const std::uint64_t part = std::min(nanoseconds, look_ns);
        std::this_thread::sleep_for(std::chrono::nanoseconds(part));
        nanoseconds -= part;
    }
    return !ended_.load();
}

bool KernelWindows::listen_to_all(bool on) {
    const std::lock_guard lock(switching_);
    if (ended_) return false;
    for (const Launch& launch : launches_) {
        (void)api_.cuptiEnableCallback(on ? 1U : 0U, subscriber_, launch.domain, launch.number);
    }
    begin_stretch();
    return true;
}

bool KernelWindows::open() {
    const std::lock_guard lock(switching_);
    if (ended_) return false;
    const std::uint64_t before_ns = last_ns_;
    // The time that it takes is the window's, which it costs.
    begin_stretch();
    if (api_.cuptiActivityEnable(cupti::activity_kind_concurrent_kernel) != cupti::success) return false;
    // What is launched while it opens may be missing.
    launched_ns_ = counted_ > 0 ? last_ns_.load() : before_ns;
    opened_ns_ = trace_clock();
    return true;
}

bool KernelWindows::close() {
    const std::lock_guard lock(switching_);
    if (ended_) return false;
    write(trace_clock());
    (void)api_.cuptiActivityDisable(cupti::activity_kind_concurrent_kernel);
    return true;
}

void KernelWindows::finish() {
    // Without windows all kernels were recorded.
    if (ended_.exchange(true) || whole_) return;
    // CUPTI may wait for a call that the program has left by a jump.
    for (const std::uint64_t begin_ns = monotonic_ns(); monotonic_ns() - begin_ns < switching_limit_ns;) {
        if (const std::unique_lock lock(switching_, std::try_to_lock); lock.owns_lock()) return write(trace_clock());
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

void KernelWindows::write(std::uint64_t end_ns) {
    if (opened_ns_ == 0) return;
    file_.add_flags(trace::without_kernels);
    trace::Writer* writer = file_.writer();
    writer->write(trace::WindowRecord{.start_ns = opened_ns_, .end_ns = end_ns, .launched_ns = launched_ns_});
    file_.recycle(writer);
    opened_ns_ = 0;
}

void KernelWindows::begin_stretch() {
    begin_ns_ = trace_clock();
    last_ns_ = begin_ns_.load();
    counted_ = 0;
    cost_ns_ = 0;
}

Stretch KernelWindows::stretch() const {
    return {.begin_ns = begin_ns_, .end_ns = trace_clock(), .launches = counted_, .cost_ns = cost_ns_};
}

}  // namespace isthmus::tracer
