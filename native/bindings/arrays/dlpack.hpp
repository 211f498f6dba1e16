// The structures of DLPack 1.3, as https://dmlc.github.io/dlpack/latest/c_api.html defines them.
#pragma once

#include <cstdint>

namespace isthmus::bindings::dlpack {

inline constexpr std::int32_t cpu = 1, cuda = 2, cuda_host = 3, opencl = 4, cuda_managed = 13;

struct Device {
    std::int32_t type;
    std::int32_t id;
    bool operator==(const Device&) const = default;
    bool is_cuda() const { return type == cuda || type == cuda_managed; }
};

inline constexpr std::uint8_t int_code = 0, uint_code = 1, complex_code = 5, bool_code = 6;

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

// Flags. Writes to a copy are lost; a padded element of less than a byte has a byte of its own (1.1).
inline constexpr std::uint64_t read_only = 1, is_copied = 2, is_padded = 4;

struct Version {
    std::uint32_t major, minor;
};

struct VersionedTensor {
    Version version;
    void* context;
    void (*deleter)(VersionedTensor*);
    std::uint64_t flags;
    Tensor tensor;
};

inline constexpr const char* name = "dltensor";
inline constexpr const char* versioned_name = "dltensor_versioned";

// What a type offers in C next to its methods (1.3), for as long as the process lives. Every major version begins with
// the header, and may lead to a table of an earlier one. Functions return 0, or -1 and set Python's exception.
struct ExchangeHeader {
    Version version;
    const ExchangeHeader* previous;
};

struct ExchangeTable {
    ExchangeHeader header;
    int (*allocate)(Tensor*, VersionedTensor**, void*, void (*)(void*, const char*, const char*));
    int (*hold)(void* object, VersionedTensor** tensor);  // the caller calls the deleter
    int (*wrap)(VersionedTensor*, void** object);
    // Owns nothing: what it points to is the object's, for as long as nothing else runs. Null where there is no such.
    int (*view)(void* object, Tensor* tensor);
    int (*current_stream)(std::int32_t device_type, std::int32_t device, void** stream);
};

inline constexpr const char* exchange_name = "dlpack_exchange_api";

}  // namespace isthmus::bindings::dlpack
