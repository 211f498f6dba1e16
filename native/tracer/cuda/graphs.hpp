// What graphs of CUDA do each time they are launched: read from their nodes when they are instantiated.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tracer/cuda/functions.hpp"

namespace isthmus::tracer {

class Graphs {
  public:
    struct Contents {
        std::uint64_t kernels = 0;
        std::vector<CopyOperands> copies;
    };

    // A function of the driver that concerns graphs has returned; parameters are as CUPTI has them.
    // What changes an executable graph has it read again, or forgotten where the parameters do not tell how.
    void returned(std::string_view function, const void* parameters);
    // What the graph does that is launched with these parameters; null where that is not known.
    std::shared_ptr<const Contents> of(const void* parameters);
    // The handle of the stream that it is launched on.
    static std::uint64_t stream_of(const void* parameters);

  private:
    void read_again(std::uint64_t executable, std::uint64_t graph);

    std::mutex mutex_;
    std::unordered_map<std::uint64_t, std::shared_ptr<const Contents>> known_;
};

}  // namespace isthmus::tracer
