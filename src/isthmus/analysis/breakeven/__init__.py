"""From how many uses on a way of transferring pays for its set-up."""
