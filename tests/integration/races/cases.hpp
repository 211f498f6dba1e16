// Programs that run the case whose name is their first word; their second is how they get at the driver.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "tests/integration/accelerate/driver.hpp"

inline Context of_program = nullptr;

inline int run_case(int count, char** words, const std::function<void(const std::string&)>& run) {
    of_program = begin_driver(count > 2 ? words[2] : "dlsym");
    if (of_program == nullptr) return 77;
    run(words[1]);
    return wrong == 0 ? 0 : 1;
}

using Cases = std::map<std::string, std::function<void()>>;
inline int run_case(int count, char** words, const Cases& cases) {
    return run_case(count, words, [&](const std::string& name) { cases.at(name)(); });
}
