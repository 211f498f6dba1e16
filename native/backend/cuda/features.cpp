// What a CUDA device can do, as its attributes say.
#include "backend/cuda/features.hpp"

namespace isthmus::cuda {

Result<Features> read_features(const PrimaryContext& context) {
    Features features;
    ISTHMUS_TRY(assign(features.multiprocessors, context.attribute(attribute_multiprocessor_count)));
    // An attribute that an old driver does not know means that the feature is not there.
    const auto has = [&context](int attribute) {
        auto value = context.attribute(attribute);
        return value.ok() && value.value() != 0;
    };
    features.maps_host_memory = has(attribute_can_map_host_memory);
    features.registers_host_memory = has(attribute_host_register_supported);
    features.managed = has(attribute_managed_memory);
    features.concurrent_managed = has(attribute_concurrent_managed_access);
    features.memory_pools = has(attribute_memory_pools_supported);
    return features;
}

}  // namespace isthmus::cuda
