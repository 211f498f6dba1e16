// What the environment tells a library that lives in somebody else's process.
#pragma once

#include <string>
#include <vector>

namespace isthmus::interpose {

// The words of a variable of the environment, without empty ones.
std::vector<std::string> words_of(const char* variable, char separator);

// The folder that a variable names, wherever the program goes from where it is now; empty where it names none.
std::string folder_in(const char* variable);

// Whether a variable is set to `off`: what has this switch is to be as if it were not there.
bool is_switched_off(const char* variable);

}  // namespace isthmus::interpose
