"""From a trace and a run of the machine to what to change, and what that would gain."""
