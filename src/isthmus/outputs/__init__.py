"""What people have of other tools (nvbandwidth, bandwidthTest, DCGM, nvidia-smi, lspci, ...), read into runs."""

from isthmus.outputs.opening import TOOLS, Outputs, read_outputs
