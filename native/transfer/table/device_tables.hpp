// Tables that are built in for single devices.
#pragma once

#include <string_view>
#include <vector>

namespace isthmus {

// What devices whose names begin so choose by until they are calibrated.
struct DeviceTable {
    std::string_view name, text;
};

const std::vector<DeviceTable>& device_tables();

// The one with the longest name that the device's begins with; null where there is none.
const DeviceTable* device_table(const std::vector<DeviceTable>& tables, std::string_view device);

}  // namespace isthmus
