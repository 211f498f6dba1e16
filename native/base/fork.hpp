// Tells a process from the one that it was forked from.
#pragma once

namespace isthmus {

// How often this process and those before it were forked. What was made at another number belongs to a parent: its
// threads are not here, and its drivers do not work here.
unsigned fork_generation();

}  // namespace isthmus
