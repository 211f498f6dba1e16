// What is known of machines before calibration.
#include "transfer/table/built_in.hpp"

#include <utility>

#include "transfer/table/transfer_table.hpp"

namespace isthmus {
namespace {

TransferTable parsed(std::string_view text) {
    auto result = TransferTable::parse(text);
    TransferTable table = result.ok() ? std::move(result.value()) : TransferTable{};
    table.built_in = true;
    return table;
}

// The text of the table with the longest name that this one begins with; empty where there is none.
std::string_view text_for(std::string_view name) {
    BuiltInTable best{};
    for (const BuiltInTable& table : built_in_tables()) {
        if (table.name.size() > best.name.size() && name.starts_with(table.name)) best = table;
    }
    return best.text;
}

}  // namespace

TransferTable TransferTable::defaults(std::string_view backend, std::string_view device) {
    static const TransferTable of_cuda = parsed(text_for("cuda"));
    static const TransferTable of_others = parsed(text_for("others"));
    if (backend != "cuda") return of_others;
    const std::string_view own = text_for(device);
    return own.empty() ? of_cuda : parsed(own);
}

}  // namespace isthmus
