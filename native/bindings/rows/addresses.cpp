// Copies of memory that is given by its addresses.
#include <descriptions.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bindings/arrays/exchange.hpp"
#include "bindings/batch.hpp"
#include "bindings/errors.hpp"
#include "bindings/gil.hpp"
#include "bindings/module.hpp"
#include "bindings/released.hpp"
#include "bindings/rows/integers.hpp"

namespace nb = nanobind;

namespace isthmus::bindings {
namespace {

using StreamHandle = std::optional<std::uintptr_t>;

// Both sides by one word, as explanations have it.
Sides sides_of(nb::handle direction) {
    const std::string name = PyUnicode_Check(direction.ptr()) != 0 ? text_of(direction) : std::string();
    if (name == "h2d") return {Side::device, Side::host};
    if (name == "d2h") return {Side::host, Side::device};
    if (name == "d2d") return {Side::device, Side::device};
    if (name == "h2h") return {Side::host, Side::host};
    raise(name.empty() ? "WrongType" : "UsageError", "the direction is " + text_of(direction) +
                                                         "; expected 'h2d', 'd2h', 'd2d' or 'h2h', which names the "
                                                         "side of the sources and that of the destinations");
}

// Pieces whose addresses the caller keeps; nothing here holds their memory.
class Addresses {
  public:
    Addresses(nb::handle destination, nb::handle source, nb::handle sizes, nb::handle direction, StreamHandle stream,
              nb::handle session_object)
        : sides(sides_of(direction)),
          session(session_named(session_object)),
          destinations_(destination, "addresses of the destination", stream, Keep::memory, current_),
          sources_(source, "addresses of the source", stream, Keep::memory, current_) {
        const std::size_t pieces = destinations_.count();
        if (PyLong_Check(sizes.ptr()) != 0 && PyBool_Check(sizes.ptr()) == 0) {
            const nb::object one = nb::steal(PyTuple_Pack(1, sizes.ptr()));
            sizes_.emplace(one, "sizes", stream, Keep::memory, current_);
            const std::int64_t size = sizes_->values().front();
            same_.assign(pieces, static_cast<std::size_t>(std::max<std::int64_t>(size, 0)));
        } else {
            sizes_.emplace(sizes, "sizes", stream, Keep::memory, current_);
            if (sizes_->count() != pieces) mismatch("sizes", sizes_->count(), pieces);
        }
        if (sources_.count() != pieces) mismatch("addresses of the source", sources_.count(), pieces);
        for (const Integers* const list : {&destinations_, &sources_, &*sizes_}) check(*list);
        const std::span<const std::int64_t> own = sizes_->values();
        // Sizes are not negative, so that they are the same as numbers without a sign.
        bytes = same_.empty() ? std::span(reinterpret_cast<const std::size_t*>(own.data()), own.size())
                              : std::span<const std::size_t>(same_);
    }
    Batch batch() const {
        const auto addresses = [](const Integers& list) {
            return std::span(reinterpret_cast<const void* const*>(list.values().data()), list.values().size());
        };
        return {{addresses(destinations_), {}}, {addresses(sources_), {}}, bytes};
    }

    const Sides sides;
    const std::shared_ptr<Session> session;
    std::span<const std::size_t> bytes;

  private:
    [[noreturn]] static void mismatch(const char* what, std::size_t count, std::size_t pieces) {
        raise(invalid("there are " + std::to_string(count) + " " + what + " and " + std::to_string(pieces) +
                      " addresses of the destination; expected as many"));
    }
    void check(const Integers& list) const {
        const bool is_size = &list == &*sizes_;
        const std::string name = is_size                   ? "sizes"
                                 : &list == &destinations_ ? "addresses of the destination"
                                                           : "addresses of the source";
        if (list.on_device() != nullptr) {
            raise(invalid("the " + name + " are on a device; pass them on the host"));
        }
        const std::int64_t least = is_size ? 0 : 1;
        const auto small = std::ranges::find_if(list.values(), [&](std::int64_t value) { return value < least; });
        if (small == list.values().end()) return;
        raise(invalid("number " + std::to_string(small - list.values().begin()) + " of the " + name + " is " +
                      std::to_string(*small) + "; expected at least " + std::to_string(least)));
    }

    CurrentStreams current_;
    Integers destinations_, sources_;
    std::optional<Integers> sizes_;
    std::vector<std::size_t> same_;  // where one size is that of all
};

void copy_addresses(nb::handle destination, nb::handle source, nb::handle sizes, nb::handle direction,
                    nb::handle stream, nb::handle session) {
    end_kept();
    const StreamHandle asked = stream_of(stream);
    const Addresses addresses(destination, source, sizes, direction, asked, session);
    check_copy(without_gil([&] { return addresses.session->copy_batch(addresses.batch(), addresses.sides, asked); }),
               "copy_addresses");
}

Future copy_addresses_async(nb::handle destination, nb::handle source, nb::handle sizes, nb::handle direction,
                            nb::handle stream, nb::handle session) {
    end_kept();
    const StreamHandle asked = stream_of(stream);
    const Addresses addresses(destination, source, sizes, direction, asked, session);
    const GilReleased release;
    return {unwrap(addresses.session->copy_batch_async(addresses.batch(), addresses.sides, asked, nullptr)), {}};
}

}  // namespace

void bind_session_addresses(nb::class_<SessionHandle>& session) {
    session
        .def("copy_addresses", as_method(&copy_addresses), ISTHMUS_DESCRIBED(Session_copy_addresses),
             nb::arg("dst").none(), nb::arg("src").none(), nb::arg("sizes").none(), nb::kw_only(),
             nb::arg("direction").none(), nb::arg("stream") = nb::none())
        .def("copy_addresses_async", as_method(&copy_addresses_async), ISTHMUS_DESCRIBED(Session_copy_addresses_async),
             nb::arg("dst").none(), nb::arg("src").none(), nb::arg("sizes").none(), nb::kw_only(),
             nb::arg("direction").none(), nb::arg("stream") = nb::none());
}

void bind_addresses(nb::module_& module) {
    module.def("copy_addresses", &copy_addresses, ISTHMUS_DESCRIBED(copy_addresses), nb::arg("dst").none(),
               nb::arg("src").none(), nb::arg("sizes").none(), nb::kw_only(), nb::arg("direction").none(),
               nb::arg("stream") = nb::none(), nb::arg("session") = nb::none());
    module.def("copy_addresses_async", &copy_addresses_async, ISTHMUS_DESCRIBED(copy_addresses_async),
               nb::arg("dst").none(), nb::arg("src").none(), nb::arg("sizes").none(), nb::kw_only(),
               nb::arg("direction").none(), nb::arg("stream") = nb::none(), nb::arg("session") = nb::none());
}

}  // namespace isthmus::bindings
