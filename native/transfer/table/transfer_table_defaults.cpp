// What is known of machines before calibration; made by scripts/make_transfer_defaults.py from results/.
#include <string_view>
#include <utility>

#include "transfer/table/device_tables.hpp"
#include "transfer/table/transfer_table.hpp"

// clang-format off
namespace isthmus {
namespace {

constexpr std::string_view cuda_text = R"(isthmus transfer table 1
origin built in: NVIDIA H200, PCIe 5.0 x16, driver 580.159.04
buffer direction=h2d from=0 method=driver seconds=7.7e-06
buffer direction=h2d from=65536 method=driver seconds=2.43e-05
buffer direction=h2d from=524288 method=driver seconds=5e-05
buffer direction=h2d from=2097152 method=staged threads=8 chunk=524288 stores=streaming seconds=0.000143
buffer direction=h2d from=4194304 method=staged threads=8 chunk=524288 stores=streaming seconds=0.00021
buffer direction=h2d from=16777216 method=staged threads=8 chunk=1048576 stores=streaming seconds=0.000508
buffer direction=h2d from=67108864 method=staged threads=14 chunk=2097152 stores=demoted seconds=0.00156
buffer direction=h2d from=268435456 method=staged threads=12 chunk=4194304 stores=demoted seconds=0.00548
buffer direction=h2d from=1073741824 method=staged threads=12 chunk=4194304 stores=demoted seconds=0.0205
buffer direction=d2h from=0 method=driver seconds=8.3e-06
buffer direction=d2h from=65536 method=driver seconds=1.56e-05
buffer direction=d2h from=1048576 method=staged threads=4 chunk=262144 stores=streaming seconds=0.000105
buffer direction=d2h from=4194304 method=staged threads=8 chunk=524288 stores=streaming seconds=0.000191
buffer direction=d2h from=16777216 method=staged threads=10 chunk=2097152 stores=streaming seconds=0.000442
buffer direction=d2h from=67108864 method=staged threads=10 chunk=3932160 stores=streaming seconds=0.00134
buffer direction=d2h from=1073741824 method=staged threads=10 chunk=3932160 stores=streaming seconds=0.0201
direct direction=h2d bytes=4096 seconds=8.5e-06
direct direction=h2d bytes=1048576 seconds=2.74e-05
direct direction=h2d bytes=16777216 seconds=0.000312
direct direction=h2d bytes=1073741824 seconds=0.0195
direct direction=d2h bytes=4096 seconds=7.2e-06
direct direction=d2h bytes=1048576 seconds=2.61e-05
direct direction=d2h bytes=16777216 seconds=0.00031
direct direction=d2h bytes=1073741824 seconds=0.0194
pieces direction=d2h memory=pageable apart=both layout=regular width=8 count=32 method=section seconds=1e-05
pieces direction=d2h memory=pageable apart=both layout=regular width=8 count=1024 method=pack_kernel threads=10 seconds=2.86e-05
pieces direction=d2h memory=pageable apart=both layout=regular width=8 count=4096 method=pack_kernel threads=10 seconds=3.72e-05
pieces direction=d2h memory=pageable apart=both layout=regular width=8 count=32768 method=pack_kernel threads=10 seconds=3.78e-05
pieces direction=d2h memory=pageable apart=both layout=regular width=256 count=16 method=pack seconds=2.12e-05
pieces direction=d2h memory=pageable apart=both layout=regular width=256 count=32 method=section seconds=9.7e-06
pieces direction=d2h memory=pageable apart=both layout=regular width=256 count=256 method=pack_kernel threads=10 seconds=2.57e-05
pieces direction=d2h memory=pageable apart=both layout=regular width=256 count=1024 method=section seconds=3.46e-05
pieces direction=d2h memory=pageable apart=both layout=regular width=256 count=4096 method=pack_kernel threads=10 seconds=6.86e-05
pieces direction=d2h memory=pageable apart=both layout=regular width=256 count=32768 method=pack_kernel threads=10 seconds=0.000337
pieces direction=d2h memory=pageable apart=both layout=regular width=256 count=65536 method=pack_kernel threads=10 seconds=0.000573
pieces direction=d2h memory=pageable apart=both layout=regular width=4096 count=16 method=pack_kernel threads=10 seconds=2.48e-05
pieces direction=d2h memory=pageable apart=both layout=regular width=4096 count=32 method=section seconds=2.14e-05
pieces direction=d2h memory=pageable apart=both layout=regular width=4096 count=256 method=pack_kernel threads=10 seconds=6.37e-05
pieces direction=d2h memory=pageable apart=both layout=regular width=4096 count=1024 method=pack_kernel threads=10 seconds=0.000151
pieces direction=d2h memory=pageable apart=both layout=regular width=4096 count=4096 method=pack_kernel threads=10 seconds=0.000382
pieces direction=d2h memory=pageable apart=both layout=regular width=65536 count=16 method=pack_kernel threads=10 seconds=4.8e-05
pieces direction=d2h memory=pageable apart=both layout=regular width=65536 count=256 method=pack_kernel threads=10 seconds=0.000365
pieces direction=d2h memory=pageable apart=both layout=regular width=65536 count=1024 method=pack_threads threads=10 seconds=0.00133
pieces direction=d2h memory=pageable apart=both layout=scattered width=64 count=16 method=pack seconds=2.24e-05
pieces direction=d2h memory=pageable apart=both layout=scattered width=64 count=256 method=pack seconds=2.52e-05
pieces direction=d2h memory=pageable apart=both layout=scattered width=64 count=1024 method=pack_kernel threads=10 seconds=3.41e-05
pieces direction=d2h memory=pageable apart=both layout=scattered width=64 count=4096 method=pack_kernel threads=10 seconds=4.61e-05
pieces direction=d2h memory=pageable apart=both layout=scattered width=64 count=65536 method=pack_kernel threads=10 seconds=0.000308
pieces direction=d2h memory=pageable apart=both layout=scattered width=256 count=16 method=pack seconds=2.31e-05
pieces direction=d2h memory=pageable apart=both layout=scattered width=256 count=256 method=pack seconds=3.18e-05
pieces direction=d2h memory=pageable apart=both layout=scattered width=256 count=1024 method=pack_kernel threads=10 seconds=4.33e-05
pieces direction=d2h memory=pageable apart=both layout=scattered width=256 count=4096 method=pack_kernel threads=10 seconds=8.13e-05
pieces direction=d2h memory=pageable apart=both layout=scattered width=256 count=65536 method=pack_kernel threads=10 seconds=0.000621
pieces direction=d2h memory=pageable apart=both layout=scattered width=4096 count=16 method=pack_kernel threads=10 seconds=3.18e-05
pieces direction=d2h memory=pageable apart=both layout=scattered width=4096 count=256 method=pack_kernel threads=10 seconds=6.47e-05
pieces direction=d2h memory=pageable apart=both layout=scattered width=4096 count=1024 method=pack_kernel threads=10 seconds=0.000165
pieces direction=d2h memory=pageable apart=both layout=scattered width=4096 count=4096 method=pack_kernel threads=10 seconds=0.00052
pieces direction=d2h memory=pageable apart=both layout=scattered width=4096 count=65536 method=pack_kernel threads=10 seconds=0.006
pieces direction=d2h memory=pageable apart=both layout=scattered width=65536 count=16 method=pack_kernel threads=10 seconds=5.54e-05
pieces direction=d2h memory=pageable apart=both layout=scattered width=65536 count=256 method=pack_kernel threads=10 seconds=0.000368
pieces direction=d2h memory=pageable apart=both layout=scattered width=1048576 count=16 method=pack_kernel threads=10 seconds=0.000376
pieces direction=d2h memory=pageable apart=device layout=regular width=8 count=32 method=section seconds=8.66e-06
pieces direction=d2h memory=pageable apart=device layout=regular width=8 count=1024 method=section seconds=1.81e-05
pieces direction=d2h memory=pageable apart=device layout=regular width=8 count=4096 method=pack_kernel threads=10 seconds=2.32e-05
pieces direction=d2h memory=pageable apart=device layout=regular width=8 count=32768 method=pack_kernel threads=10 seconds=3.36e-05
pieces direction=d2h memory=pageable apart=device layout=regular width=256 count=32 method=section seconds=1e-05
pieces direction=d2h memory=pageable apart=device layout=regular width=256 count=256 method=pack_kernel threads=10 seconds=2.7e-05
pieces direction=d2h memory=pageable apart=device layout=regular width=256 count=1024 method=section seconds=3.4e-05
pieces direction=d2h memory=pageable apart=device layout=regular width=256 count=32768 method=pack_kernel threads=10 seconds=0.000206
pieces direction=d2h memory=pageable apart=device layout=regular width=4096 count=32 method=section seconds=2.16e-05
pieces direction=d2h memory=pageable apart=device layout=regular width=4096 count=256 method=pack_kernel threads=10 seconds=4.77e-05
pieces direction=d2h memory=pageable apart=device layout=regular width=4096 count=1024 method=pack_kernel threads=10 seconds=0.000133
pieces direction=d2h memory=pageable apart=device layout=scattered width=256 count=16 method=device_pack seconds=1.81e-05
pieces direction=d2h memory=pageable apart=device layout=scattered width=256 count=256 method=device_pack seconds=2.91e-05
pieces direction=d2h memory=pageable apart=device layout=scattered width=256 count=4096 method=pack_kernel threads=10 seconds=5.82e-05
pieces direction=d2h memory=pageable apart=device layout=scattered width=256 count=65536 method=pack_kernel threads=10 seconds=0.000461
pieces direction=d2h memory=pageable apart=device layout=scattered width=4096 count=16 method=device_pack seconds=2.91e-05
pieces direction=d2h memory=pageable apart=device layout=scattered width=4096 count=256 method=pack_kernel threads=10 seconds=5.34e-05
pieces direction=d2h memory=pageable apart=device layout=scattered width=4096 count=4096 method=pack_kernel threads=10 seconds=0.000385
pieces direction=d2h memory=pageable apart=device layout=scattered width=65536 count=16 method=pack_kernel threads=10 seconds=5.64e-05
pieces direction=d2h memory=pageable apart=device layout=scattered width=65536 count=256 method=pack_kernel threads=10 seconds=0.000377
pieces direction=d2h memory=pageable apart=device layout=scattered width=65536 count=1024 method=pack_threads threads=10 seconds=0.00135
pieces direction=d2h memory=pageable apart=host layout=regular width=8 count=32 method=pack seconds=8.7e-06
pieces direction=d2h memory=pageable apart=host layout=regular width=8 count=1024 method=pack seconds=2.13e-05
pieces direction=d2h memory=pageable apart=host layout=regular width=8 count=32768 method=pack_threads threads=10 seconds=3.78e-05
pieces direction=d2h memory=pageable apart=host layout=regular width=256 count=32 method=section seconds=9.68e-06
pieces direction=d2h memory=pageable apart=host layout=regular width=256 count=256 method=pack seconds=1.88e-05
pieces direction=d2h memory=pageable apart=host layout=regular width=256 count=1024 method=pack_threads threads=10 seconds=3.23e-05
pieces direction=d2h memory=pageable apart=host layout=regular width=256 count=32768 method=pack_kernel threads=10 seconds=0.000312
pieces direction=d2h memory=pageable apart=host layout=regular width=4096 count=32 method=section seconds=2.16e-05
pieces direction=d2h memory=pageable apart=host layout=regular width=4096 count=256 method=pack_threads threads=10 seconds=5.29e-05
pieces direction=d2h memory=pageable apart=host layout=regular width=4096 count=1024 method=pack_kernel threads=10 seconds=0.000148
pieces direction=d2h memory=pageable apart=host layout=scattered width=256 count=16 method=pack seconds=9.85e-06
pieces direction=d2h memory=pageable apart=host layout=scattered width=256 count=256 method=pack seconds=2.01e-05
pieces direction=d2h memory=pageable apart=host layout=scattered width=256 count=4096 method=pack_threads threads=10 seconds=6.8e-05
pieces direction=d2h memory=pageable apart=host layout=scattered width=256 count=65536 method=pack_kernel threads=10 seconds=0.00054
pieces direction=d2h memory=pageable apart=host layout=scattered width=4096 count=16 method=pack seconds=2.32e-05
pieces direction=d2h memory=pageable apart=host layout=scattered width=4096 count=256 method=pack_kernel threads=10 seconds=5.22e-05
pieces direction=d2h memory=pageable apart=host layout=scattered width=4096 count=4096 method=pack_kernel threads=10 seconds=0.000382
pieces direction=d2h memory=pageable apart=host layout=scattered width=65536 count=16 method=pack_kernel threads=10 seconds=4.87e-05
pieces direction=d2h memory=pageable apart=host layout=scattered width=65536 count=256 method=pack_kernel threads=10 seconds=0.000362
pieces direction=d2h memory=pageable apart=host layout=scattered width=65536 count=1024 method=pack_threads threads=10 seconds=0.00131
pieces direction=d2h memory=pinned apart=both layout=regular width=8 count=32 method=section seconds=6.6e-06
pieces direction=d2h memory=pinned apart=both layout=regular width=8 count=1024 method=section seconds=1.1e-05
pieces direction=d2h memory=pinned apart=both layout=regular width=8 count=4096 method=section seconds=1.21e-05
pieces direction=d2h memory=pinned apart=both layout=regular width=8 count=32768 method=pack_kernel threads=10 seconds=3.66e-05
pieces direction=d2h memory=pinned apart=both layout=regular width=256 count=16 method=kernel seconds=9.7e-06
pieces direction=d2h memory=pinned apart=both layout=regular width=256 count=32 method=section seconds=6.96e-06
pieces direction=d2h memory=pinned apart=both layout=regular width=256 count=256 method=kernel seconds=1.04e-05
pieces direction=d2h memory=pinned apart=both layout=regular width=256 count=1024 method=section seconds=1.42e-05
pieces direction=d2h memory=pinned apart=both layout=regular width=256 count=4096 method=kernel seconds=3.05e-05
pieces direction=d2h memory=pinned apart=both layout=regular width=256 count=32768 method=section seconds=0.00016
pieces direction=d2h memory=pinned apart=both layout=regular width=4096 count=16 method=kernel seconds=1.1e-05
pieces direction=d2h memory=pinned apart=both layout=regular width=4096 count=32 method=section seconds=9.29e-06
pieces direction=d2h memory=pinned apart=both layout=regular width=4096 count=256 method=kernel seconds=2.93e-05
pieces direction=d2h memory=pinned apart=both layout=regular width=4096 count=1024 method=section seconds=8.36e-05
pieces direction=d2h memory=pinned apart=both layout=regular width=4096 count=4096 method=kernel seconds=0.000328
pieces direction=d2h memory=pinned apart=both layout=regular width=65536 count=16 method=kernel seconds=2.96e-05
pieces direction=d2h memory=pinned apart=both layout=regular width=65536 count=256 method=kernel seconds=0.000328
pieces direction=d2h memory=pinned apart=both layout=scattered width=64 count=16 method=kernel seconds=1.16e-05
pieces direction=d2h memory=pinned apart=both layout=scattered width=64 count=256 method=kernel seconds=1.18e-05
pieces direction=d2h memory=pinned apart=both layout=scattered width=64 count=1024 method=kernel seconds=1.43e-05
pieces direction=d2h memory=pinned apart=both layout=scattered width=64 count=4096 method=kernel seconds=2.98e-05
pieces direction=d2h memory=pinned apart=both layout=scattered width=64 count=65536 method=kernel seconds=0.000205
pieces direction=d2h memory=pinned apart=both layout=scattered width=256 count=16 method=kernel seconds=1.2e-05
pieces direction=d2h memory=pinned apart=both layout=scattered width=256 count=256 method=kernel seconds=1.3e-05
pieces direction=d2h memory=pinned apart=both layout=scattered width=256 count=1024 method=kernel seconds=1.94e-05
pieces direction=d2h memory=pinned apart=both layout=scattered width=256 count=4096 method=kernel seconds=4.39e-05
pieces direction=d2h memory=pinned apart=both layout=scattered width=256 count=65536 method=kernel seconds=0.00042
pieces direction=d2h memory=pinned apart=both layout=scattered width=4096 count=16 method=kernel seconds=1.22e-05
pieces direction=d2h memory=pinned apart=both layout=scattered width=4096 count=256 method=kernel seconds=3.21e-05
pieces direction=d2h memory=pinned apart=both layout=scattered width=4096 count=1024 method=kernel seconds=9.31e-05
pieces direction=d2h memory=pinned apart=both layout=scattered width=4096 count=4096 method=kernel seconds=0.000336
pieces direction=d2h memory=pinned apart=both layout=scattered width=4096 count=65536 method=kernel seconds=0.00529
pieces direction=d2h memory=pinned apart=both layout=scattered width=65536 count=16 method=batch seconds=3.18e-05
pieces direction=d2h memory=pinned apart=both layout=scattered width=65536 count=256 method=kernel seconds=0.000331
pieces direction=d2h memory=pinned apart=both layout=scattered width=1048576 count=16 method=batch seconds=0.000315
pieces direction=d2h memory=pinned apart=device layout=regular width=8 count=32 method=section seconds=6.56e-06
pieces direction=d2h memory=pinned apart=device layout=regular width=8 count=1024 method=section seconds=8.23e-06
pieces direction=d2h memory=pinned apart=device layout=regular width=8 count=4096 method=kernel seconds=1.03e-05
pieces direction=d2h memory=pinned apart=device layout=regular width=8 count=32768 method=kernel seconds=1.5e-05
pieces direction=d2h memory=pinned apart=device layout=regular width=8 count=1048576 method=kernel seconds=0.00017
pieces direction=d2h memory=pinned apart=device layout=regular width=64 count=32 method=section seconds=6.65e-06
pieces direction=d2h memory=pinned apart=device layout=regular width=64 count=1024 method=section seconds=7.89e-06
pieces direction=d2h memory=pinned apart=device layout=regular width=64 count=32768 method=kernel seconds=4.98e-05
pieces direction=d2h memory=pinned apart=device layout=regular width=64 count=524288 method=kernel seconds=0.000648
pieces direction=d2h memory=pinned apart=device layout=regular width=256 count=32 method=section seconds=6.7e-06
pieces direction=d2h memory=pinned apart=device layout=regular width=256 count=256 method=kernel seconds=1.11e-05
pieces direction=d2h memory=pinned apart=device layout=regular width=256 count=1024 method=section seconds=1.2e-05
pieces direction=d2h memory=pinned apart=device layout=regular width=256 count=32768 method=section seconds=0.00016
pieces direction=d2h memory=pinned apart=device layout=regular width=4096 count=32 method=section seconds=9e-06
pieces direction=d2h memory=pinned apart=device layout=regular width=4096 count=256 method=kernel seconds=2.97e-05
pieces direction=d2h memory=pinned apart=device layout=regular width=4096 count=1024 method=section seconds=8.34e-05
pieces direction=d2h memory=pinned apart=device layout=regular width=65536 count=32 method=section seconds=4.5e-05
pieces direction=d2h memory=pinned apart=device layout=scattered width=256 count=16 method=kernel seconds=1.16e-05
pieces direction=d2h memory=pinned apart=device layout=scattered width=256 count=256 method=kernel seconds=1.27e-05
pieces direction=d2h memory=pinned apart=device layout=scattered width=256 count=4096 method=kernel seconds=3.59e-05
pieces direction=d2h memory=pinned apart=device layout=scattered width=4096 count=16 method=kernel seconds=1.29e-05
pieces direction=d2h memory=pinned apart=device layout=scattered width=4096 count=256 method=kernel seconds=3.39e-05
pieces direction=d2h memory=pinned apart=device layout=scattered width=4096 count=4096 method=kernel seconds=0.000333
pieces direction=d2h memory=pinned apart=device layout=scattered width=65536 count=16 method=batch seconds=3.21e-05
pieces direction=d2h memory=pinned apart=device layout=scattered width=65536 count=256 method=kernel seconds=0.000331
pieces direction=d2h memory=pinned apart=host layout=regular width=8 count=32 method=section seconds=6.81e-06
pieces direction=d2h memory=pinned apart=host layout=regular width=8 count=1024 method=section seconds=1.11e-05
pieces direction=d2h memory=pinned apart=host layout=regular width=8 count=32768 method=pack_threads threads=10 seconds=3.41e-05
pieces direction=d2h memory=pinned apart=host layout=regular width=8 count=1048576 method=section seconds=0.00134
pieces direction=d2h memory=pinned apart=host layout=regular width=64 count=32 method=section seconds=7.27e-06
pieces direction=d2h memory=pinned apart=host layout=regular width=64 count=1024 method=section seconds=1.15e-05
pieces direction=d2h memory=pinned apart=host layout=regular width=64 count=32768 method=section seconds=5.33e-05
pieces direction=d2h memory=pinned apart=host layout=regular width=64 count=524288 method=section seconds=0.000746
pieces direction=d2h memory=pinned apart=host layout=regular width=256 count=32 method=section seconds=7.11e-06
pieces direction=d2h memory=pinned apart=host layout=regular width=256 count=256 method=kernel seconds=1.06e-05
pieces direction=d2h memory=pinned apart=host layout=regular width=256 count=1024 method=section seconds=1.4e-05
pieces direction=d2h memory=pinned apart=host layout=regular width=256 count=32768 method=section seconds=0.000159
pieces direction=d2h memory=pinned apart=host layout=regular width=4096 count=32 method=section seconds=9.73e-06
pieces direction=d2h memory=pinned apart=host layout=regular width=4096 count=256 method=kernel seconds=2.99e-05
pieces direction=d2h memory=pinned apart=host layout=regular width=4096 count=1024 method=section seconds=8.35e-05
pieces direction=d2h memory=pinned apart=host layout=regular width=65536 count=32 method=section seconds=4.57e-05
pieces direction=d2h memory=pinned apart=host layout=scattered width=256 count=16 method=pack seconds=1.02e-05
pieces direction=d2h memory=pinned apart=host layout=scattered width=256 count=256 method=kernel seconds=1.38e-05
pieces direction=d2h memory=pinned apart=host layout=scattered width=256 count=4096 method=kernel seconds=3.45e-05
pieces direction=d2h memory=pinned apart=host layout=scattered width=4096 count=16 method=kernel seconds=1.26e-05
pieces direction=d2h memory=pinned apart=host layout=scattered width=4096 count=256 method=kernel seconds=3.17e-05
pieces direction=d2h memory=pinned apart=host layout=scattered width=4096 count=4096 method=kernel seconds=0.000333
pieces direction=d2h memory=pinned apart=host layout=scattered width=65536 count=16 method=kernel seconds=3.14e-05
pieces direction=d2h memory=pinned apart=host layout=scattered width=65536 count=256 method=kernel seconds=0.000331
pieces direction=h2d memory=pageable apart=both layout=regular width=8 count=32 method=section seconds=9.95e-06
pieces direction=h2d memory=pageable apart=both layout=regular width=8 count=1024 method=pack_kernel threads=10 seconds=2.86e-05
pieces direction=h2d memory=pageable apart=both layout=regular width=8 count=4096 method=pack_threads threads=10 seconds=5.43e-05
pieces direction=h2d memory=pageable apart=both layout=regular width=8 count=32768 method=pack_kernel threads=10 seconds=4.5e-05
pieces direction=h2d memory=pageable apart=both layout=regular width=256 count=16 method=pack seconds=1.45e-05
pieces direction=h2d memory=pageable apart=both layout=regular width=256 count=32 method=section seconds=1.23e-05
pieces direction=h2d memory=pageable apart=both layout=regular width=256 count=256 method=pack_kernel threads=10 seconds=2.75e-05
pieces direction=h2d memory=pageable apart=both layout=regular width=256 count=1024 method=pack_kernel threads=10 seconds=3.88e-05
pieces direction=h2d memory=pageable apart=both layout=regular width=256 count=4096 method=pack_kernel threads=10 seconds=7.5e-05
pieces direction=h2d memory=pageable apart=both layout=regular width=256 count=32768 method=pack_kernel threads=10 seconds=0.000252
pieces direction=h2d memory=pageable apart=both layout=regular width=256 count=65536 method=pack_kernel threads=10 seconds=0.000444
pieces direction=h2d memory=pageable apart=both layout=regular width=4096 count=16 method=pack_threads threads=10 seconds=2.54e-05
pieces direction=h2d memory=pageable apart=both layout=regular width=4096 count=32 method=section seconds=2.93e-05
pieces direction=h2d memory=pageable apart=both layout=regular width=4096 count=256 method=pack_kernel threads=10 seconds=6.47e-05
pieces direction=h2d memory=pageable apart=both layout=regular width=4096 count=1024 method=pack_kernel threads=10 seconds=0.000162
pieces direction=h2d memory=pageable apart=both layout=regular width=4096 count=4096 method=pack_kernel threads=10 seconds=0.000457
pieces direction=h2d memory=pageable apart=both layout=regular width=65536 count=16 method=pack_threads threads=10 seconds=6.7e-05
pieces direction=h2d memory=pageable apart=both layout=regular width=65536 count=256 method=pack_kernel threads=10 seconds=0.00046
pieces direction=h2d memory=pageable apart=both layout=regular width=65536 count=1024 method=pack_kernel threads=10 seconds=0.00149
pieces direction=h2d memory=pageable apart=both layout=scattered width=64 count=16 method=pack seconds=1.59e-05
pieces direction=h2d memory=pageable apart=both layout=scattered width=64 count=256 method=pack seconds=2.13e-05
pieces direction=h2d memory=pageable apart=both layout=scattered width=64 count=1024 method=pack_kernel threads=10 seconds=2.96e-05
pieces direction=h2d memory=pageable apart=both layout=scattered width=64 count=4096 method=pack_kernel threads=10 seconds=4.53e-05
pieces direction=h2d memory=pageable apart=both layout=scattered width=64 count=65536 method=pack_kernel threads=10 seconds=0.000257
pieces direction=h2d memory=pageable apart=both layout=scattered width=256 count=16 method=pack seconds=1.6e-05
pieces direction=h2d memory=pageable apart=both layout=scattered width=256 count=256 method=pack_threads threads=10 seconds=2.95e-05
pieces direction=h2d memory=pageable apart=both layout=scattered width=256 count=1024 method=pack_kernel threads=10 seconds=4.01e-05
pieces direction=h2d memory=pageable apart=both layout=scattered width=256 count=4096 method=pack_threads threads=10 seconds=8.12e-05
pieces direction=h2d memory=pageable apart=both layout=scattered width=256 count=65536 method=pack_kernel threads=10 seconds=0.000525
pieces direction=h2d memory=pageable apart=both layout=scattered width=4096 count=16 method=pack_kernel threads=10 seconds=3.15e-05
pieces direction=h2d memory=pageable apart=both layout=scattered width=4096 count=256 method=pack_kernel threads=10 seconds=6.58e-05
pieces direction=h2d memory=pageable apart=both layout=scattered width=4096 count=1024 method=pack_kernel threads=10 seconds=0.000175
pieces direction=h2d memory=pageable apart=both layout=scattered width=4096 count=4096 method=pack_kernel threads=10 seconds=0.000582
pieces direction=h2d memory=pageable apart=both layout=scattered width=4096 count=65536 method=pack_kernel threads=10 seconds=0.0062
pieces direction=h2d memory=pageable apart=both layout=scattered width=65536 count=16 method=pack_kernel threads=10 seconds=6.77e-05
pieces direction=h2d memory=pageable apart=both layout=scattered width=65536 count=256 method=pack_kernel threads=10 seconds=0.00045
pieces direction=h2d memory=pageable apart=both layout=scattered width=1048576 count=16 method=pack_kernel threads=10 seconds=0.00046
pieces direction=h2d memory=pageable apart=device layout=regular width=8 count=32 method=section seconds=1e-05
pieces direction=h2d memory=pageable apart=device layout=regular width=8 count=1024 method=device_pack seconds=1.38e-05
pieces direction=h2d memory=pageable apart=device layout=regular width=8 count=4096 method=device_pack seconds=1.79e-05
pieces direction=h2d memory=pageable apart=device layout=regular width=8 count=32768 method=pack_kernel threads=10 seconds=3.8e-05
pieces direction=h2d memory=pageable apart=device layout=regular width=256 count=32 method=section seconds=1.2e-05
pieces direction=h2d memory=pageable apart=device layout=regular width=256 count=256 method=pack_threads threads=10 seconds=2.72e-05
pieces direction=h2d memory=pageable apart=device layout=regular width=256 count=1024 method=pack_kernel threads=10 seconds=3.44e-05
pieces direction=h2d memory=pageable apart=device layout=regular width=256 count=32768 method=pack_kernel threads=10 seconds=0.000252
pieces direction=h2d memory=pageable apart=device layout=regular width=4096 count=32 method=pack_kernel threads=10 seconds=3.04e-05
pieces direction=h2d memory=pageable apart=device layout=regular width=4096 count=256 method=pack_kernel threads=10 seconds=5.94e-05
pieces direction=h2d memory=pageable apart=device layout=regular width=4096 count=1024 method=pack_kernel threads=10 seconds=0.000172
pieces direction=h2d memory=pageable apart=device layout=scattered width=256 count=16 method=device_pack seconds=1.55e-05
pieces direction=h2d memory=pageable apart=device layout=scattered width=256 count=256 method=pack_kernel threads=10 seconds=3.13e-05
pieces direction=h2d memory=pageable apart=device layout=scattered width=256 count=4096 method=pack_kernel threads=10 seconds=6.7e-05
pieces direction=h2d memory=pageable apart=device layout=scattered width=256 count=65536 method=pack_kernel threads=10 seconds=0.00051
pieces direction=h2d memory=pageable apart=device layout=scattered width=4096 count=16 method=device_pack seconds=3.08e-05
pieces direction=h2d memory=pageable apart=device layout=scattered width=4096 count=256 method=pack_kernel threads=10 seconds=6.07e-05
pieces direction=h2d memory=pageable apart=device layout=scattered width=4096 count=4096 method=pack_kernel threads=10 seconds=0.000463
pieces direction=h2d memory=pageable apart=device layout=scattered width=65536 count=16 method=pack_kernel threads=10 seconds=6.29e-05
pieces direction=h2d memory=pageable apart=device layout=scattered width=65536 count=256 method=pack_kernel threads=10 seconds=0.000461
pieces direction=h2d memory=pageable apart=device layout=scattered width=65536 count=1024 method=pack_kernel threads=10 seconds=0.00149
pieces direction=h2d memory=pageable apart=host layout=regular width=8 count=32 method=pack seconds=8.92e-06
pieces direction=h2d memory=pageable apart=host layout=regular width=8 count=1024 method=pack seconds=2.18e-05
pieces direction=h2d memory=pageable apart=host layout=regular width=8 count=32768 method=pack_threads threads=10 seconds=3.73e-05
pieces direction=h2d memory=pageable apart=host layout=regular width=256 count=32 method=pack seconds=1.03e-05
pieces direction=h2d memory=pageable apart=host layout=regular width=256 count=256 method=pack_threads threads=10 seconds=2.39e-05
pieces direction=h2d memory=pageable apart=host layout=regular width=256 count=1024 method=pack_threads threads=10 seconds=3.62e-05
pieces direction=h2d memory=pageable apart=host layout=regular width=256 count=32768 method=pack_kernel threads=10 seconds=0.000254
pieces direction=h2d memory=pageable apart=host layout=regular width=4096 count=32 method=pack seconds=2.71e-05
pieces direction=h2d memory=pageable apart=host layout=regular width=4096 count=256 method=pack_threads threads=10 seconds=6.88e-05
pieces direction=h2d memory=pageable apart=host layout=regular width=4096 count=1024 method=pack_threads threads=10 seconds=0.000165
pieces direction=h2d memory=pageable apart=host layout=scattered width=256 count=16 method=pack seconds=9.09e-06
pieces direction=h2d memory=pageable apart=host layout=scattered width=256 count=256 method=pack seconds=2.31e-05
pieces direction=h2d memory=pageable apart=host layout=scattered width=256 count=4096 method=pack_threads threads=10 seconds=6.88e-05
pieces direction=h2d memory=pageable apart=host layout=scattered width=256 count=65536 method=pack_kernel threads=10 seconds=0.000449
pieces direction=h2d memory=pageable apart=host layout=scattered width=4096 count=16 method=pack seconds=2.23e-05
pieces direction=h2d memory=pageable apart=host layout=scattered width=4096 count=256 method=pack_threads threads=10 seconds=6.43e-05
pieces direction=h2d memory=pageable apart=host layout=scattered width=4096 count=4096 method=pack_threads threads=10 seconds=0.000475
pieces direction=h2d memory=pageable apart=host layout=scattered width=65536 count=16 method=pack_kernel threads=10 seconds=6.34e-05
pieces direction=h2d memory=pageable apart=host layout=scattered width=65536 count=256 method=pack_kernel threads=10 seconds=0.000465
pieces direction=h2d memory=pageable apart=host layout=scattered width=65536 count=1024 method=pack_kernel threads=10 seconds=0.00152
pieces direction=h2d memory=pinned apart=both layout=regular width=8 count=32 method=section seconds=8.06e-06
pieces direction=h2d memory=pinned apart=both layout=regular width=8 count=1024 method=section seconds=1.11e-05
pieces direction=h2d memory=pinned apart=both layout=regular width=8 count=4096 method=section seconds=1.5e-05
pieces direction=h2d memory=pinned apart=both layout=regular width=8 count=32768 method=kernel seconds=2.13e-05
pieces direction=h2d memory=pinned apart=both layout=regular width=256 count=16 method=kernel seconds=1.07e-05
pieces direction=h2d memory=pinned apart=both layout=regular width=256 count=32 method=section seconds=8.51e-06
pieces direction=h2d memory=pinned apart=both layout=regular width=256 count=256 method=kernel seconds=1.27e-05
pieces direction=h2d memory=pinned apart=both layout=regular width=256 count=1024 method=section seconds=1.4e-05
pieces direction=h2d memory=pinned apart=both layout=regular width=256 count=4096 method=kernel seconds=3.24e-05
pieces direction=h2d memory=pinned apart=both layout=regular width=256 count=32768 method=section seconds=0.00016
pieces direction=h2d memory=pinned apart=both layout=regular width=4096 count=16 method=kernel seconds=1.34e-05
pieces direction=h2d memory=pinned apart=both layout=regular width=4096 count=32 method=section seconds=1.06e-05
pieces direction=h2d memory=pinned apart=both layout=regular width=4096 count=256 method=kernel seconds=3.21e-05
pieces direction=h2d memory=pinned apart=both layout=regular width=4096 count=1024 method=section seconds=8.45e-05
pieces direction=h2d memory=pinned apart=both layout=regular width=4096 count=4096 method=kernel seconds=0.00034
pieces direction=h2d memory=pinned apart=both layout=regular width=65536 count=16 method=kernel seconds=3.36e-05
pieces direction=h2d memory=pinned apart=both layout=regular width=65536 count=256 method=kernel seconds=0.000339
pieces direction=h2d memory=pinned apart=both layout=scattered width=64 count=16 method=kernel seconds=1.26e-05
pieces direction=h2d memory=pinned apart=both layout=scattered width=64 count=256 method=kernel seconds=1.46e-05
pieces direction=h2d memory=pinned apart=both layout=scattered width=64 count=1024 method=kernel seconds=1.65e-05
pieces direction=h2d memory=pinned apart=both layout=scattered width=64 count=4096 method=kernel seconds=3.16e-05
pieces direction=h2d memory=pinned apart=both layout=scattered width=64 count=65536 method=kernel seconds=0.000207
pieces direction=h2d memory=pinned apart=both layout=scattered width=256 count=16 method=kernel seconds=1.28e-05
pieces direction=h2d memory=pinned apart=both layout=scattered width=256 count=256 method=kernel seconds=1.46e-05
pieces direction=h2d memory=pinned apart=both layout=scattered width=256 count=1024 method=kernel seconds=1.9e-05
pieces direction=h2d memory=pinned apart=both layout=scattered width=256 count=4096 method=kernel seconds=4.65e-05
pieces direction=h2d memory=pinned apart=both layout=scattered width=256 count=65536 method=kernel seconds=0.000424
pieces direction=h2d memory=pinned apart=both layout=scattered width=4096 count=16 method=kernel seconds=1.45e-05
pieces direction=h2d memory=pinned apart=both layout=scattered width=4096 count=256 method=kernel seconds=3.46e-05
pieces direction=h2d memory=pinned apart=both layout=scattered width=4096 count=1024 method=kernel seconds=9.7e-05
pieces direction=h2d memory=pinned apart=both layout=scattered width=4096 count=4096 method=kernel seconds=0.000352
pieces direction=h2d memory=pinned apart=both layout=scattered width=4096 count=65536 method=kernel seconds=0.00539
pieces direction=h2d memory=pinned apart=both layout=scattered width=65536 count=16 method=batch seconds=3.27e-05
pieces direction=h2d memory=pinned apart=both layout=scattered width=65536 count=256 method=kernel seconds=0.000342
pieces direction=h2d memory=pinned apart=both layout=scattered width=1048576 count=16 method=batch seconds=0.000318
pieces direction=h2d memory=pinned apart=device layout=regular width=8 count=32 method=section seconds=8.49e-06
pieces direction=h2d memory=pinned apart=device layout=regular width=8 count=1024 method=section seconds=1.14e-05
pieces direction=h2d memory=pinned apart=device layout=regular width=8 count=4096 method=kernel seconds=1.22e-05
pieces direction=h2d memory=pinned apart=device layout=regular width=8 count=32768 method=kernel seconds=1.7e-05
pieces direction=h2d memory=pinned apart=device layout=regular width=8 count=1048576 method=kernel seconds=0.000175
pieces direction=h2d memory=pinned apart=device layout=regular width=64 count=32 method=section seconds=7.59e-06
pieces direction=h2d memory=pinned apart=device layout=regular width=64 count=1024 method=section seconds=9.52e-06
pieces direction=h2d memory=pinned apart=device layout=regular width=64 count=32768 method=kernel seconds=5.2e-05
pieces direction=h2d memory=pinned apart=device layout=regular width=64 count=524288 method=device_pack seconds=0.00064
pieces direction=h2d memory=pinned apart=device layout=regular width=256 count=32 method=section seconds=7.82e-06
pieces direction=h2d memory=pinned apart=device layout=regular width=256 count=256 method=kernel seconds=1.26e-05
pieces direction=h2d memory=pinned apart=device layout=regular width=256 count=1024 method=section seconds=1.28e-05
pieces direction=h2d memory=pinned apart=device layout=regular width=256 count=32768 method=section seconds=0.00016
pieces direction=h2d memory=pinned apart=device layout=regular width=4096 count=32 method=section seconds=1.12e-05
pieces direction=h2d memory=pinned apart=device layout=regular width=4096 count=256 method=kernel seconds=3.18e-05
pieces direction=h2d memory=pinned apart=device layout=regular width=4096 count=1024 method=section seconds=8.4e-05
pieces direction=h2d memory=pinned apart=device layout=regular width=65536 count=32 method=section seconds=4.65e-05
pieces direction=h2d memory=pinned apart=device layout=scattered width=256 count=16 method=kernel seconds=1.27e-05
pieces direction=h2d memory=pinned apart=device layout=scattered width=256 count=256 method=kernel seconds=1.6e-05
pieces direction=h2d memory=pinned apart=device layout=scattered width=256 count=4096 method=device_pack seconds=3.54e-05
pieces direction=h2d memory=pinned apart=device layout=scattered width=4096 count=16 method=kernel seconds=1.42e-05
pieces direction=h2d memory=pinned apart=device layout=scattered width=4096 count=256 method=kernel seconds=3.41e-05
pieces direction=h2d memory=pinned apart=device layout=scattered width=4096 count=4096 method=device_pack seconds=0.000329
pieces direction=h2d memory=pinned apart=device layout=scattered width=65536 count=16 method=batch seconds=3.38e-05
pieces direction=h2d memory=pinned apart=device layout=scattered width=65536 count=256 method=device_pack seconds=0.000329
pieces direction=h2d memory=pinned apart=host layout=regular width=8 count=32 method=section seconds=7.76e-06
pieces direction=h2d memory=pinned apart=host layout=regular width=8 count=1024 method=section seconds=1.17e-05
pieces direction=h2d memory=pinned apart=host layout=regular width=8 count=32768 method=kernel seconds=2.13e-05
pieces direction=h2d memory=pinned apart=host layout=regular width=8 count=1048576 method=kernel seconds=0.000338
pieces direction=h2d memory=pinned apart=host layout=regular width=64 count=32 method=section seconds=8.1e-06
pieces direction=h2d memory=pinned apart=host layout=regular width=64 count=1024 method=section seconds=1.06e-05
pieces direction=h2d memory=pinned apart=host layout=regular width=64 count=32768 method=section seconds=5.88e-05
pieces direction=h2d memory=pinned apart=host layout=regular width=64 count=524288 method=section seconds=0.000863
pieces direction=h2d memory=pinned apart=host layout=regular width=256 count=32 method=section seconds=7.77e-06
pieces direction=h2d memory=pinned apart=host layout=regular width=256 count=256 method=kernel seconds=1.27e-05
pieces direction=h2d memory=pinned apart=host layout=regular width=256 count=1024 method=section seconds=1.45e-05
pieces direction=h2d memory=pinned apart=host layout=regular width=256 count=32768 method=section seconds=0.00016
pieces direction=h2d memory=pinned apart=host layout=regular width=4096 count=32 method=section seconds=1.02e-05
pieces direction=h2d memory=pinned apart=host layout=regular width=4096 count=256 method=kernel seconds=3.19e-05
pieces direction=h2d memory=pinned apart=host layout=regular width=4096 count=1024 method=section seconds=8.43e-05
pieces direction=h2d memory=pinned apart=host layout=regular width=65536 count=32 method=section seconds=4.66e-05
pieces direction=h2d memory=pinned apart=host layout=scattered width=256 count=16 method=pack seconds=9.6e-06
pieces direction=h2d memory=pinned apart=host layout=scattered width=256 count=256 method=kernel seconds=1.52e-05
pieces direction=h2d memory=pinned apart=host layout=scattered width=256 count=4096 method=kernel seconds=4.31e-05
pieces direction=h2d memory=pinned apart=host layout=scattered width=4096 count=16 method=kernel seconds=1.51e-05
pieces direction=h2d memory=pinned apart=host layout=scattered width=4096 count=256 method=kernel seconds=3.33e-05
pieces direction=h2d memory=pinned apart=host layout=scattered width=4096 count=4096 method=kernel seconds=0.000346
pieces direction=h2d memory=pinned apart=host layout=scattered width=65536 count=16 method=batch seconds=3.39e-05
pieces direction=h2d memory=pinned apart=host layout=scattered width=65536 count=256 method=kernel seconds=0.000342
end
)";

constexpr std::string_view others_text = R"(isthmus transfer table 1
origin built in: PoCL on two processors
buffer direction=h2d from=0 method=driver seconds=2e-05
buffer direction=h2d from=1048576 method=driver seconds=0.00012
buffer direction=d2h from=0 method=driver seconds=2e-05
buffer direction=d2h from=1048576 method=driver seconds=0.00012
pieces direction=d2h memory=pageable apart=both layout=regular width=256 count=16 method=pack seconds=3.14e-05
pieces direction=d2h memory=pageable apart=both layout=regular width=256 count=32 method=section seconds=1.98e-05
pieces direction=d2h memory=pageable apart=both layout=regular width=256 count=256 method=section seconds=5.41e-05
pieces direction=d2h memory=pageable apart=both layout=regular width=256 count=4096 method=section seconds=0.000428
pieces direction=d2h memory=pageable apart=both layout=regular width=65536 count=16 method=copies seconds=0.000151
pieces direction=d2h memory=pageable apart=both layout=scattered width=256 count=16 method=pack seconds=3.63e-05
pieces direction=d2h memory=pageable apart=both layout=scattered width=256 count=256 method=pack seconds=5.39e-05
pieces direction=d2h memory=pageable apart=both layout=scattered width=256 count=4096 method=pack seconds=0.000655
pieces direction=d2h memory=pageable apart=both layout=scattered width=65536 count=16 method=copies seconds=0.000149
pieces direction=d2h memory=pageable apart=device layout=regular width=256 count=32 method=section seconds=2.07e-05
pieces direction=d2h memory=pageable apart=device layout=regular width=256 count=256 method=device_pack seconds=4.12e-05
pieces direction=d2h memory=pageable apart=device layout=regular width=256 count=4096 method=section seconds=0.000229
pieces direction=d2h memory=pageable apart=device layout=scattered width=256 count=16 method=pack seconds=3.14e-05
pieces direction=d2h memory=pageable apart=device layout=scattered width=256 count=256 method=pack seconds=4.83e-05
pieces direction=d2h memory=pageable apart=device layout=scattered width=256 count=4096 method=device_pack seconds=0.000466
pieces direction=d2h memory=pageable apart=device layout=scattered width=65536 count=16 method=copies seconds=0.000143
pieces direction=d2h memory=pageable apart=host layout=regular width=256 count=32 method=section seconds=1.96e-05
pieces direction=d2h memory=pageable apart=host layout=regular width=256 count=256 method=pack_threads threads=2 seconds=3.37e-05
pieces direction=d2h memory=pageable apart=host layout=regular width=256 count=4096 method=pack seconds=0.000247
pieces direction=d2h memory=pageable apart=host layout=scattered width=256 count=16 method=pack seconds=1.95e-05
pieces direction=d2h memory=pageable apart=host layout=scattered width=256 count=256 method=pack seconds=3.72e-05
pieces direction=d2h memory=pageable apart=host layout=scattered width=256 count=4096 method=pack_threads threads=2 seconds=0.000212
pieces direction=d2h memory=pageable apart=host layout=scattered width=65536 count=16 method=copies seconds=0.000143
pieces direction=d2h memory=pinned apart=both layout=regular width=256 count=16 method=pack seconds=3.16e-05
pieces direction=d2h memory=pinned apart=both layout=regular width=256 count=32 method=section seconds=2.15e-05
pieces direction=d2h memory=pinned apart=both layout=regular width=256 count=256 method=pack_threads threads=2 seconds=5.51e-05
pieces direction=d2h memory=pinned apart=both layout=regular width=256 count=4096 method=section seconds=0.00032
pieces direction=d2h memory=pinned apart=both layout=regular width=65536 count=16 method=copies seconds=0.000166
pieces direction=d2h memory=pinned apart=both layout=scattered width=256 count=16 method=pack seconds=3.3e-05
pieces direction=d2h memory=pinned apart=both layout=scattered width=256 count=256 method=pack seconds=5.65e-05
pieces direction=d2h memory=pinned apart=both layout=scattered width=256 count=4096 method=pack_threads threads=2 seconds=0.000602
pieces direction=d2h memory=pinned apart=both layout=scattered width=65536 count=16 method=copies seconds=0.000154
pieces direction=d2h memory=pinned apart=device layout=regular width=256 count=32 method=section seconds=1.71e-05
pieces direction=d2h memory=pinned apart=device layout=regular width=256 count=256 method=section seconds=4.71e-05
pieces direction=d2h memory=pinned apart=device layout=regular width=256 count=4096 method=section seconds=0.000203
pieces direction=d2h memory=pinned apart=device layout=scattered width=256 count=16 method=device_pack seconds=3.57e-05
pieces direction=d2h memory=pinned apart=device layout=scattered width=256 count=256 method=device_pack seconds=4.35e-05
pieces direction=d2h memory=pinned apart=device layout=scattered width=256 count=4096 method=device_pack seconds=0.000336
pieces direction=d2h memory=pinned apart=device layout=scattered width=65536 count=16 method=copies seconds=0.000172
pieces direction=d2h memory=pinned apart=host layout=regular width=256 count=32 method=section seconds=1.82e-05
pieces direction=d2h memory=pinned apart=host layout=regular width=256 count=256 method=pack_threads threads=2 seconds=3.68e-05
pieces direction=d2h memory=pinned apart=host layout=regular width=256 count=4096 method=pack_threads threads=2 seconds=0.000215
pieces direction=d2h memory=pinned apart=host layout=scattered width=256 count=16 method=pack seconds=1.72e-05
pieces direction=d2h memory=pinned apart=host layout=scattered width=256 count=256 method=pack seconds=3.02e-05
pieces direction=d2h memory=pinned apart=host layout=scattered width=256 count=4096 method=pack_threads threads=2 seconds=0.000219
pieces direction=d2h memory=pinned apart=host layout=scattered width=65536 count=16 method=copies seconds=0.000156
pieces direction=h2d memory=pageable apart=both layout=regular width=256 count=16 method=pack_threads threads=2 seconds=3.57e-05
pieces direction=h2d memory=pageable apart=both layout=regular width=256 count=32 method=section seconds=1.59e-05
pieces direction=h2d memory=pageable apart=both layout=regular width=256 count=256 method=section seconds=2.99e-05
pieces direction=h2d memory=pageable apart=both layout=regular width=256 count=4096 method=section seconds=0.00024
pieces direction=h2d memory=pageable apart=both layout=regular width=65536 count=16 method=copies seconds=0.000184
pieces direction=h2d memory=pageable apart=both layout=scattered width=256 count=16 method=pack seconds=3.62e-05
pieces direction=h2d memory=pageable apart=both layout=scattered width=256 count=256 method=pack seconds=4.92e-05
pieces direction=h2d memory=pageable apart=both layout=scattered width=256 count=4096 method=pack seconds=0.000458
pieces direction=h2d memory=pageable apart=both layout=scattered width=65536 count=16 method=copies seconds=0.000165
pieces direction=h2d memory=pageable apart=device layout=regular width=256 count=32 method=section seconds=1.82e-05
pieces direction=h2d memory=pageable apart=device layout=regular width=256 count=256 method=section seconds=2.72e-05
pieces direction=h2d memory=pageable apart=device layout=regular width=256 count=4096 method=section seconds=0.00022
pieces direction=h2d memory=pageable apart=device layout=scattered width=256 count=16 method=pack seconds=3.68e-05
pieces direction=h2d memory=pageable apart=device layout=scattered width=256 count=256 method=device_pack seconds=4.05e-05
pieces direction=h2d memory=pageable apart=device layout=scattered width=256 count=4096 method=device_pack seconds=0.000316
pieces direction=h2d memory=pageable apart=device layout=scattered width=65536 count=16 method=copies seconds=0.000171
pieces direction=h2d memory=pageable apart=host layout=regular width=256 count=32 method=section seconds=1.77e-05
pieces direction=h2d memory=pageable apart=host layout=regular width=256 count=256 method=section seconds=3.37e-05
pieces direction=h2d memory=pageable apart=host layout=regular width=256 count=4096 method=section seconds=0.000164
pieces direction=h2d memory=pageable apart=host layout=scattered width=256 count=16 method=pack_threads threads=2 seconds=1.77e-05
pieces direction=h2d memory=pageable apart=host layout=scattered width=256 count=256 method=pack_threads threads=2 seconds=3.53e-05
pieces direction=h2d memory=pageable apart=host layout=scattered width=256 count=4096 method=pack_threads threads=2 seconds=0.000371
pieces direction=h2d memory=pageable apart=host layout=scattered width=65536 count=16 method=copies seconds=0.00013
pieces direction=h2d memory=pinned apart=both layout=regular width=256 count=16 method=pack seconds=3.21e-05
pieces direction=h2d memory=pinned apart=both layout=regular width=256 count=32 method=section seconds=1.6e-05
pieces direction=h2d memory=pinned apart=both layout=regular width=256 count=256 method=section seconds=5.14e-05
pieces direction=h2d memory=pinned apart=both layout=regular width=256 count=4096 method=section seconds=0.00027
pieces direction=h2d memory=pinned apart=both layout=regular width=65536 count=16 method=copies seconds=0.000174
pieces direction=h2d memory=pinned apart=both layout=scattered width=256 count=16 method=pack seconds=3.83e-05
pieces direction=h2d memory=pinned apart=both layout=scattered width=256 count=256 method=pack seconds=5.21e-05
pieces direction=h2d memory=pinned apart=both layout=scattered width=256 count=4096 method=pack_threads threads=2 seconds=0.000504
pieces direction=h2d memory=pinned apart=both layout=scattered width=65536 count=16 method=copies seconds=0.000197
pieces direction=h2d memory=pinned apart=device layout=regular width=256 count=32 method=section seconds=2.07e-05
pieces direction=h2d memory=pinned apart=device layout=regular width=256 count=256 method=section seconds=2.65e-05
pieces direction=h2d memory=pinned apart=device layout=regular width=256 count=4096 method=section seconds=0.000248
pieces direction=h2d memory=pinned apart=device layout=scattered width=256 count=16 method=device_pack seconds=3.67e-05
pieces direction=h2d memory=pinned apart=device layout=scattered width=256 count=256 method=device_pack seconds=3.4e-05
pieces direction=h2d memory=pinned apart=device layout=scattered width=256 count=4096 method=device_pack seconds=0.00032
pieces direction=h2d memory=pinned apart=device layout=scattered width=65536 count=16 method=copies seconds=0.000199
pieces direction=h2d memory=pinned apart=host layout=regular width=256 count=32 method=section seconds=1.63e-05
pieces direction=h2d memory=pinned apart=host layout=regular width=256 count=256 method=pack seconds=2.81e-05
pieces direction=h2d memory=pinned apart=host layout=regular width=256 count=4096 method=section seconds=0.000193
pieces direction=h2d memory=pinned apart=host layout=scattered width=256 count=16 method=pack seconds=2.08e-05
pieces direction=h2d memory=pinned apart=host layout=scattered width=256 count=256 method=pack seconds=3.23e-05
pieces direction=h2d memory=pinned apart=host layout=scattered width=256 count=4096 method=pack seconds=0.000247
pieces direction=h2d memory=pinned apart=host layout=scattered width=65536 count=16 method=copies seconds=0.000174
end
)";

TransferTable parsed(std::string_view text) {
    auto result = TransferTable::parse(text);
    TransferTable table = result.ok() ? std::move(result.value()) : TransferTable{};
    table.built_in = true;
    return table;
}

}  // namespace

TransferTable TransferTable::defaults(std::string_view backend, std::string_view device) {
    static const TransferTable of_cuda = parsed(cuda_text);
    static const TransferTable of_others = parsed(others_text);
    if (backend != "cuda") return of_others;
    const DeviceTable* const own = device_table(device_tables(), device);
    return own == nullptr ? of_cuda : parsed(own->text);
}

}  // namespace isthmus
