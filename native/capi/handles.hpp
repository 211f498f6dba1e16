// What the opaque handles of isthmus.h hold.
#pragma once

#include <isthmus.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "backend/region.hpp"
#include "base/fork.hpp"
#include "transfer/pinned/pinned_pool.hpp"
#include "transfer/session/session.hpp"

// NOLINTBEGIN(readability-identifier-naming): the names that C knows them by
struct isthmus_session {
    std::shared_ptr<isthmus::Session> session;
    // What a null stream of an asynchronous copy means; nothing where there is no default stream.
    std::optional<std::uintptr_t> default_stream;
    unsigned generation = isthmus::fork_generation();  // in which it was opened

    std::mutex mutex;  // for what follows
    // What was given out, by address: of the device, and of the host.
    std::map<void*, std::unique_ptr<isthmus::Allocation>> memory;
    std::map<void*, isthmus::PinnedBlock> pinned;
};

struct isthmus_transfer {
    std::shared_ptr<isthmus::CopyHandle> copy;
};
// NOLINTEND(readability-identifier-naming)
