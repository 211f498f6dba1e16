// Arrays on the device that begin before their allocation, end beyond it, or both: no form of copy takes them.
//
// overruns DEVICE BYTES: prints a line for each call that was not refused with ISTHMUS_INVALID_ARGUMENT, and ends with
// how many calls there were.
#include <isthmus.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

namespace {

constexpr std::ptrdiff_t row = 128, width = 64;
isthmus_session* session = nullptr;
int calls = 0;

// Where an array of so many bytes lies, from its lowest byte on.
struct Place {
    const char* name;
    std::ptrdiff_t begin, bytes;
};

void expect_refused(isthmus_code code, const char* form, const Place& place, bool to_device, bool is_said) {
    ++calls;
    if (code == ISTHMUS_INVALID_ARGUMENT) return;
    std::printf("%s, %s, %s, %s: %s\n", form, place.name, to_device ? "to the device" : "to the host",
                is_said ? "said" : "by address", isthmus_code_name(code));
}

isthmus_code ended(isthmus_code code, isthmus_transfer* transfer) {
    return code == ISTHMUS_OK ? isthmus_finish(transfer, nullptr) : code;
}

// Of the device's array at `place`, and one of the host that is as large.
void copy_all(char* device, char* host, const Place& place, bool to_device, bool is_said) {
    const auto refused = [&](const char* form, isthmus_code code) {
        expect_refused(code, form, place, to_device, is_said);
    };
    char* const there = device + place.begin;
    char* const to = to_device ? there : host;
    char* const from = to_device ? host : there;
    const auto direction = is_said ? (to_device ? ISTHMUS_H2D : ISTHMUS_D2H) : ISTHMUS_BY_ADDRESS;
    const auto bytes = static_cast<std::size_t>(place.bytes);
    isthmus_transfer* transfer = nullptr;
    refused("copy", isthmus_copy(session, to, from, bytes, direction, nullptr, nullptr));
    refused("copy_async",
            ended(isthmus_copy_async(session, to, from, bytes, direction, nullptr, &transfer, nullptr), transfer));

    // Rows in ascending order, and in descending order, so that the first is the highest.
    const std::size_t rows = bytes / row;
    const std::size_t shape[2] = {rows, static_cast<std::size_t>(width)};
    const std::ptrdiff_t ascending[2] = {row, 1}, descending[2] = {-row, 1};
    const auto side = [is_said](isthmus_side one) { return is_said ? one : ISTHMUS_INFER; };
    for (const bool descends : {false, true}) {
        char* const first = descends ? there + static_cast<std::ptrdiff_t>(rows - 1) * row : there;
        const isthmus_array of_device{first, 0, 1, 2, shape, descends ? descending : ascending, side(ISTHMUS_DEVICE)};
        const isthmus_array of_host{host, 0, 1, 2, shape, ascending, side(ISTHMUS_HOST)};
        const isthmus_array& target = to_device ? of_device : of_host;
        const isthmus_array& source = to_device ? of_host : of_device;
        refused("array", isthmus_copy_array(session, &target, &source, nullptr, nullptr));
        refused("array_async",
                ended(isthmus_copy_array_async(session, &target, &source, nullptr, &transfer, nullptr), transfer));
        std::vector<int> every(rows);
        for (std::size_t i = 0; i < rows; ++i) every[i] = static_cast<int>(i);
        const isthmus_rows list{every.data(), rows, sizeof(int), ISTHMUS_HOST};
        refused("rows", isthmus_copy_rows(session, 1, &target, &list, &source, &list, nullptr, nullptr));
    }

    // One such piece among others that are within the allocation, which is twice as long as they all.
    for (const std::size_t odd : {0U, 1U, 2U}) {
        std::vector<void*> targets;
        std::vector<const void*> sources;
        std::vector<std::size_t> sizes;
        for (std::size_t i = 0; i < 3; ++i) {
            char* const piece = i == odd ? there : device + static_cast<std::ptrdiff_t>(2048 * (i + 1));
            char* const local = host + static_cast<std::ptrdiff_t>(i) * (place.bytes + row);
            targets.push_back(to_device ? piece : local);
            sources.push_back(to_device ? local : piece);
            sizes.push_back(i == odd ? bytes : 64);
        }
        refused("batch", isthmus_copy_batch(session, 3, targets.data(), sources.data(), sizes.data(), direction,
                                            nullptr, nullptr));
        refused("batch_async", ended(isthmus_copy_batch_async(session, 3, targets.data(), sources.data(), sizes.data(),
                                                              direction, nullptr, &transfer, nullptr),
                                     transfer));
    }
}

}  // namespace

int main(int count, char** words) {
    if (count < 3) return 2;
    const std::ptrdiff_t bytes = std::atol(words[2]);
    void* device = nullptr;
    if (isthmus_open(words[1], nullptr, &session, nullptr) != ISTHMUS_OK) return 77;
    if (isthmus_allocate(session, ISTHMUS_DEVICE, static_cast<std::size_t>(bytes), &device, nullptr) != 0) return 77;
    std::vector<char> host(static_cast<std::size_t>(4 * bytes + 65536));
    for (const Place& place : {Place{"begins before", -row, bytes}, Place{"ends beyond", row, bytes},
                               Place{"begins before and ends beyond", -row, bytes + 2 * row},
                               Place{"begins before, a little", -row, 2 * row}}) {
        for (const bool to_device : {true, false}) {
            for (const bool is_said : {true, false}) {
                copy_all(static_cast<char*>(device), host.data(), place, to_device, is_said);
            }
        }
    }
    std::printf("calls: %d\n", calls);
    return isthmus_close(session, nullptr);
}
