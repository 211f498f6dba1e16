// What is recorded of the process that this library lives in.
#include "tracer/cuda/recorder.hpp"

#include <dlfcn.h>

#include <chrono>
#include <cstdlib>
#include <future>
#include <memory>

#include "base/threads.hpp"
#include "interpose/foreign_process.hpp"

namespace isthmus::tracer {
namespace {

// How often CUPTI hands over what is done, so that a program that is killed leaves most of it.
constexpr std::uint32_t flush_milliseconds = 100;
// A buffer is handed over in milliseconds.
constexpr auto flush_limit = std::chrono::seconds(2);
constexpr std::size_t buffer_bytes = std::size_t{2} << 20;

// CUPTI's own clock, where it takes no other.
const cupti::Api* clock_of = nullptr;
std::uint64_t cupti_ns() {
    std::uint64_t time = 0;
    clock_of->cuptiGetTimestamp(&time);
    return time;
}
std::uint64_t (*clock_read)() = monotonic_ns;

// Buffers that were handed back, so that their pages are there already.
class Buffers {
  public:
    std::uint8_t* take() {
        const std::lock_guard lock(mutex_);
        if (free_.empty()) return static_cast<std::uint8_t*>(std::aligned_alloc(64, buffer_bytes));
        std::uint8_t* taken = free_.back();
        free_.pop_back();
        return taken;
    }
    void give_back(std::uint8_t* buffer) {
        const std::lock_guard lock(mutex_);
        free_.push_back(buffer);
    }

