"""The runner's parts: cases, rounds, sampling, buffers, saving."""
