// What a copy between two devices needs of the one that is not the session's: its handle, and its part in the order.
#include <utility>

#include "backend/device.hpp"
#include "backend/device_info.hpp"
#include "transfer/session/session_impl.hpp"

namespace isthmus {

Result<Order> SessionImpl::order_of(std::optional<std::uintptr_t> stream, Device& other) {
    const bool is_default = stream.value_or(0) <= last_default_stream;
    auto own = order_of(stream);
    if (own.ok() && !is_default) return own;
    Order order;
    if (own.ok()) {
        order = std::move(own.value());
    } else {
        Status why = own.take_status();
        if (is_default || why.code() != Code::invalid_argument) return why;
    }
    Binding binding(other);
    ISTHMUS_TRY(binding.status());
    ISTHMUS_TRY_ASSIGN(borrowed, other.borrow_stream(stream.value_or(0)));
    ISTHMUS_TRY(borrowed->check_usable());
    order.others = std::move(borrowed);
    return order;
}

}  // namespace isthmus