  private:
    std::mutex mutex_;
    std::vector<std::uint8_t*> free_;
};

Buffers& buffers() {
    static Buffers& made = *new Buffers;  // For the process: threads use it until the very end.
    return made;
}

void on_buffer_requested(std::uint8_t** buffer, std::size_t* bytes, std::size_t* most_records) {
    *buffer = nullptr;
    interpose::guarded([&] { *buffer = buffers().take(); });
    *bytes = *buffer != nullptr ? buffer_bytes : 0;
    *most_records = 0;
}

void on_buffer_completed(cupti::Context, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
    interpose::guarded([&] {
        if (Recorder* current = interpose::Only<Recorder>::get(); current != nullptr && valid > 0)
            current->on_records(buffer, valid);
        if (buffer != nullptr) buffers().give_back(buffer);
    });
}

void on_callback(void*, int domain, std::uint32_t number, const void* data) {
    interpose::guarded([&] {
        if (Recorder* current = interpose::Only<Recorder>::get()) current->on_event(domain, number, data);
    });
}

}  // namespace

std::uint64_t trace_clock() {
    return clock_read();
}

Recorder::Recorder(cupti::Api api, Options options, Part part)
    : api_(std::move(api)),
      options_(std::move(options)),
      part_(std::move(part)),
      file_(part_.file()),
      sites_(part_.sites()),
      timing_(api_, options_.all_times, 0),
      windows_(api_, file_, options_.kernels_share),
      accelerate_mark_(reinterpret_cast<unsigned long (*)()>(dlsym(RTLD_DEFAULT, "isthmus_accelerate_mark"))) {}

Status Recorder::start(cupti::Api api, Options options) {
    ISTHMUS_TRY_ASSIGN(part, Part::create(options, monotonic_ns()));
    auto* made = new Recorder(std::move(api), std::move(options), std::move(part));
    interpose::Only<Recorder>::set(made);
    Status subscribed = made->subscribe();
    if (!subscribed.ok()) {
        made->file_.finish(trace_clock());
        interpose::Only<Recorder>::forget();
    }
    return subscribed;
}

Status Recorder::subscribe() {
    // First of all: it is what tells whether somebody else holds CUPTI, whose clock and records must stay as they are.
    ISTHMUS_TRY(api_.call(api_.cuptiSubscribe, &subscriber_, &on_callback, nullptr));
    // Before anything is recorded, so that all of it is on one clock.
    clock_of = &api_;
    const bool ours = api_.cuptiActivityRegisterTimestampCallback &&
                      api_.cuptiActivityRegisterTimestampCallback(monotonic_ns) == cupti::success;
    clock_read = ours ? monotonic_ns : cupti_ns;
    timing_.start_clock(trace_clock());
    windows_.start_clock(trace_clock());
    ISTHMUS_TRY(api_.call(api_.cuptiActivityRegisterCallbacks, &on_buffer_requested, &on_buffer_completed));
    for (const int domain : {cupti::domain_driver_api, cupti::domain_runtime_api}) {
        ISTHMUS_TRY(listen(subscriber_, domain));
    }
    ISTHMUS_TRY(
        api_.call(api_.cuptiEnableCallback, 1U, subscriber_, cupti::domain_resource, cupti::resource_context_created));
    ISTHMUS_TRY(api_.call(api_.cuptiActivityEnable, cupti::activity_kind_memcpy));
    if (const Status period = api_.call(api_.cuptiActivityFlushPeriod, flush_milliseconds); !period.ok()) {
        file_.note("Records were kept until the program ended: " + period.message());
    }
    return {};
}

// To those functions alone that are recorded: programs call others far more often.
Status Recorder::listen(cupti::Subscriber subscriber, int domain) {
    if (!api_.cuptiGetCallbackName) return api_.call(api_.cuptiEnableDomain, 1U, subscriber, domain);
    const char* name = nullptr;
    for (std::uint32_t number = 1; number < most_functions; ++number) {
        if (api_.cuptiGetCallbackName(domain, number, &name) != cupti::success || name == nullptr) continue;
        const Role role = role_of(name);
        if (role == Role::ignored) continue;
        // Devices tell of kernels. Yet CUPTI mistakes which calls copies are of where nobody listens to the driver's
        // launches between them (13.0): half of a JAX program's copies were lost.
        if (role == Role::launch) {
            if (!options_.kernels || domain == cupti::domain_runtime_api) continue;
            ISTHMUS_TRY(windows_.listen(subscriber, domain, number));
            continue;
        }
        ISTHMUS_TRY(api_.call(api_.cuptiEnableCallback, 1U, subscriber, domain, number));
    }
    return {};
}

bool Recorder::expect(Activities kind) {
    const auto place = static_cast<std::size_t>(kind);
    std::atomic<bool>&expected = expected_[place], &refused = refused_[place];
    if (expected.load(std::memory_order_relaxed) || expected.exchange(true)) return !refused;
    constexpr std::array kinds{cupti::activity_kind_concurrent_kernel, cupti::activity_kind_memset,
                               cupti::activity_kind_memcpy2, cupti::activity_kind_graph_trace};
    constexpr std::array words{"Kernels", "Fills of memory", "Copies between devices", "CUDA graphs as a whole"};
    const Status enabled = api_.call(api_.cuptiActivityEnable, kinds[place]);
    if (!enabled.ok()) file_.note(std::string(words[place]) + " are not recorded: " + enabled.message());
    if (enabled.ok() && kind == Activities::graphs) {
        file_.note(
            "CUDA graphs were recorded as a whole: isthmus trace --kernels all records their kernels, too, and when "
            "they copied.");
    }
    refused = !enabled.ok();
    return enabled.ok();
}

bool Recorder::flush() const {
    return api_.cuptiActivityFlushAll(cupti::activity_flag_flush_forced) == cupti::success;
}

// CUPTI waits for what the driver holds, and a call that the program left by a jump holds it for good: on a real card a
// program that had jumped out of a copy, in its handler of SIGBUS, hung at its end. So the thread that ends the program
// waits for as long as buffers arrive.
bool Recorder::flush_in_time() const {
    const auto flushed = std::make_shared<std::promise<bool>>();
    std::future<bool> whole = flushed->get_future();
    auto thread = start_thread("isthmus-flush", [this, flushed] { flushed->set_value(flush()); });
    if (!thread) return calls_under_way_ == 0 && flush();
    std::uint64_t seen = 0;
    do {
        seen = buffers_done_;
        if (whole.wait_for(flush_limit) == std::future_status::ready) return whole.get();
    } while (buffers_done_ != seen);
    thread->detach();
    return false;
}

void Recorder::finish() {
    interpose::guarded([this] { windows_.finish(); });
    interpose::guarded([this] {
        const bool flushed = flush_in_time();
        // What they computed would pass for time in which a device idles.
        if (flushed && graphs_launched_ > 2 * graphs_reported_) {
            file_.add_flags(trace::without_kernels);
            file_.note(
                "Devices did not report the CUDA graphs that were launched: record with isthmus trace --kernels all.");
        }
        file_.finish(flushed ? trace_clock() : 0);
    });
}

void Recorder::on_event(int domain, std::uint32_t number, const void* data) {
    if (domain == cupti::domain_resource) {
        if (!context_seen_.exchange(true)) on_context();
    } else if (data != nullptr) {
        on_call(domain, number, *static_cast<const cupti::CallbackData*>(data));
    }
}

}  // namespace isthmus::tracer
