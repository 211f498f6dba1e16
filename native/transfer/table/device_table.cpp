// Which of the tables that are built in is a device's.
#include "transfer/table/device_tables.hpp"

namespace isthmus {

const DeviceTable* device_table(const std::vector<DeviceTable>& tables, std::string_view device) {
    const DeviceTable* found = nullptr;
    for (const DeviceTable& table : tables) {
        const bool longer = found == nullptr || table.name.size() > found->name.size();
        if (longer && device.starts_with(table.name)) found = &table;
    }
    return found;
}

}  // namespace isthmus
