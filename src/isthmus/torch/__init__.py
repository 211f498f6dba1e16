"""For programs of PyTorch: batches, weights and checkpoints between the host and a GPU at the rate of the link.

The only part of Isthmus that imports torch.
"""

from isthmus.torch.prefetching import Prefetched, prefetch
from isthmus.torch.state_dicts import state_dict_to_device, state_dict_to_host
from isthmus.torch.weights import load_file

__all__ = ["Prefetched", "load_file", "prefetch", "state_dict_to_device", "state_dict_to_host"]
