// Which kernels are recorded: all where a program launches few, else those of windows that cost a share of its time.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "driver/cupti_api.hpp"
#include "trace/writer.hpp"
#include "tracer/cuda/budget.hpp"
#include "tracer/cuda/window_plan.hpp"

namespace isthmus::tracer {

class KernelWindows {
  public:
    // `share` of the time may be spent; 1 or more: on all kernels, whatever that costs.
    KernelWindows(const cupti::Api& api, trace::TraceFile& file, double share);

    // The clock that all moments are on; before anything is listened to.
    void start_clock(std::uint64_t now_ns);
    // A function that launches kernels, which is listened to from now on; at first, and while launches are counted.
    Status listen(cupti::Subscriber subscriber, int domain, std::uint32_t number);
    // A call that begins, and launches so many kernels.
    void launched(std::uint64_t kernels);
    // Kernels that devices reported, also those of graphs that no call announced.
    void recorded(std::uint64_t kernels);
    // The program ends: the window that is open ends here.
    void finish();

    // Whether kernels are recorded in windows from now on.
    bool begun() const { return !whole_.load(std::memory_order_acquire); }

  private:
    struct Launch {
        int domain;
        std::uint32_t number;
    };
    // Whether all can still be recorded.
    void look();
    void start();
    void run();
    // False once the program ends.
    bool rest(std::uint64_t nanoseconds);
    bool listen_to_all(bool on);
    bool open();
    bool close();
    void write(std::uint64_t end_ns);
    void begin_stretch();
    Stretch stretch() const;

    const cupti::Api& api_;
    trace::TraceFile& file_;
    Budget budget_;
    WindowPlan plan_;
    // Whether all kernels are recorded so far; and whether that stays so, or the program ends.
    std::atomic<bool> whole_ = true, ended_;
    cupti::Subscriber subscriber_ = nullptr;
    std::vector<Launch> launches_;
    // Since the present stretch began.
    std::atomic<std::uint64_t> begin_ns_ = 0, last_ns_ = 0, counted_ = 0, cost_ns_ = 0;
    // Since the program began.
    std::atomic<std::uint64_t> announced_ = 0, recorded_ = 0;
    // Held while anything is switched, and at the end.
    std::mutex switching_;
    // When the window that is open began, 0 where none is; and the last launch that was counted before.
    std::uint64_t opened_ns_ = 0, launched_ns_ = 0;
};

}  // namespace isthmus::tracer
