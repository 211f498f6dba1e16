// Python's view of sessions.
#include "bindings/session.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <descriptions.hpp>

#include <atomic>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "backend/device.hpp"
#include "backend/device_info.hpp"
#include "base/fork.hpp"
#include "bindings/callbacks.hpp"
#include "bindings/errors.hpp"
#include "bindings/gil.hpp"
#include "bindings/module.hpp"
#include "bindings/released.hpp"
#include "experiment/buffer.hpp"
#include "transfer/copy/ends.hpp"

namespace nb = nanobind;

namespace isthmus::bindings {
namespace {

// The sessions of the process, to be closed when it ends.
class Opened {
  public:
    static Opened& get() {
        // Never freed: sessions may be closed until the very end.
        static auto* const opened = new Opened;
        return *opened;
    }
    void add(const std::shared_ptr<Session>& session) {
        const std::lock_guard lock(mutex_);
        std::erase_if(sessions_, [](const auto& known) { return known.expired(); });
        sessions_.push_back(session);
    }
    std::vector<std::shared_ptr<Session>> take() {
        const std::lock_guard lock(mutex_);
        std::vector<std::shared_ptr<Session>> alive;
        for (const auto& known : sessions_) {
            if (auto session = known.lock()) alive.push_back(std::move(session));
        }
        sessions_.clear();
        return alive;
    }

  private:
    ProcessMutex mutex_;
    std::vector<std::weak_ptr<Session>> sessions_;
};

// Set when Python shuts down.
std::atomic<bool> shut_down{false};

void open(SessionHandle* self, const std::shared_ptr<experiment::OpenDevice>& device,
          std::optional<std::size_t> pinned_budget, std::size_t threads, const std::optional<std::string>& table,
          std::uint32_t kernel_blocks, const std::string& paths) {
    check_not_shut_down();
    SessionOptions options{.pinned_budget_bytes = pinned_budget,
                           .threads = threads,
                           .kernel_blocks = kernel_blocks,
                           .paths = paths,
                           .table = std::nullopt};
    if (table) options.table = unwrap(TransferTable::parse(*table));
    std::shared_ptr<Session> session = unwrap(Session::open(device->device_handle(), std::move(options)));
    Opened::get().add(session);
    new (self) SessionHandle{.session = std::move(session)};
}

// Ends the copies of all sessions, also of those that Python has let go of and copies still keep.
void close_sessions() {
    Status failure;
    shut_down = true;
    {
        const GilReleased release;
        for (const std::shared_ptr<Session>& session : Opened::get().take()) {
            Status status = session->close();
            if (failure.ok()) failure = std::move(status);
        }
    }
    end_callbacks();
    end_kept();
    check(failure);
}

std::string device_name(const SessionHandle& self) {
    return name_of(self.session->device());
}

}  // namespace

void check_not_shut_down() {
    if (!shut_down) return;
    raise(invalid("Python is shutting down and Isthmus has closed its sessions: copy before exit"));
}

void bind_sessions(nb::module_& module) {
    module.def("close_sessions", &close_sessions);
    module.def("tolerate_leaks", [] { nb::set_leak_warnings(false); });
    module.def("forget_sessions", [] { static_cast<void>(Opened::get().take()); });
    nb::class_<SessionHandle> session(module, "Session", described::Session.text);
    bind_session_copies(session);
    bind_session_batch(session);
    bind_session_rows(session);
    bind_session_addresses(session);
    session
        .def("__init__", &open, nb::arg("device"), nb::arg("pinned_budget"), nb::arg("threads"),
             nb::arg("table") = nb::none(), nb::arg("kernel_blocks") = 0, nb::arg("paths") = "", ReleaseGil())
        .def_prop_ro("device", &device_name, described::Session_device.text)
        .def_prop_ro(
            "table", [](const SessionHandle& self) { return self.session->table().text(); },
            described::Session_table.text)
        .def_prop_ro(
            "table_origin", [](const SessionHandle& self) { return self.session->table().origin; },
            described::Session_table_origin.text)
        .def_prop_ro(
            "pinned_bytes", [](const SessionHandle& self) { return self.session->pinned_bytes(); },
            described::Session_pinned_bytes.text)
        .def_prop_ro(
            "pinned_budget_bytes", [](const SessionHandle& self) { return self.session->pinned_budget_bytes(); },
            described::Session_pinned_budget_bytes.text)
        .def_prop_ro(
            "pinned_pool_bytes", [](const SessionHandle& self) { return self.session->pinned_pool_bytes(); },
            described::Session_pinned_pool_bytes.text)
        .def_prop_ro(
            "ways",
            [](const SessionHandle& self) {
                nb::dict dict;
                for (const auto& [name, bytes] : self.session->links_taken()) dict[name.c_str()] = bytes;
                return dict;
            },
            described::Session_ways.text)
        .def(
            "trim", [](SessionHandle& self) { check(self.session->trim()); }, ISTHMUS_DESCRIBED(Session_trim),
            ReleaseGil())
        .def_ro("closed", &SessionHandle::closed, described::Session_closed.text)
        .def(
            "close",
            [](SessionHandle& self) {
                Status status;
                self.closed = true;
                {
                    const GilReleased release;
                    status = self.session->close();
                }
                end_kept();
                check(status);
            },
            ISTHMUS_DESCRIBED(Session_close));
}

}  // namespace isthmus::bindings
