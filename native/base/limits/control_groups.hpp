// The control groups of this process, as far up as they are mounted here.
#pragma once

#include <string>
#include <vector>

namespace isthmus {

struct ControlGroup {
    std::string folder;
    bool unified = true;  // of version 2
};

// The groups that may limit what `controller` ("cpu", "memory") gives this process: its own and all above it, of both
// versions. `root` is before every path that is read: empty but in tests.
std::vector<ControlGroup> control_groups(const std::string& root, const std::string& controller);

// The words of a line between blanks.
std::vector<std::string> words_of(const std::string& line);

}  // namespace isthmus
