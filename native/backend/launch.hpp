// What kernels are launched with: their arguments, held to the table's rows, and how many threads they get.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "backend/device.hpp"
#include "backend/region.hpp"
#include "kernels/table.hpp"

namespace isthmus {

// One argument. Implicit, so that lists of them can be written as the kernel's parameters are.
struct KernelArgument {
    enum class Type { region, u64, u32, f64 };

    KernelArgument() = default;
    // NOLINTBEGIN(google-explicit-constructor)
    KernelArgument(Region memory) : region(memory) {}
    KernelArgument(std::uint64_t value) : type(Type::u64), bits(value) {}
    KernelArgument(std::uint32_t value) : type(Type::u32), bits(value) {}
    KernelArgument(double value) : type(Type::f64), bits(std::bit_cast<std::uint64_t>(value)) {}
    // NOLINTEND(google-explicit-constructor)

    // As what its type says.
    template <typename T>
    T as() const {
        if constexpr (std::is_same_v<T, Region>) {
            return region;
        } else if constexpr (std::is_same_v<T, double>) {
            return std::bit_cast<double>(bits);
        } else {
            return static_cast<T>(bits);
        }
    }

    Type type = Type::region;
    Region region;
    // The value of any other type. Hosts are little-endian, so that its first bytes are a u32 as well.
    std::uint64_t bits = 0;
};

// A device has at most so many parameters for one kernel; a region takes two.
inline constexpr std::size_t most_kernel_parameters = 20;

// A kernel with the types of its parameters, to which Device::launch holds its callers.
template <typename Parameters>
struct Kernel;
template <typename... Parameters>
struct Kernel<void(Parameters...)> {
    static_assert(((std::is_same_v<Parameters, Region> ? 2 : 1) + ... + 0) <= most_kernel_parameters);
    KernelId id;
};

namespace kernel {
using u32 = std::uint32_t;
using u64 = std::uint64_t;
#define ISTHMUS_ROW(name, operation, threads, counted, needs_doubles, parameters) \
    inline constexpr Kernel<void parameters> name{KernelId::name};
ISTHMUS_KERNELS(ISTHMUS_ROW)
#undef ISTHMUS_ROW
}  // namespace kernel

// As Device::launch.
template <typename... Parameters>
Status launch(Device& device, Stream& stream, Kernel<void(Parameters...)> kernel,
              std::type_identity_t<Parameters>... arguments) {
    const std::array<KernelArgument, sizeof...(Parameters)> list{KernelArgument(arguments)...};
    return device.launch(stream, kernel.id, list, 0);
}

// The same by at most so many blocks, if that is not 0: of kernels that copy.
template <typename... Parameters>
Status launch_few(Device& device, Stream& stream, std::uint32_t most_blocks, Kernel<void(Parameters...)> kernel,
                  std::type_identity_t<Parameters>... arguments) {
    const std::array<KernelArgument, sizeof...(Parameters)> list{KernelArgument(arguments)...};
    return device.launch(stream, kernel.id, list, most_blocks);
}

// Enqueues the launches of fill that write the pattern of base/pattern.hpp into a region of any size.
Status fill_on_device(Device& device, Stream& stream, Region region, std::uint64_t seed);

struct Grid {
    std::uint32_t blocks, threads;  // threads of each block
};

// `multiprocessors` is the number of SMs (OpenCL: compute units). `most_blocks` as Device::launch.
Grid grid_of(KernelId kernel, std::span<const KernelArgument> arguments, std::uint32_t multiprocessors,
             std::uint32_t most_blocks);

}  // namespace isthmus
