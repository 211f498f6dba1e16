// Bytes of an open file, as the source of a copy: threads read them in place of memory.
#include "transfer/pieces/file_bytes.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <string>
#include <system_error>

#include "base/cache.hpp"
#include "base/cache_copies.hpp"

namespace isthmus {
namespace {

// What a core keeps in its first cache between the system's copy and its own past the caches.
constexpr std::size_t bounce_bytes = std::size_t{32} << 10;

}  // namespace

Status FileBytes::read(std::byte* to, std::size_t begin, std::size_t bytes, Stores stores) const {
    if (stores == Stores::ordinary) return read(to, begin, bytes);
    alignas(cache_line) std::array<std::byte, bounce_bytes> bounce;  // NOLINT(cppcoreguidelines-pro-type-member-init)
    for (std::size_t at = 0; at < bytes; at += bounce_bytes) {
        const std::size_t some = std::min(bounce_bytes, bytes - at);
        ISTHMUS_TRY(read(bounce.data(), begin + at, some));
        copy_streaming(to + at, bounce.data(), some);
    }
    end_streaming();
    return {};
}

Status FileBytes::read(std::byte* to, std::size_t begin, std::size_t bytes) const {
    const std::uint64_t first = range_.offset_bytes + begin;
    for (std::size_t done = 0; done < bytes;) {
        const ssize_t got = pread(range_.descriptor, to + done, bytes - done, static_cast<off_t>(first + done));
        if (got > 0) {
            done += static_cast<std::size_t>(got);
            continue;
        }
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) {
            return {Code::call_failed, "byte " + std::to_string(first + done) +
                                           " of the file cannot be read: " + std::generic_category().message(errno)};
        }
        return {Code::call_failed, "the file ends at byte " + std::to_string(end_within(first + done)) +
                                       ", and bytes up to " + std::to_string(range_.offset_bytes + this->bytes()) +
                                       " are asked for: it was cut off, or is shorter than was thought; get it again"};
    }
    return {};
}

// Among several threads the one that fails need not be the one that has read up to there.
std::uint64_t FileBytes::end_within(std::uint64_t most) const {
    struct stat status {};
    if (fstat(range_.descriptor, &status) != 0 || status.st_size < 0) return most;
    return std::min(most, static_cast<std::uint64_t>(status.st_size));
}

}  // namespace isthmus
