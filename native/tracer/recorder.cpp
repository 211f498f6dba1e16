// What is recorded of the process that this library lives in.
#include "tracer/recorder.hpp"

#include <dlfcn.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fstream>

namespace isthmus::tracer {
namespace {

std::atomic<Recorder*> recorder{nullptr};
// Apart from the pointer, without which tools that look for leaks would take the recorder for one.
std::atomic<bool> forgotten{false};

// How often CUPTI hands over what is done, so that a program that is killed leaves most of it.
constexpr std::uint32_t flush_milliseconds = 100;
constexpr std::size_t buffer_bytes = std::size_t{2} << 20;

std::uint64_t monotonic_ns() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

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

// Nothing is thrown into a foreign program; what can be is that memory ran out, of which it will hear itself.
template <typename Work>
void guarded(const Work& work) noexcept {
    try {
        work();
    } catch (...) {
        return;
    }
}

void on_buffer_requested(std::uint8_t** buffer, std::size_t* bytes, std::size_t* most_records) {
    *buffer = buffers().take();
    *bytes = *buffer != nullptr ? buffer_bytes : 0;
    *most_records = 0;
}

void on_buffer_completed(cupti::Context, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
    guarded([&] {
        if (Recorder* current = Recorder::current(); current != nullptr && valid > 0)
            current->on_records(buffer, valid);
        if (buffer != nullptr) buffers().give_back(buffer);
    });
}

void on_callback(void*, int domain, std::uint32_t number, const void* data) {
    guarded([&] {
        if (Recorder* current = Recorder::current()) current->on_event(domain, number, data);
    });
}

// The rank that whatever started this process gave it; -1 where none did.
std::int32_t rank() {
    for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK", "SLURM_PROCID"}) {
        const char* text = std::getenv(name);
        std::int32_t number = -1;
        if (text != nullptr && std::from_chars(text, text + std::strlen(text), number).ec == std::errc()) return number;
    }
    return -1;
}

std::string process_name() {
    std::ifstream file("/proc/self/comm");
    std::string name;
    std::getline(file, name);
    return name;
}

// Of several programs that one process becomes in turn, each has a file.
Result<std::unique_ptr<trace::TraceFile>> make_file(const Options& options) {
    std::uint32_t flags = options.contents ? trace::recorded_contents : 0;
    for (int number = 0;; ++number) {
        const std::string path =
            options.folder + "/" + std::to_string(getpid()) + "-" + std::to_string(number) + ".part";
        errno = 0;
        auto made = trace::TraceFile::create(path, process_name(), rank(), flags, trace_clock());
        constexpr int most = 10'000;
        if (made.ok() || errno != EEXIST || number == most) return made;
    }
}

}  // namespace

std::uint64_t trace_clock() {
    return clock_read();
}

Recorder* Recorder::current() {
    return forgotten.load(std::memory_order_relaxed) ? nullptr : recorder.load(std::memory_order_acquire);
}

void Recorder::forget() {
    forgotten.store(true, std::memory_order_relaxed);
}

Recorder::Recorder(cupti::Api api, Options options, std::unique_ptr<trace::TraceFile> file,
                   std::optional<PythonFrames> python)
    : api_(std::move(api)),
      options_(std::move(options)),
      file_(std::move(file)),
      sites_(*file_, python, options_.native_stacks) {}

Status Recorder::start(cupti::Api api, Options options) {
    // Before anything is recorded, so that all of it is on one clock.
    static cupti::Api& kept = *new cupti::Api(api);
    clock_of = &kept;
    const bool ours = kept.cuptiActivityRegisterTimestampCallback &&
                      kept.cuptiActivityRegisterTimestampCallback(monotonic_ns) == cupti::success;
    clock_read = ours ? monotonic_ns : cupti_ns;
    ISTHMUS_TRY_ASSIGN(file, make_file(options));
    std::string version;
    std::optional<PythonFrames> python;
    if (options.python_lines) python = PythonFrames::find(version);
    if (options.python_lines && !python && !version.empty()) {
        file->note("No lines of Python: the frames of Python " + version.substr(0, version.find(' ')) +
                   " are not known to this version of isthmus.");
    }
    if (python || options.native_stacks) file->add_flags(trace::recorded_call_sites);
    auto* made = new Recorder(std::move(api), std::move(options), std::move(file), python);
    recorder.store(made, std::memory_order_release);
    Status subscribed = made->subscribe();
    if (!subscribed.ok()) {
        made->file_->finish(trace_clock());
        forget();
    }
    return subscribed;
}

Status Recorder::subscribe() {
    cupti::Subscriber subscriber = nullptr;
    // First of all: it is what tells whether somebody else holds CUPTI.
    ISTHMUS_TRY(api_.call(api_.cuptiSubscribe, &subscriber, &on_callback, nullptr));
    ISTHMUS_TRY(api_.call(api_.cuptiActivityRegisterCallbacks, &on_buffer_requested, &on_buffer_completed));
    for (const int domain : {cupti::domain_driver_api, cupti::domain_runtime_api}) {
        ISTHMUS_TRY(api_.call(api_.cuptiEnableDomain, 1U, subscriber, domain));
    }
    ISTHMUS_TRY(
        api_.call(api_.cuptiEnableCallback, 1U, subscriber, cupti::domain_resource, cupti::resource_context_created));
    for (const int kind : {cupti::activity_kind_memcpy, cupti::activity_kind_memcpy2, cupti::activity_kind_memset,
                           cupti::activity_kind_concurrent_kernel}) {
        ISTHMUS_TRY(api_.call(api_.cuptiActivityEnable, kind));
    }
    if (const Status period = api_.call(api_.cuptiActivityFlushPeriod, flush_milliseconds); !period.ok()) {
        file_->note("Records were kept until the program ended: " + period.message());
    }
    return {};
}

void Recorder::finish() {
    const bool whole = api_.cuptiActivityFlushAll(cupti::activity_flag_flush_forced) == cupti::success;
    file_->finish(whole ? trace_clock() : 0);
}

void Recorder::on_event(int domain, std::uint32_t number, const void* data) {
    if (domain == cupti::domain_resource) {
        if (!context_seen_.exchange(true)) on_context();
    } else if (data != nullptr) {
        on_call(domain, number, *static_cast<const cupti::CallbackData*>(data));
    }
}

}  // namespace isthmus::tracer
