// Races between copies and fills of a program, by the order that its calls ask for.
//
// Looks at the driver's calls as they end. Threads of the host count as one line: what one of them has waited for, all
// have, because how they wait for each other is not known. Where an edge cannot be followed, what it may order is
// neither kept nor compared: a race may stay unseen, and none is made up.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "driver/cupti_records.hpp"
#include "trace/writer.hpp"
#include "tracer/call_sites.hpp"
#include "tracer/cuda/order.hpp"

namespace isthmus::tracer {

class Races {
  public:
    Races(trace::TraceFile& file, CallSites& sites)
        : file_(file), sites_(sites), host_(order_.begin(Order::Kind::thread)) {}

    // Whether calls of this function of the driver are looked at.
    static bool follows(std::string_view function);
    // A call of the driver's that has succeeded.
    void on_call(const cupti::CallbackData& data, trace::Writer& writer);

  private:
    Line line_of(std::uint64_t handle, bool of_thread);
    bool follow_edge(std::string_view function, const cupti::CallbackData& data);
    void forget_memory(std::string_view function, const void* parameters);
    void stop(std::string_view function);
    void copy(std::string_view function, const cupti::CallbackData& data, trace::Writer& writer);
    void fill(std::string_view function, const cupti::CallbackData& data, trace::Writer& writer);
    void touch(Line stream, Access access, const cupti::CallbackData& data, trace::Writer& writer);
    Place place_of(const char* function);

    trace::TraceFile& file_;
    CallSites& sites_;
    std::mutex mutex_;  // guards what follows
    Order order_;
    const Line host_;
    bool is_blind_ = false;  // for good: an order cannot be followed
    unsigned captures_ = 0;
    std::map<std::uint64_t, Line> streams_;
    std::unordered_map<std::uint64_t, Clock> events_;
    // The places of accesses: a site and the name of a call, both texts of the file.
    std::vector<std::pair<std::uint32_t, std::uint32_t>> places_;
    std::map<std::pair<std::uint32_t, std::uint32_t>, Place> known_places_;
};

}  // namespace isthmus::tracer
