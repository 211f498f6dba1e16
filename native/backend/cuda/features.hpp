// What a CUDA device can do, as its attributes say.
#pragma once

#include "backend/cuda/context.hpp"

namespace isthmus::cuda {

struct Features {
    int multiprocessors = 1;
    bool maps_host_memory = false;
    bool registers_host_memory = false;
    bool managed = false;
    bool concurrent_managed = false;
    bool memory_pools = false;
};

Result<Features> read_features(const PrimaryContext& context);

}  // namespace isthmus::cuda
