// Where the table of a machine's device is kept, and how it is found.
#pragma once

#include <string>

#include "transfer/table/transfer_table.hpp"

namespace isthmus {

struct DeviceInfo;

// In the user's cache, as the XDG Base Directory Specification has it; the name says the backend, which device it is
// and its driver, since another driver is another machine. Empty where the user has no home.
std::string table_path(const DeviceInfo& device);

// What is in a file. Fails with invalid_argument, naming the file and the line, or why it cannot be read.
Result<TransferTable> read_table(const std::string& path);

// The machine's table for the device if it was calibrated, else the built-in one; where the former cannot be used, the
// origin of the latter says why.
TransferTable table_for(const DeviceInfo& device);

}  // namespace isthmus
