// What is recorded of the process that this library lives in.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "driver/cupti_api.hpp"
#include "driver/cupti_records.hpp"
#include "tracer/cuda/functions.hpp"
#include "tracer/options.hpp"
#include "tracer/part.hpp"

namespace isthmus::tracer {

class Recorder {
  public:
    // Begins to record. Fails where there is no CUPTI, another profiler holds it, or no file can be made.
    static Status start(cupti::Api api, Options options);

    // Fetches what CUPTI still holds, and closes the file.
    void finish();

    // An event of CUPTI: a call that begins or ends, or a new context.
    void on_event(int domain, std::uint32_t number, const void* data);
    // A buffer of records that CUPTI has filled.
    void on_records(std::uint8_t* buffer, std::size_t bytes);

  private:
    Recorder(cupti::Api api, Options options, Part part);

    Status subscribe();
    void on_call(int domain, std::uint32_t number, const cupti::CallbackData& data);
    void begin_call(Role role, const cupti::CallbackData& data);
    void end_call(struct ThreadState& thread, int domain, std::uint32_t number, const cupti::CallbackData& data);
    void on_context();
    void count_migrations();
    void name_devices();
    Role role(int domain, std::uint32_t number, const char* function);
    // The text of a function's name.
    std::uint32_t name(int domain, std::uint32_t number, const char* function);

    void add(const cupti::CopyActivity& copy, trace::Writer& writer);
    void add(const cupti::PeerCopyActivity& copy, trace::Writer& writer);
    void add(const cupti::MemsetActivity& memset, trace::Writer& writer);
    void add(const cupti::KernelActivity& kernel, trace::Writer& writer);
    void add(const cupti::UnifiedMemoryCounter& counter, trace::Writer& writer);
    std::uint32_t kernel_name(const char* name);

    // By domain and number of function, found once by name. Roles are one higher, so that 0 is unknown yet.
    static constexpr std::size_t domains = 3, most_functions = 2048;
    template <typename T>
    using ByFunction = std::array<std::array<std::atomic<T>, most_functions>, domains>;

    cupti::Api api_;
    Options options_;
    Part part_;
    trace::TraceFile& file_;
    CallSites& sites_;
    ByFunction<std::uint8_t> roles_{};
    ByFunction<std::uint32_t> names_{};
    std::atomic<bool> context_seen_ = false;
    std::mutex names_mutex_;
    std::unordered_map<std::string, std::uint32_t> kernel_names_;
};

// Nanoseconds on the clock of the trace.
std::uint64_t trace_clock();

}  // namespace isthmus::tracer
