// The structures of DLPack 1.1, as https://dmlc.github.io/dlpack/latest/c_api.html defines them.
#pragma once

#include <cstdint>

namespace isthmus::bindings::dlpack {

inline constexpr std::int32_t cpu = 1, cuda = 2, cuda_host = 3, opencl = 4, cuda_managed = 13;

struct Device {
    std::int32_t type;
    std::int32_t id;
    bool operator==(const Device&) const = default;
};

struct DataType {
    std::uint8_t code;
    std::uint8_t bits;
    std::uint16_t lanes;
};

struct Tensor {
    void* data;
    Device device;
    std::int32_t dimensions;
    DataType type;
    std::int64_t* shape;
    std::int64_t* strides;  // in elements; null where rows follow one another
    std::uint64_t byte_offset;
};

struct ManagedTensor {
    Tensor tensor;
    void* context;
    void (*deleter)(ManagedTensor*);
};

// Flags. What is written to a copy nobody reads; a padded element of less than a byte has a byte of its own (1.1).
inline constexpr std::uint64_t read_only = 1, is_copied = 2, is_padded = 4;

struct VersionedTensor {
    struct Version {
        std::uint32_t major, minor;
    } version;
    void* context;
    void (*deleter)(VersionedTensor*);
    std::uint64_t flags;
    Tensor tensor;
};

inline constexpr const char* name = "dltensor";
inline constexpr const char* versioned_name = "dltensor_versioned";

}  // namespace isthmus::bindings::dlpack
