"""From how many uses on a memory kind of transferring pays for its set-up."""
