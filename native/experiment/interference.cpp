// One timed case: work that runs by itself, and then during copies.
#include "experiment/interference.hpp"

#include <algorithm>
#include <string>
#include <thread>
#include <utility>

#include "backend/launch.hpp"
#include "base/threads.hpp"
#include "experiment/amount.hpp"
#include "experiment/session_copy.hpp"
#include "transfer/session/session.hpp"

namespace isthmus::experiment {
namespace {

// Launches of a compute-bound neighbour: copies that begin meanwhile meet kernels that begin, too.
constexpr std::uint64_t compute_launches = 8;
constexpr std::uint32_t most_rounds = 1U << 30;
constexpr std::uint64_t thread_rounds = 1000;  // of one unit of a thread's work
constexpr double least_copies = 4;             // during the neighbour's work
constexpr std::string_view alone_seconds = "alone_seconds", beside_seconds = "beside_seconds";

}  // namespace

// When each copy began and ended.
struct Interference::Copies {
    std::atomic<std::size_t> ended = 0;
    std::atomic<bool> left = false;  // no thread copies any more
    std::vector<std::pair<TimePoint, TimePoint>> times;
};

Interference::~Interference() = default;

Interference::Interference(const InterferencePlan& plan, std::shared_ptr<Buffer> load,
                           std::shared_ptr<Buffer> destination, std::shared_ptr<Buffer> source,
                           std::shared_ptr<Session> copies, std::shared_ptr<Buffer> load_source)
    : plan_(plan),
      load_(std::move(load)),
      destination_(std::move(destination)),
      source_(std::move(source)),
      load_source_(std::move(load_source)),
      copies_(std::move(copies)) {}

Result<std::unique_ptr<Interference>> Interference::create(const InterferencePlan& plan, std::shared_ptr<Buffer> load,
                                                           std::shared_ptr<Buffer> destination,
                                                           std::shared_ptr<Buffer> source,
                                                           std::shared_ptr<Session> copies,
                                                           std::shared_ptr<Buffer> load_source) {
    ISTHMUS_TRY(check(plan, *load, *destination, *source, copies != nullptr, load_source.get()));
    std::unique_ptr<Interference> made(new Interference(plan, std::move(load), std::move(destination),
                                                        std::move(source), std::move(copies), std::move(load_source)));
    ISTHMUS_TRY(made->prepare());
    return made;
}

Status Interference::check(const InterferencePlan& plan, Buffer& load, Buffer& destination, Buffer& source,
                           bool by_session, Buffer* load_source) {
    const bool loads_link = plan.neighbour == Neighbour::copies;
    const bool sides_differ = load_source != nullptr && is_on_device(load.kind()) != is_on_device(load_source->kind());
    if (is_on_device(destination.kind()) == is_on_device(source.kind()) ||
        !(loads_link ? sides_differ : is_on_device(load.kind()))) {
        return invalid("copies go between host memory and the device, and the work's memory is the device's");
    }
    const auto belong_together = [](Buffer& one, Buffer& other) {
        return one.session().device_handle() == other.session().device_handle();
    };
    if (!belong_together(destination, source) || (load_source != nullptr && !belong_together(load, *load_source)) ||
        (!by_session && !belong_together(load, source))) {
        return invalid("the buffers belong to different devices");
    }
    if ((plan.method == CopyMethod::isthmus) != by_session) {
        return invalid("copies by the library, and these alone, need a session");
    }
    if (plan.bytes == 0 || !(plan.seconds > 0)) {
        return invalid("copies have at least one byte, and work takes some time");
    }
    return {};
}

Status Interference::prepare() {
    ISTHMUS_TRY(device().bind_thread());
    ISTHMUS_TRY(assign(to_, destination_->region(0, plan_.bytes)));
    ISTHMUS_TRY(assign(from_, source_->region(0, plan_.bytes)));
    ISTHMUS_TRY(assign(region_, load_->region(0, load_->bytes())));
    arrivals_.push_back({destination_, 0, plan_.bytes, plan_.seed});
    if (plan_.method == CopyMethod::kernel) {
        const bool to_device = is_on_device(destination_->kind());
        if (auto why = device().why_no_reach(to_device ? source_->kind() : destination_->kind())) {
            return unsupported(*why);
        }
    }
    ISTHMUS_TRY(assign(copying_, device().create_stream()));
    ISTHMUS_TRY(loaded().bind_thread());
    if (load_source_ != nullptr) ISTHMUS_TRY(assign(load_from_, load_source_->region(0, region_.bytes)));
    ISTHMUS_TRY(assign(working_, loaded().create_stream()));
    for (std::unique_ptr<Event>* event : {&start_, &stop_}) ISTHMUS_TRY(assign(*event, loaded().create_event()));
    return {};
}

Status Interference::copy() {
    switch (plan_.method) {
        case CopyMethod::isthmus: return copy_by_session(*copies_, to_, from_);
        case CopyMethod::kernel:
            return synchronized(
                launch_few(device(), *copying_, plan_.blocks, kernel::copy, to_, from_, std::uint64_t{plan_.bytes}),
                *copying_);
        case CopyMethod::copy: break;
    }
    return synchronized(device().copy(*copying_, to_, from_), *copying_);
}

Status Interference::enqueue_work(std::uint64_t amount) {
    if (plan_.neighbour == Neighbour::copies) {
        for (std::uint64_t i = 0; i < amount; ++i) ISTHMUS_TRY(loaded().copy(*working_, region_, load_from_));
        return {};
    }
    const std::uint64_t words = region_.bytes / sizeof(std::uint32_t);
    if (plan_.neighbour == Neighbour::memory) {
        for (std::uint64_t i = 0; i < amount; ++i) {
            ISTHMUS_TRY(launch(loaded(), *working_, kernel::add, region_, words, std::uint32_t{1}));
        }
        return {};
    }
    const auto rounds = static_cast<std::uint32_t>(std::min<std::uint64_t>(amount, most_rounds));
    for (std::uint64_t i = 0; i < compute_launches; ++i) {
        ISTHMUS_TRY(launch(loaded(), *working_, kernel::work, region_, words, rounds));
    }
    return {};
}

Result<double> Interference::work(std::uint64_t amount) {
    if (plan_.neighbour == Neighbour::thread) {
        const TimePoint begin = now();
        // The generator of isthmus_work; volatile, so that the compiler cannot work it out beforehand.
        volatile std::uint32_t seen = 1;
        std::uint32_t value = seen;
        for (std::uint64_t i = 0; i < amount * thread_rounds; ++i)
            value = value * 1664525U + 1013904223U + (value >> 7);
        seen = value;
        return seconds_between(begin, now());
    }
    ISTHMUS_TRY(loaded().record(*start_, *working_));
    Status enqueued = enqueue_work(amount);
    Status recorded = loaded().record(*stop_, *working_);
    ISTHMUS_TRY(synchronized(enqueued.ok() ? std::move(recorded) : std::move(enqueued), *working_));
    return loaded().seconds_between(*start_, *stop_);
}

Status Interference::calibrate() {
    if (amount_ != 0) return {};
    ISTHMUS_TRY(copy());
    const TimePoint begin = now();
    ISTHMUS_TRY(copy());
    const double wanted = std::max(plan_.seconds, least_copies * seconds_between(begin, now()));
    return assign(amount_, amount_for(wanted, [this](std::uint64_t each) { return work(each); }));
}

Status Interference::go_on_copying(const std::atomic<bool>& enough, Copies& copies) {
    ISTHMUS_TRY(device().bind_thread());
    while (!enough) {
        const TimePoint begin = now();
        ISTHMUS_TRY(copy());
        copies.times.emplace_back(begin, now());
        ++copies.ended;
        copies.ended.notify_one();
    }
    return {};
}

Status Interference::sample(Samples& samples) {
    ISTHMUS_TRY_ASSIGN(before, work(amount_));
    Copies copies;
    Status copied;
    std::atomic<bool> enough = false;
    auto thread = start_thread("isthmus-beside", [&] {
        copied = caught([&] { return go_on_copying(enough, copies); });
        copies.left = true;
        ++copies.ended;
        copies.ended.notify_one();
    });
    if (!thread) return unsupported("the system grants no thread for the copies");
    copies.ended.wait(0);
    const TimePoint begin = now();
    Result<double> during = copies.left ? Result<double>(0.0) : work(amount_);
    const TimePoint end = now();
    enough = true;
    thread->join();
    ISTHMUS_TRY(std::move(copied));
    if (!during.ok()) return during.take_status();
    ISTHMUS_TRY_ASSIGN(after, work(amount_));
    double seconds = 0;
    std::size_t count = 0;
    // The ones during all of which the neighbour worked; if there are none, the one that was in flight.
    for (const auto& [from, to] : copies.times) {
        if (from < begin || to > end) continue;
        seconds += seconds_between(from, to);
        ++count;
    }
    const auto& [last_from, last_to] = copies.times.back();
    const double parts = plan_.neighbour == Neighbour::copies ? static_cast<double>(amount_) : 1.0;
    samples[alone_seconds].push_back((before + after) / 2 / parts);
    samples[beside_seconds].push_back(during.value() / parts);
    samples[host_seconds].push_back(count == 0 ? seconds_between(last_from, last_to)
                                               : seconds / static_cast<double>(count));
    return {};
}

Result<Samples> Interference::run(std::size_t warmups, Quota quota) {
    ISTHMUS_TRY(loaded().bind_thread());
    ISTHMUS_TRY(calibrate());
    return taken({alone_seconds, beside_seconds, host_seconds}, warmups, quota,
                 [this](Samples& samples) { return sample(samples); });
}

}  // namespace isthmus::experiment
