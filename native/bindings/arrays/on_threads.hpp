// Looks at thousands of things on several threads: their memory is in no cache, and one thread waits for most of it.
#pragma once

#include <cstddef>
#include <functional>

namespace isthmus::bindings {

// One thread has seen fewer before others are awake.
inline constexpr std::size_t least_on_threads = 8192;

// Whether `holds` says yes of all parts [begin, end) of so many things, each of which is asked for once, or of none
// after the first no. The threads stay for the next call. Precondition: the interpreter's lock is held, so that there
// is one caller at a time and what Python objects have stays as it is; `holds` throws nothing and uses nothing of the
// interpreter's but memory.
bool all_hold(std::size_t count, const std::function<bool(std::size_t begin, std::size_t end)>& holds);

}  // namespace isthmus::bindings
