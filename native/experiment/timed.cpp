// One timed case: the loop that takes its samples, and what arrived.
#include "experiment/timed.hpp"

#include "backend/device.hpp"

namespace isthmus::experiment {

Status Timed::poison() {
    for (const Arrival& arrival : arrivals_) {
        ISTHMUS_TRY(arrival.buffer->session().device().bind_thread());
        ISTHMUS_TRY_ASSIGN(region, arrival.buffer->region(arrival.offset, arrival.bytes));
        ISTHMUS_TRY(arrival.buffer->set_bytes(region, poison_byte));
    }
    return {};
}

Result<std::vector<Mismatch>> Timed::verify() {
    std::vector<Mismatch> mismatches;
    mismatches.reserve(arrivals_.size());
    for (const Arrival& arrival : arrivals_) {
        ISTHMUS_TRY(arrival.buffer->session().device().bind_thread());
        ISTHMUS_TRY_ASSIGN(region, arrival.buffer->region(arrival.offset, arrival.bytes));
        ISTHMUS_TRY_ASSIGN(mismatch, arrival.buffer->verify_pattern(region, arrival.seed, arrival.side));
        mismatches.push_back(mismatch);
    }
    return mismatches;
}

}  // namespace isthmus::experiment
