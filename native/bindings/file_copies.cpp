// Copies from files that Python has opened.
#include <descriptions.hpp>

#include <array>
#include <span>
#include <string>

#include "bindings/arrays/exchange.hpp"
#include "bindings/batch.hpp"
#include "bindings/errors.hpp"
#include "bindings/gil.hpp"
#include "bindings/module.hpp"
#include "bindings/released.hpp"
#include "bindings/session.hpp"
#include "transfer/pieces/file_bytes.hpp"

namespace nb = nanobind;

namespace isthmus::bindings {
namespace {

void copy_from_file(nb::handle destination, int descriptor, std::uint64_t offset, nb::handle stream,
                    nb::handle session) {
    end_kept();
    const std::optional<std::uintptr_t> asked = stream_of(stream);
    CurrentStreams current;
    const Operand to(destination, Role::destination, asked, Keep::object, current);
    if (to.is_read_only()) raise({Code::invalid_argument, "the destination (" + to.text() + ") is read-only"});
    if (!to.is_contiguous()) {
        raise({Code::invalid_argument, "the destination (" + to.text() +
                                           ") has gaps or another order than C's, and a file's bytes go to one block; "
                                           "read into a contiguous array, then copy"});
    }
    const std::shared_ptr<Session> chosen = session_for(session, to, to);
    if (to.bytes() == 0) return;
    const Outcome outcome = without_gil([&] {
        std::array<std::uintptr_t, 1> ready{to.ready().value_or(0)};
        const auto ordered = unwrap(joined(*chosen, asked, std::span(ready).first(to.ready() ? 1 : 0)));
        return chosen->copy_from_file(to.view(), {descriptor, offset}, ordered);
    });
    check_copy(outcome, "copy_from_file");
}

}  // namespace

void bind_file_copies(nb::module_& module) {
    module.def("copy_from_file", &copy_from_file, ISTHMUS_DESCRIBED(copy_from_file), nb::arg("dst").none(),
               nb::arg("descriptor"), nb::arg("offset"), nb::kw_only(), nb::arg("stream") = nb::none(),
               nb::arg("session") = nb::none());
}

}  // namespace isthmus::bindings
