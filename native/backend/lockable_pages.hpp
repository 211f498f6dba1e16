// The pages of registered memory, whatever provides them.
#pragma once

#include "backend/memory_kind.hpp"
#include "base/pages.hpp"

namespace isthmus {

// The caller's; or its own, which prepare() gets and touches once; or, where the kind counts that, pages that each
// acquire() gets and touches.
class LockablePages {
  public:
    LockablePages(MemoryKind kind, std::size_t bytes, std::byte* pages)
        : kind_(kind), bytes_(bytes), block_(source_of(kind), bytes), pages_(pages) {}

    Status prepare() {
        if (!is_registered(kind_) || pages_ != nullptr || is_touched(kind_)) return {};
        ISTHMUS_TRY(block_.acquire());
        pages_ = block_.data();
        touch_pages(pages_, bytes_);
        return {};
    }
    Status acquire() {
        if (!is_touched(kind_)) return {};
        ISTHMUS_TRY(block_.acquire());
        touch_pages(block_.data(), bytes_);
        return {};
    }
    void release() {
        if (is_touched(kind_)) block_.release();
    }
    // After the driver has not let go of them.
    void leave() {
        if (block_.data() == nullptr) return;  // they are the caller's
        block_.leave();
        pages_ = nullptr;
    }
    // Null for kinds whose pages the driver provides.
    std::byte* data() const { return is_touched(kind_) ? block_.data() : pages_; }

  private:
    MemoryKind kind_;
    std::size_t bytes_;
    HostBlock block_;
    std::byte* pages_;
};

}  // namespace isthmus
