// Short files in which the kernel tells of the system, a line each.
#pragma once

#include <fstream>
#include <string>

namespace isthmus {

// Empty where there is no such file.
inline std::string first_line(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

}  // namespace isthmus
