// Asks OpenCL objects for their properties.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/pages.hpp"
#include "driver/opencl_api.hpp"

namespace isthmus::opencl {

// Text of a property, without trailing blanks; empty where the object does not know it. `get` is clGetPlatformInfo or
// clGetDeviceInfo.
template <typename Get, typename Object>
std::string text_of(const Api& api, const Get& get, Object object, std::uint32_t what) {
    std::size_t size = 0;
    if (!api.call(get, object, what, std::size_t{0}, static_cast<void*>(nullptr), &size).ok()) return "";
    std::vector<char> bytes(size);
    const auto none = static_cast<std::size_t*>(nullptr);
    if (!api.call(get, object, what, size, static_cast<void*>(bytes.data()), none).ok()) return "";
    std::string text(bytes.begin(), std::find(bytes.begin(), bytes.end(), '\0'));
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
}

template <typename T>
std::optional<T> value_of(const Api& api, Device device, std::uint32_t what) {
    T value{};
    const auto none = static_cast<std::size_t*>(nullptr);
    if (!api.call(api.clGetDeviceInfo, device, what, sizeof value, static_cast<void*>(&value), none).ok()) {
        return std::nullopt;
    }
    return value;
}

// Refuses what a caller took for an object of OpenCL where calls would crash: every object begins with the address of
// its driver's functions.
inline Status check_object(const void* object, const char* type) {
    const auto address = reinterpret_cast<std::uintptr_t>(object);
    if (address % sizeof(void*) == 0 && is_readable(address) &&
        is_readable(*reinterpret_cast<const std::uintptr_t*>(object))) {
        return {};
    }
    return invalid("not a " + std::string(type) +
                   ": no object of OpenCL lies there; pass the handle itself, not its address, "
                   "while the program holds it");
}

// A property of an object that a caller handed over. `get` is clGetMemObjectInfo or clGetCommandQueueInfo.
template <typename T, typename Get, typename Object>
Result<T> property_of(const Api& api, const Get& get, Object object, std::uint32_t what) {
    T value{};
    const auto none = static_cast<std::size_t*>(nullptr);
    ISTHMUS_TRY(api.call(get, object, what, sizeof value, static_cast<void*>(&value), none));
    return value;
}

}  // namespace isthmus::opencl
