// What is recorded of the process that this library lives in.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "driver/cupti_api.hpp"
#include "driver/cupti_records.hpp"
#include "tracer/cuda/copy_timing.hpp"
#include "tracer/cuda/functions.hpp"
#include "tracer/cuda/graphs.hpp"
#include "tracer/cuda/kernel_windows.hpp"
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
    // What devices tell of besides copies. Each costs a program time even where there is nothing to tell, so that it is
    // asked for by the first call that can bring it.
    enum class Activities : std::uint8_t { kernels, fills, peer_copies, graphs };
    // Whether it is recorded from now on.
    bool expect(Activities kind);
    Status listen(cupti::Subscriber subscriber, int domain);
    void on_call(int domain, std::uint32_t number, const cupti::CallbackData& data);
    // What a graph makes is told by devices alone, and so are kernels.
    void expect_graph();
    // Whether devices tell of a graph as a whole, which costs next to nothing, and of none of its kernels and copies.
    bool whole_graphs();
    void expect_kernels();
    void begin_launch();
    void launch_graph(int domain, const cupti::CallbackData& data);
    // Copies that devices report, too, if they time those of graphs.
    void write_copies(const Graphs::Contents& graph, const cupti::CallbackData& data, std::uint32_t correlation,
                      std::uint64_t begin_ns);
    void begin_outermost_call(const Function& function, const cupti::CallbackData& data);
    void begin_call(const Function& function, const cupti::CallbackData& data);
    void end_call(struct ThreadState& thread, const Function& function, const cupti::CallbackData& data);
    // Whether CUPTI has handed over all that it held.
    bool flush() const;
    // The same for as long as it gets on.
    bool flush_in_time() const;
    void on_context();
    void count_migrations();
    void name_devices();
    // What is known of the function with this number, or null where there can be none.
    const Function* function(int domain, std::uint32_t number, const char* name);

    void add(const cupti::CopyActivity& copy, trace::Writer& writer);
    void add(const cupti::PeerCopyActivity& copy, trace::Writer& writer);
    void add(const cupti::MemsetActivity& memset, trace::Writer& writer);
    void add(const cupti::KernelActivity& kernel, trace::Writer& writer);
    void add(const cupti::GraphActivity& graph, trace::Writer& writer);
    void add(const cupti::UnifiedMemoryCounter& counter, trace::Writer& writer);
    std::uint32_t kernel_name(const char* name);

    // CUPTI's numbers of functions are some hundreds in each domain.
    static constexpr std::size_t domains = 3, most_functions = 4096;

    cupti::Api api_;
    Options options_;
    Part part_;
    trace::TraceFile& file_;
    cupti::Subscriber subscriber_ = nullptr;
    CallSites& sites_;
    CopyTiming timing_;
    KernelWindows windows_;
    Graphs graphs_;
    // Launches of graphs that are recorded as a whole, and those of them that devices reported.
    std::atomic<std::uint64_t> graphs_launched_ = 0, graphs_reported_ = 0;
    // Null of functions that have not been called yet.
    std::array<std::array<std::atomic<const Function*>, most_functions>, domains> functions_{};
    std::array<std::atomic<bool>, 4> expected_{}, refused_{};
    std::mutex functions_mutex_;
    std::vector<std::unique_ptr<Function>> made_functions_;
    std::atomic<bool> context_seen_ = false;
    // That have begun and not ended. Those that the program left by a jump count to the end.
    std::atomic<std::uint32_t> calls_under_way_ = 0;
    // CUPTI's buffers that were read to their ends.
    std::atomic<std::uint64_t> buffers_done_ = 0;
    // Where the program is accelerated, too (native/accelerator/exports.cpp): odd while the calling thread is in there,
    // and higher after each copy that was made there.
    unsigned long (*accelerate_mark_)() = nullptr;
    std::mutex names_mutex_;
    std::unordered_map<std::string, std::uint32_t> kernel_names_;
};

// Nanoseconds on the clock of the trace.
std::uint64_t trace_clock();

}  // namespace isthmus::tracer
