"""Copies between host memory and accelerators at the rate of the link, from and to any library's arrays."""

from isthmus._native import (
    Batch,
    Future,
    batch,
    copy,
    copy_addresses,
    copy_addresses_async,
    copy_async,
    copy_batch,
    copy_batch_async,
    copy_rows,
    copy_rows_async,
)
from isthmus.transfer.arrays import DeviceArray
from isthmus.transfer.explanation import Explanation
from isthmus.transfer.file_copies import copy_from_file
from isthmus.transfer.pinned import Pinned, pin, pinned_empty, pinned_like
from isthmus.transfer.results import ResultMemory, result_memory
from isthmus.transfer.sessions import (
    Session,
    default_session,
    device_empty,
    explain,
    explain_batch,
    explain_rows,
    to_device,
    to_device_async,
    to_host,
    to_host_async,
)
