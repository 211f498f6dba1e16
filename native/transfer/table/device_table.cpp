// Which of the tables that are built in is a device's.
#include "transfer/table/device_tables.hpp"

namespace isthmus {

const DeviceTable* device_table(const std::vector<DeviceTable>& tables, std::string_view device) {
    const DeviceTable* best = nullptr;
    for (const DeviceTable& table : tables) {
        const bool longer = best == nullptr || table.name.size() > best->name.size();
        if (longer && device.starts_with(table.name)) best = &table;
    }
    return best;
}

}  // namespace isthmus
