// The driver's functions that are hooked, and what each says of copies and of waits for them.
#pragma once

#include <climits>
#include <cstddef>
#include <cstdint>

namespace isthmus::races {

enum class Effect {
    look_up,         // another function
    copy,            // of one piece: to, from, bytes
    copy_to_device,  // the same, which does not wait for its stream where that is not pinned memory
    copy_peer,
    copy_rows,
    copy_box,
    copy_batch,
    fill,  // from an address on
    fill_rows,
    free_later,     // as the stream's next work
    blocking_copy,  // of one piece; these are of the default stream, and wait for it
    blocking_rows,
    blocking_box,
    blocking_fill,
    allocate,  // memory of a device, of which nothing is known yet
    allocate_rows,
    map,
    blocking_other,
    other_copy,  // not followed; it may wait for its stream
    allocate_host,
    lock_host,
    free_host,    // these wait for everything
    end_context,  // and its memory of the host is gone
    wait_for_all,
    wait_for_stream,
    wait_for_event,
    wait_for_events,  // both are over where it succeeds
    create_stream,
    destroy_stream,
    create_event,
    record_event,
    record_on_all,
    destroy_event,
    order_behind_event,
    order_all_behind_event,
    begin_capture,
    end_capture,
    launch,
    launch_with,  // attributes
    launch_graph,
    signal,             // to the host, when the stream has come so far
    wait_for_value,     // the stream waits until a word is written
    signal_in_graph,    // as a node of a graph
    allocate_anywhere,  // also memory of the host, by properties that are given
    share_memory,       // kernels may write what the host looks at
    share_devices,      // kernels of several devices may wait for each other
    cannot_be_followed
};

}  // namespace isthmus::races

