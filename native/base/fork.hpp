// Tells a process from the one that it was forked from.
#pragma once

#include <array>
#include <cstddef>
#include <mutex>
#include <new>
#include <utility>

namespace isthmus {

// How often this process and those before it were forked. What was made at another number belongs to a parent: its
// threads are not here, and its drivers do not work here.
unsigned fork_generation();

// The kernel's release, as uname names it.
const char* system_release();
// Whether a fork copies pages that a driver has locked. Before Linux 5.9 the first of both that writes gets another
// page than the one that the device has.
bool forks_copy_locked_pages();

// Never destroys what it is given, and takes no memory for that: what its destructor would do is not for this process,
// or would wait for what is not there.
template <typename Thing>
void keep_for_good(Thing thing) noexcept {
    alignas(Thing) std::array<std::byte, sizeof(Thing)> place;
    ::new (static_cast<void*>(place.data())) Thing(std::move(thing));
}

// Keeps forks from happening while another thread has this mutex, which would stay locked in the child. For one
// that is the whole process's, whose holder waits for no other such mutex; from now on and for good.
void outlast_forks(std::mutex& mutex);

// Such a one from the beginning, of something that is never destroyed.
struct ProcessMutex : std::mutex {
    ProcessMutex() { outlast_forks(*this); }
};

}  // namespace isthmus
