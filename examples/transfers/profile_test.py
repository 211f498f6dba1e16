"""Copies 4 MiB there and back, and times nothing: a profiler does that without a change.

isthmus trace -- python profile_test.py [DEVICE]
"""

import sys

import numpy as np

import isthmus

host = np.zeros(1048576, np.int32)
there = isthmus.to_device(host, sys.argv[1] if len(sys.argv) > 1 else None)
isthmus.to_host(there, out=host)