// X(symbol, suffix for the thread's own default stream, name, since, before, effect, which parameter has the stream).
// As ISTHMUS_HOOKED (accelerator/functions.hpp). All parameters are integers and pointers, at most twelve.
#define ISTHMUS_FOLLOWED(X)                                                                                            \
    X(cuGetProcAddress, _ptsz, cuGetProcAddress, 11030, 12000, look_up, 0)                                             \
    X(cuGetProcAddress_v2, _ptsz, cuGetProcAddress, 12000, INT_MAX, look_up, 0)                                        \
    X(cuMemcpyHtoDAsync_v2, _ptsz, cuMemcpyHtoDAsync, 3020, INT_MAX, copy_to_device, 3)                                \
    X(cuMemcpyDtoHAsync_v2, _ptsz, cuMemcpyDtoHAsync, 3020, INT_MAX, copy, 3)                                          \
    X(cuMemcpyAsync, _ptsz, cuMemcpyAsync, 4000, INT_MAX, copy, 3)                                                     \
    X(cuMemcpyDtoDAsync_v2, _ptsz, cuMemcpyDtoDAsync, 3020, INT_MAX, copy, 3)                                          \
    X(cuMemcpyPeerAsync, _ptsz, cuMemcpyPeerAsync, 4000, INT_MAX, copy_peer, 5)                                        \
    X(cuMemcpy, _ptds, cuMemcpy, 4000, INT_MAX, blocking_copy, 0)                                                      \
    X(cuMemcpyHtoD_v2, _ptds, cuMemcpyHtoD, 3020, INT_MAX, blocking_copy, 0)                                           \
    X(cuMemcpyDtoH_v2, _ptds, cuMemcpyDtoH, 3020, INT_MAX, blocking_copy, 0)                                           \
    X(cuMemcpyDtoD_v2, _ptds, cuMemcpyDtoD, 3020, INT_MAX, blocking_copy, 0)                                           \
    X(cuMemcpyPeer, _ptds, cuMemcpyPeer, 4000, INT_MAX, wait_for_all, 0)                                               \
    X(cuMemcpy2D_v2, _ptds, cuMemcpy2D, 3020, INT_MAX, blocking_rows, 0)                                               \
    X(cuMemcpy2DUnaligned_v2, _ptds, cuMemcpy2DUnaligned, 3020, INT_MAX, blocking_rows, 0)                             \
    X(cuMemcpy3D_v2, _ptds, cuMemcpy3D, 3020, INT_MAX, blocking_box, 0)                                                \
    X(cuMemcpy3DPeer, _ptds, cuMemcpy3DPeer, 4000, INT_MAX, wait_for_all, 0)                                           \
    X(cuMemcpyHtoA_v2, _ptds, cuMemcpyHtoA, 3020, INT_MAX, blocking_other, 0)                                          \
    X(cuMemcpyAtoH_v2, _ptds, cuMemcpyAtoH, 3020, INT_MAX, blocking_other, 0)                                          \
    X(cuMemcpyDtoA_v2, _ptds, cuMemcpyDtoA, 3020, INT_MAX, blocking_other, 0)                                          \
    X(cuMemcpyAtoD_v2, _ptds, cuMemcpyAtoD, 3020, INT_MAX, blocking_other, 0)                                          \
    X(cuMemcpyAtoA_v2, _ptds, cuMemcpyAtoA, 3020, INT_MAX, blocking_other, 0)                                          \
    X(cuMemsetD8_v2, _ptds, cuMemsetD8, 3020, INT_MAX, blocking_fill, 0)                                               \
    X(cuMemsetD16_v2, _ptds, cuMemsetD16, 3020, INT_MAX, blocking_fill, 0)                                             \
    X(cuMemsetD32_v2, _ptds, cuMemsetD32, 3020, INT_MAX, blocking_fill, 0)                                             \
    X(cuMemsetD8Async, _ptsz, cuMemsetD8Async, 3020, INT_MAX, fill, 3)                                                 \
    X(cuMemsetD16Async, _ptsz, cuMemsetD16Async, 3020, INT_MAX, fill, 3)                                               \
    X(cuMemsetD32Async, _ptsz, cuMemsetD32Async, 3020, INT_MAX, fill, 3)                                               \
    X(cuMemsetD2D8Async, _ptsz, cuMemsetD2D8Async, 3020, INT_MAX, fill_rows, 5)                                        \
    X(cuMemsetD2D16Async, _ptsz, cuMemsetD2D16Async, 3020, INT_MAX, fill_rows, 5)                                      \
    X(cuMemsetD2D32Async, _ptsz, cuMemsetD2D32Async, 3020, INT_MAX, fill_rows, 5)                                      \
    X(cuMemcpy2DAsync_v2, _ptsz, cuMemcpy2DAsync, 3020, INT_MAX, copy_rows, 1)                                         \
    X(cuMemcpy3DAsync_v2, _ptsz, cuMemcpy3DAsync, 3020, INT_MAX, copy_box, 1)                                          \
    X(cuMemcpy3DPeerAsync, _ptsz, cuMemcpy3DPeerAsync, 4000, INT_MAX, other_copy, 1)                                   \
    X(cuMemcpyHtoAAsync_v2, _ptsz, cuMemcpyHtoAAsync, 3020, INT_MAX, other_copy, 4)                                    \
    X(cuMemcpyAtoHAsync_v2, _ptsz, cuMemcpyAtoHAsync, 3020, INT_MAX, other_copy, 4)                                    \
    X(cuMemcpyBatchAsync, _ptsz, cuMemcpyBatchAsync, 12080, 13000, copy_batch, 8)                                      \
    X(cuMemcpyBatchAsync_v2, _ptsz, cuMemcpyBatchAsync, 13000, INT_MAX, copy_batch, 7)                                 \
    X(cuMemcpy3DBatchAsync, _ptsz, cuMemcpy3DBatchAsync, 12080, 13000, other_copy, 4)                                  \
    X(cuMemcpy3DBatchAsync_v2, _ptsz, cuMemcpy3DBatchAsync, 13000, INT_MAX, other_copy, 3)                             \
    X(cuMemcpyWithAttributesAsync, _ptsz, cuMemcpyWithAttributesAsync, 13020, INT_MAX, other_copy, 4)                  \
    X(cuMemcpy3DWithAttributesAsync, _ptsz, cuMemcpy3DWithAttributesAsync, 13020, INT_MAX, other_copy, 2)              \
    X(cuMemHostAlloc, , cuMemHostAlloc, 2020, INT_MAX, allocate_host, 0)                                               \
    X(cuMemAllocHost_v2, , cuMemAllocHost, 3020, INT_MAX, allocate_host, 0)                                            \
    X(cuMemHostRegister, , cuMemHostRegister, 4000, 6050, lock_host, 0)                                                \
    X(cuMemHostRegister_v2, , cuMemHostRegister, 6050, INT_MAX, lock_host, 0)                                          \
    X(cuMemFreeHost, , cuMemFreeHost, 2000, INT_MAX, free_host, 0)                                                     \
    X(cuMemHostUnregister, , cuMemHostUnregister, 4000, INT_MAX, free_host, 0)                                         \
    X(cuMemFree_v2, , cuMemFree, 3020, INT_MAX, wait_for_all, 0)                                                       \
    X(cuMemAlloc_v2, , cuMemAlloc, 3020, INT_MAX, allocate, 0)                                                         \
    X(cuMemAllocPitch_v2, , cuMemAllocPitch, 3020, INT_MAX, allocate_rows, 0)                                          \
    X(cuMemMap, , cuMemMap, 10020, INT_MAX, map, 0)                                                                    \
    X(cuMemAllocAsync, _ptsz, cuMemAllocAsync, 11020, INT_MAX, allocate, 2)                                            \
    X(cuMemAllocFromPoolAsync, _ptsz, cuMemAllocFromPoolAsync, 11020, INT_MAX, allocate, 3)                            \
    X(cuMemFreeAsync, _ptsz, cuMemFreeAsync, 11020, INT_MAX, free_later, 1)                                            \
    X(cuMemUnmap, , cuMemUnmap, 10020, INT_MAX, wait_for_all, 0)                                                       \
    X(cuMemPoolTrimTo, , cuMemPoolTrimTo, 11020, INT_MAX, wait_for_all, 0)                                             \
    X(cuMemPoolDestroy, , cuMemPoolDestroy, 11020, INT_MAX, wait_for_all, 0)                                           \
    X(cuArrayDestroy, , cuArrayDestroy, 2000, INT_MAX, wait_for_all, 0)                                                \
    X(cuMipmappedArrayDestroy, , cuMipmappedArrayDestroy, 5000, INT_MAX, wait_for_all, 0)                              \
    X(cuModuleUnload, , cuModuleUnload, 2000, INT_MAX, wait_for_all, 0)                                                \
    X(cuLibraryUnload, , cuLibraryUnload, 12000, INT_MAX, wait_for_all, 0)                                             \
    X(cuCtxSynchronize, , cuCtxSynchronize, 2000, 13000, wait_for_all, 0)                                              \
    X(cuCtxSynchronize_v2, , cuCtxSynchronize, 13000, INT_MAX, wait_for_all, 0)                                        \
    X(cuCtxDestroy_v2, , cuCtxDestroy, 4000, INT_MAX, end_context, 0)                                                  \
    X(cuDevicePrimaryCtxReset, , cuDevicePrimaryCtxReset, 7000, 11000, end_context, 0)                                 \
    X(cuDevicePrimaryCtxReset_v2, , cuDevicePrimaryCtxReset, 11000, INT_MAX, end_context, 0)                           \
    X(cuDevicePrimaryCtxRelease, , cuDevicePrimaryCtxRelease, 7000, 11000, end_context, 0)                             \
    X(cuDevicePrimaryCtxRelease_v2, , cuDevicePrimaryCtxRelease, 11000, INT_MAX, end_context, 0)                       \
    X(cuGraphicsMapResources, _ptsz, cuGraphicsMapResources, 3000, INT_MAX, wait_for_all, 0)                           \
    X(cuGraphicsUnmapResources, _ptsz, cuGraphicsUnmapResources, 3000, INT_MAX, wait_for_all, 0)                       \
    X(cuStreamSynchronize, _ptsz, cuStreamSynchronize, 2000, INT_MAX, wait_for_stream, 0)                              \
    X(cuStreamQuery, _ptsz, cuStreamQuery, 2000, INT_MAX, wait_for_stream, 0)                                          \
    X(cuEventSynchronize, , cuEventSynchronize, 2000, INT_MAX, wait_for_event, 0)                                      \
    X(cuEventQuery, , cuEventQuery, 2000, INT_MAX, wait_for_event, 0)                                                  \
    X(cuEventElapsedTime, , cuEventElapsedTime, 2000, 12080, wait_for_events, 0)                                       \
    X(cuEventElapsedTime_v2, , cuEventElapsedTime, 12080, INT_MAX, wait_for_events, 0)                                 \
    X(cuStreamCreate, , cuStreamCreate, 2000, INT_MAX, create_stream, 0)                                               \
    X(cuStreamCreateWithPriority, , cuStreamCreateWithPriority, 5050, INT_MAX, create_stream, 0)                       \
    X(cuStreamDestroy_v2, , cuStreamDestroy, 4000, INT_MAX, destroy_stream, 0)                                         \
    X(cuEventCreate, , cuEventCreate, 2000, INT_MAX, create_event, 0)                                                  \
    X(cuEventRecord, _ptsz, cuEventRecord, 2000, INT_MAX, record_event, 1)                                             \
    X(cuEventRecordWithFlags, _ptsz, cuEventRecordWithFlags, 11010, INT_MAX, record_event, 1)                          \
    X(cuCtxRecordEvent, , cuCtxRecordEvent, 12050, INT_MAX, record_on_all, 1)                                          \
    X(cuEventDestroy_v2, , cuEventDestroy, 4000, INT_MAX, destroy_event, 0)                                            \
    X(cuStreamWaitEvent, _ptsz, cuStreamWaitEvent, 3020, INT_MAX, order_behind_event, 0)                               \
    X(cuCtxWaitEvent, , cuCtxWaitEvent, 12050, INT_MAX, order_all_behind_event, 1)                                     \
    X(cuStreamBeginCapture, _ptsz, cuStreamBeginCapture, 10000, 10010, begin_capture, 0)                               \
    X(cuStreamBeginCapture_v2, _ptsz, cuStreamBeginCapture, 10010, INT_MAX, begin_capture, 0)                          \
    X(cuStreamBeginCaptureToGraph, _ptsz, cuStreamBeginCaptureToGraph, 12030, INT_MAX, begin_capture, 0)               \
    X(cuStreamBeginRecaptureToGraph, _ptsz, cuStreamBeginRecaptureToGraph, 13000, INT_MAX, begin_capture, 0)           \
    X(cuStreamEndCapture, _ptsz, cuStreamEndCapture, 10000, INT_MAX, end_capture, 0)                                   \
    X(cuLaunch, , cuLaunch, 2000, INT_MAX, launch, 0)                                                                  \
    X(cuLaunchGrid, , cuLaunchGrid, 2000, INT_MAX, launch, 0)                                                          \
    X(cuLaunchGridAsync, , cuLaunchGridAsync, 2000, INT_MAX, launch, 3)                                                \
    X(cuLaunchKernel, _ptsz, cuLaunchKernel, 4000, INT_MAX, launch, 8)                                                 \
    X(cuLaunchKernelEx, _ptsz, cuLaunchKernelEx, 11060, INT_MAX, launch_with, 0)                                       \
    X(cuLaunchCooperativeKernel, _ptsz, cuLaunchCooperativeKernel, 9000, INT_MAX, launch, 8)                           \
    X(cuLaunchCooperativeKernelMultiDevice, , cuLaunchCooperativeKernelMultiDevice, 9000, INT_MAX, wait_for_all, 0)    \
    X(cuGraphLaunch, _ptsz, cuGraphLaunch, 10000, INT_MAX, launch_graph, 1)                                            \
    X(cuGraphUpload, _ptsz, cuGraphUpload, 11010, INT_MAX, launch_graph, 1)                                            \
    X(cuUserObjectCreate, , cuUserObjectCreate, 11030, INT_MAX, signal_in_graph, 0)                                    \
    X(cuLaunchHostFunc, _ptsz, cuLaunchHostFunc, 10000, 13000, signal, 0)                                              \
    X(cuLaunchHostFunc_v2, _ptsz, cuLaunchHostFunc, 13000, INT_MAX, signal, 0)                                         \
    X(cuStreamAddCallback, _ptsz, cuStreamAddCallback, 5000, INT_MAX, signal, 0)                                       \
    X(cuStreamWriteValue32, _ptsz, cuStreamWriteValue32, 8000, 11070, signal, 0)                                       \
    X(cuStreamWriteValue64, _ptsz, cuStreamWriteValue64, 9000, 11070, signal, 0)                                       \
    X(cuStreamWriteValue32_v2, _ptsz, cuStreamWriteValue32, 11070, INT_MAX, signal, 0)                                 \
    X(cuStreamWriteValue64_v2, _ptsz, cuStreamWriteValue64, 11070, INT_MAX, signal, 0)                                 \
    X(cuStreamWaitValue32, _ptsz, cuStreamWaitValue32, 8000, 11070, wait_for_value, 0)                                 \
    X(cuStreamWaitValue64, _ptsz, cuStreamWaitValue64, 9000, 11070, wait_for_value, 0)                                 \
    X(cuStreamWaitValue32_v2, _ptsz, cuStreamWaitValue32, 11070, INT_MAX, wait_for_value, 0)                           \
    X(cuStreamWaitValue64_v2, _ptsz, cuStreamWaitValue64, 11070, INT_MAX, wait_for_value, 0)                           \
    X(cuStreamBatchMemOp, _ptsz, cuStreamBatchMemOp, 8000, 11070, cannot_be_followed, 0)                               \
    X(cuStreamBatchMemOp_v2, _ptsz, cuStreamBatchMemOp, 11070, INT_MAX, cannot_be_followed, 0)                         \
    X(cuGraphAddMemcpyNode, , cuGraphAddMemcpyNode, 10000, INT_MAX, signal_in_graph, 0)                                \
    X(cuGraphAddMemsetNode, , cuGraphAddMemsetNode, 10000, INT_MAX, signal_in_graph, 0)                                \
    X(cuGraphAddHostNode, , cuGraphAddHostNode, 10000, INT_MAX, signal_in_graph, 0)                                    \
    X(cuGraphAddBatchMemOpNode, , cuGraphAddBatchMemOpNode, 11070, INT_MAX, cannot_be_followed, 0)                     \
    X(cuGraphAddEventRecordNode, , cuGraphAddEventRecordNode, 11010, INT_MAX, cannot_be_followed, 0)                   \
    X(cuGraphAddEventWaitNode, , cuGraphAddEventWaitNode, 11010, INT_MAX, cannot_be_followed, 0)                       \
    X(cuGraphEventRecordNodeSetEvent, , cuGraphEventRecordNodeSetEvent, 11010, INT_MAX, cannot_be_followed, 0)         \
    X(cuGraphExecEventRecordNodeSetEvent, , cuGraphExecEventRecordNodeSetEvent, 11010, INT_MAX, cannot_be_followed, 0) \
    X(cuGraphAddExternalSemaphoresSignalNode, , cuGraphAddExternalSemaphoresSignalNode, 11020, INT_MAX,                \
      cannot_be_followed, 0)                                                                                           \
    X(cuGraphAddNode, , cuGraphAddNode, 12020, 12030, cannot_be_followed, 0)                                           \
    X(cuGraphAddNode_v2, , cuGraphAddNode, 12030, INT_MAX, cannot_be_followed, 0)                                      \
    X(cuMemHostGetDevicePointer_v2, , cuMemHostGetDevicePointer, 3020, INT_MAX, share_memory, 0)                       \
    X(cuLibraryGetManaged, , cuLibraryGetManaged, 12000, INT_MAX, share_memory, 0)                                     \
    X(cuMemGetHandleForAddressRange, , cuMemGetHandleForAddressRange, 11070, INT_MAX, share_memory, 0)                 \
    X(cuMemCreate, , cuMemCreate, 10020, INT_MAX, allocate_anywhere, 0)                                                \
    X(cuMemPoolCreate, , cuMemPoolCreate, 11020, INT_MAX, allocate_anywhere, 0)                                        \
    X(cuMemGetDefaultMemPool, , cuMemGetDefaultMemPool, 13000, INT_MAX, allocate_anywhere, 0)                          \
    X(cuMemGetMemPool, , cuMemGetMemPool, 13000, INT_MAX, allocate_anywhere, 0)                                        \
    X(cuMemAllocManaged, , cuMemAllocManaged, 6000, INT_MAX, share_memory, 0)                                          \
    X(cuCtxEnablePeerAccess, , cuCtxEnablePeerAccess, 4000, INT_MAX, share_devices, 0)                                 \
    X(cuMemPoolSetAccess, , cuMemPoolSetAccess, 11020, INT_MAX, share_devices, 0)                                      \
    X(cuMemImportFromShareableHandle, , cuMemImportFromShareableHandle, 10020, INT_MAX, share_devices, 0)              \
    X(cuMulticastCreate, , cuMulticastCreate, 12010, INT_MAX, share_devices, 0)                                        \
    X(cuIpcOpenMemHandle, , cuIpcOpenMemHandle, 4010, 11000, share_devices, 0)                                         \
    X(cuIpcOpenMemHandle_v2, , cuIpcOpenMemHandle, 11000, INT_MAX, share_devices, 0)                                   \
    X(cuIpcCloseMemHandle, , cuIpcCloseMemHandle, 4010, INT_MAX, wait_for_all, 0)                                      \
    X(cuMemSetAccess, , cuMemSetAccess, 10020, INT_MAX, share_devices, 0)                                              \
    X(cuIpcGetEventHandle, , cuIpcGetEventHandle, 4010, INT_MAX, cannot_be_followed, 0)                                \
    X(cuIpcOpenEventHandle, , cuIpcOpenEventHandle, 4010, INT_MAX, cannot_be_followed, 0)                              \
    X(cuSignalExternalSemaphoresAsync, _ptsz, cuSignalExternalSemaphoresAsync, 10000, INT_MAX, cannot_be_followed, 0)  \
    X(cuWaitExternalSemaphoresAsync, _ptsz, cuWaitExternalSemaphoresAsync, 10000, INT_MAX, cannot_be_followed, 0)      \
    X(cuGreenCtxCreate, , cuGreenCtxCreate, 12040, INT_MAX, cannot_be_followed, 0)                                     \
    X(cuGreenCtxRecordEvent, , cuGreenCtxRecordEvent, 12040, INT_MAX, cannot_be_followed, 0)                           \
    X(cuGreenCtxStreamCreate, , cuGreenCtxStreamCreate, 12050, INT_MAX, cannot_be_followed, 0)                         \
    X(cuEGLStreamConsumerAcquireFrame, _ptsz, cuEGLStreamConsumerAcquireFrame, 7000, INT_MAX, cannot_be_followed, 0)   \
    X(cuCheckpointProcessLock, , cuCheckpointProcessLock, 12080, INT_MAX, cannot_be_followed, 0)
