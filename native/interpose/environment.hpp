// What the environment tells a library that lives in somebody else's process.
#pragma once

#include <string>
#include <vector>

namespace isthmus::interpose {

// The words of a variable of the environment, without empty ones.
std::vector<std::string> words_of(const char* variable, char separator);

}  // namespace isthmus::interpose
