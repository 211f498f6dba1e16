// Which other devices a session may go by.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"

namespace isthmus {

// None, all that reach the session's device, or those of these indices.
struct Paths {
    bool all = false;
    std::vector<int> devices;

    bool is_own() const { return !all && devices.empty(); }

    // "own", "all", or names such as "cuda:1,cuda:2" of other devices of the same backend. Empty is what ISTHMUS_PATHS
    // says, whose names of other backends and of the device itself do not count; without that, own. Fails with
    // invalid_argument.
    static Result<Paths> parse(const std::string& text, std::string_view backend, int own_index);
};

}  // namespace isthmus
