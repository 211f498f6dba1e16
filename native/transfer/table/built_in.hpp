// What is known of machines before calibration: the tables of native/transfer/table/built_in.
#pragma once

#include <string_view>
#include <vector>

namespace isthmus {

struct BuiltInTable {
    std::string_view name;  // what devices' names begin with; `cuda` for CUDA's other devices, `others` for all others
    std::string_view text;
};

// Made by CMake.
const std::vector<BuiltInTable>& built_in_tables();

}  // namespace isthmus
