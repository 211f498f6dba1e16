// What is known of machines before calibration; made by scripts/make_transfer_defaults.py from results/.
#include <string_view>
#include <utility>

#include "transfer/transfer_table.hpp"

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
buffer direction=h2d from=67108864 method=staged threads=8 chunk=2097152 stores=streaming seconds=0.00168
buffer direction=h2d from=268435456 method=staged threads=10 chunk=4194304 stores=ordinary seconds=0.00551
buffer direction=h2d from=1073741824 method=staged threads=8 chunk=7864320 stores=ordinary seconds=0.0203
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
pieces direction=d2h memory=pageable apart=both layout=regular width=8 count=32 method=section seconds=1.1e-05
pieces direction=d2h memory=pageable apart=both layout=regular width=8 count=1024 method=section seconds=3.58e-05
pieces direction=d2h memory=pageable apart=both layout=regular width=8 count=4096 method=pack_kernel threads=10 seconds=4.17e-05
pieces direction=d2h memory=pageable apart=both layout=regular width=8 count=32768 method=pack_kernel threads=10 seconds=4.46e-05
pieces direction=d2h memory=pageable apart=both layout=regular width=256 count=16 method=pack seconds=2.12e-05
pieces direction=d2h memory=pageable apart=both layout=regular width=256 count=32 method=section seconds=1.04e-05
pieces direction=d2h memory=pageable apart=both layout=regular width=256 count=256 method=pack seconds=2.92e-05
pieces direction=d2h memory=pageable apart=both layout=regular width=256 count=1024 method=section seconds=3.48e-05
pieces direction=d2h memory=pageable apart=both layout=regular width=256 count=4096 method=pack_kernel threads=10 seconds=7.05e-05
pieces direction=d2h memory=pageable apart=both layout=regular width=256 count=32768 method=pack_kernel threads=10 seconds=0.000248
pieces direction=d2h memory=pageable apart=both layout=regular width=256 count=65536 method=pack_threads threads=10 seconds=0.000402
pieces direction=d2h memory=pageable apart=both layout=regular width=4096 count=16 method=pack_kernel threads=10 seconds=3.06e-05
pieces direction=d2h memory=pageable apart=both layout=regular width=4096 count=32 method=section seconds=2.22e-05
pieces direction=d2h memory=pageable apart=both layout=regular width=4096 count=256 method=pack_kernel threads=10 seconds=7e-05
pieces direction=d2h memory=pageable apart=both layout=regular width=4096 count=1024 method=pack_kernel threads=10 seconds=0.000178
pieces direction=d2h memory=pageable apart=both layout=regular width=4096 count=4096 method=pack_threads threads=10 seconds=0.000495
pieces direction=d2h memory=pageable apart=both layout=regular width=65536 count=16 method=pack_kernel threads=10 seconds=6.58e-05
pieces direction=d2h memory=pageable apart=both layout=regular width=65536 count=256 method=pack_threads threads=10 seconds=0.000419
pieces direction=d2h memory=pageable apart=both layout=regular width=65536 count=1024 method=pack_kernel threads=10 seconds=0.00142
pieces direction=d2h memory=pageable apart=both layout=scattered width=64 count=16 method=pack seconds=2.22e-05
pieces direction=d2h memory=pageable apart=both layout=scattered width=64 count=256 method=pack seconds=2.53e-05
pieces direction=d2h memory=pageable apart=both layout=scattered width=64 count=1024 method=pack seconds=3.57e-05
pieces direction=d2h memory=pageable apart=both layout=scattered width=64 count=4096 method=pack_kernel threads=10 seconds=4.73e-05
pieces direction=d2h memory=pageable apart=both layout=scattered width=64 count=65536 method=pack_kernel threads=10 seconds=0.000288
pieces direction=d2h memory=pageable apart=both layout=scattered width=256 count=16 method=pack seconds=2.31e-05
pieces direction=d2h memory=pageable apart=both layout=scattered width=256 count=256 method=pack seconds=3.09e-05
pieces direction=d2h memory=pageable apart=both layout=scattered width=256 count=1024 method=pack_kernel threads=10 seconds=4.76e-05
pieces direction=d2h memory=pageable apart=both layout=scattered width=256 count=4096 method=pack_kernel threads=10 seconds=8.24e-05
pieces direction=d2h memory=pageable apart=both layout=scattered width=256 count=65536 method=pack_threads threads=10 seconds=0.000542
pieces direction=d2h memory=pageable apart=both layout=scattered width=4096 count=16 method=pack_kernel threads=10 seconds=3.49e-05
pieces direction=d2h memory=pageable apart=both layout=scattered width=4096 count=256 method=pack_kernel threads=10 seconds=7.24e-05
pieces direction=d2h memory=pageable apart=both layout=scattered width=4096 count=1024 method=pack_kernel threads=10 seconds=0.000199
pieces direction=d2h memory=pageable apart=both layout=scattered width=4096 count=4096 method=pack_threads threads=10 seconds=0.000452
pieces direction=d2h memory=pageable apart=both layout=scattered width=4096 count=65536 method=pack_kernel threads=10 seconds=0.00568
pieces direction=d2h memory=pageable apart=both layout=scattered width=65536 count=16 method=pack_kernel threads=10 seconds=7.03e-05
pieces direction=d2h memory=pageable apart=both layout=scattered width=65536 count=256 method=pack_threads threads=10 seconds=0.000439
pieces direction=d2h memory=pageable apart=both layout=scattered width=1048576 count=16 method=pack_threads threads=10 seconds=0.000448
pieces direction=d2h memory=pageable apart=device layout=regular width=8 count=32 method=section seconds=9.41e-06
pieces direction=d2h memory=pageable apart=device layout=regular width=8 count=1024 method=device_pack seconds=1.56e-05
pieces direction=d2h memory=pageable apart=device layout=regular width=8 count=4096 method=device_pack seconds=2.16e-05
pieces direction=d2h memory=pageable apart=device layout=regular width=8 count=32768 method=pack_kernel threads=10 seconds=3.8e-05
pieces direction=d2h memory=pageable apart=device layout=regular width=256 count=32 method=section seconds=1.06e-05
pieces direction=d2h memory=pageable apart=device layout=regular width=256 count=256 method=device_pack seconds=2.63e-05
pieces direction=d2h memory=pageable apart=device layout=regular width=256 count=1024 method=section seconds=3.49e-05
pieces direction=d2h memory=pageable apart=device layout=regular width=256 count=32768 method=pack_kernel threads=10 seconds=0.000241
pieces direction=d2h memory=pageable apart=device layout=regular width=4096 count=32 method=section seconds=2.16e-05
pieces direction=d2h memory=pageable apart=device layout=regular width=4096 count=256 method=pack_kernel threads=10 seconds=6.68e-05
pieces direction=d2h memory=pageable apart=device layout=regular width=4096 count=1024 method=pack_kernel threads=10 seconds=0.000165
pieces direction=d2h memory=pageable apart=device layout=scattered width=256 count=16 method=device_pack seconds=2.22e-05
pieces direction=d2h memory=pageable apart=device layout=scattered width=256 count=256 method=device_pack seconds=2.76e-05
pieces direction=d2h memory=pageable apart=device layout=scattered width=256 count=4096 method=pack_kernel threads=10 seconds=7.39e-05
pieces direction=d2h memory=pageable apart=device layout=scattered width=256 count=65536 method=pack_threads threads=10 seconds=0.000478
pieces direction=d2h memory=pageable apart=device layout=scattered width=4096 count=16 method=device_pack seconds=2.81e-05
pieces direction=d2h memory=pageable apart=device layout=scattered width=4096 count=256 method=pack_kernel threads=10 seconds=6.97e-05
pieces direction=d2h memory=pageable apart=device layout=scattered width=4096 count=4096 method=pack_threads threads=10 seconds=0.000447
pieces direction=d2h memory=pageable apart=device layout=scattered width=65536 count=16 method=pack_kernel threads=10 seconds=7.06e-05
pieces direction=d2h memory=pageable apart=device layout=scattered width=65536 count=256 method=pack_threads threads=10 seconds=0.000447
pieces direction=d2h memory=pageable apart=device layout=scattered width=65536 count=1024 method=pack_threads threads=10 seconds=0.00145
pieces direction=d2h memory=pageable apart=host layout=regular width=8 count=32 method=pack seconds=8.87e-06
pieces direction=d2h memory=pageable apart=host layout=regular width=8 count=1024 method=pack seconds=2.21e-05
pieces direction=d2h memory=pageable apart=host layout=regular width=8 count=32768 method=pack_threads threads=10 seconds=3.76e-05
pieces direction=d2h memory=pageable apart=host layout=regular width=256 count=32 method=pack seconds=9.96e-06
pieces direction=d2h memory=pageable apart=host layout=regular width=256 count=256 method=pack seconds=1.84e-05
pieces direction=d2h memory=pageable apart=host layout=regular width=256 count=1024 method=pack_threads threads=10 seconds=3.63e-05
pieces direction=d2h memory=pageable apart=host layout=regular width=256 count=32768 method=pack_kernel threads=10 seconds=0.000279
pieces direction=d2h memory=pageable apart=host layout=regular width=4096 count=32 method=section seconds=2.31e-05
pieces direction=d2h memory=pageable apart=host layout=regular width=4096 count=256 method=pack_threads threads=10 seconds=6.57e-05
pieces direction=d2h memory=pageable apart=host layout=regular width=4096 count=1024 method=pack_kernel threads=10 seconds=0.000177
pieces direction=d2h memory=pageable apart=host layout=scattered width=256 count=16 method=pack seconds=1.01e-05
pieces direction=d2h memory=pageable apart=host layout=scattered width=256 count=256 method=pack seconds=1.88e-05
pieces direction=d2h memory=pageable apart=host layout=scattered width=256 count=4096 method=pack_threads threads=10 seconds=6.56e-05
pieces direction=d2h memory=pageable apart=host layout=scattered width=256 count=65536 method=pack_kernel threads=10 seconds=0.000421
pieces direction=d2h memory=pageable apart=host layout=scattered width=4096 count=16 method=pack seconds=2.28e-05
pieces direction=d2h memory=pageable apart=host layout=scattered width=4096 count=256 method=pack_threads threads=10 seconds=6.13e-05
pieces direction=d2h memory=pageable apart=host layout=scattered width=4096 count=4096 method=pack_kernel threads=10 seconds=0.000474
pieces direction=d2h memory=pageable apart=host layout=scattered width=65536 count=16 method=pack_threads threads=10 seconds=6.12e-05
pieces direction=d2h memory=pageable apart=host layout=scattered width=65536 count=256 method=pack_kernel threads=10 seconds=0.000446
pieces direction=d2h memory=pageable apart=host layout=scattered width=65536 count=1024 method=pack_kernel threads=10 seconds=0.00145
pieces direction=d2h memory=pinned apart=both layout=regular width=8 count=32 method=section seconds=7.44e-06
pieces direction=d2h memory=pinned apart=both layout=regular width=8 count=1024 method=section seconds=1.17e-05
pieces direction=d2h memory=pinned apart=both layout=regular width=8 count=4096 method=section seconds=1.25e-05
pieces direction=d2h memory=pinned apart=both layout=regular width=8 count=32768 method=pack_kernel threads=10 seconds=4e-05
pieces direction=d2h memory=pinned apart=both layout=regular width=256 count=16 method=kernel seconds=9.63e-06
pieces direction=d2h memory=pinned apart=both layout=regular width=256 count=32 method=section seconds=7.29e-06
pieces direction=d2h memory=pinned apart=both layout=regular width=256 count=256 method=kernel seconds=1.04e-05
pieces direction=d2h memory=pinned apart=both layout=regular width=256 count=1024 method=section seconds=1.39e-05
pieces direction=d2h memory=pinned apart=both layout=regular width=256 count=4096 method=kernel seconds=2.92e-05
pieces direction=d2h memory=pinned apart=both layout=regular width=256 count=32768 method=section seconds=0.000159
pieces direction=d2h memory=pinned apart=both layout=regular width=4096 count=16 method=kernel seconds=1.05e-05
pieces direction=d2h memory=pinned apart=both layout=regular width=4096 count=32 method=section seconds=9.26e-06
pieces direction=d2h memory=pinned apart=both layout=regular width=4096 count=256 method=kernel seconds=2.9e-05
pieces direction=d2h memory=pinned apart=both layout=regular width=4096 count=1024 method=section seconds=8.4e-05
pieces direction=d2h memory=pinned apart=both layout=regular width=4096 count=4096 method=kernel seconds=0.000329
pieces direction=d2h memory=pinned apart=both layout=regular width=65536 count=16 method=kernel seconds=2.92e-05
pieces direction=d2h memory=pinned apart=both layout=regular width=65536 count=256 method=kernel seconds=0.000329
pieces direction=d2h memory=pinned apart=both layout=scattered width=64 count=16 method=kernel seconds=1.1e-05
pieces direction=d2h memory=pinned apart=both layout=scattered width=64 count=256 method=kernel seconds=1.19e-05
pieces direction=d2h memory=pinned apart=both layout=scattered width=64 count=1024 method=kernel seconds=1.38e-05
pieces direction=d2h memory=pinned apart=both layout=scattered width=64 count=4096 method=kernel seconds=2.96e-05
pieces direction=d2h memory=pinned apart=both layout=scattered width=64 count=65536 method=kernel seconds=0.000195
pieces direction=d2h memory=pinned apart=both layout=scattered width=256 count=16 method=kernel seconds=1.09e-05
pieces direction=d2h memory=pinned apart=both layout=scattered width=256 count=256 method=kernel seconds=1.27e-05
pieces direction=d2h memory=pinned apart=both layout=scattered width=256 count=1024 method=kernel seconds=1.73e-05
pieces direction=d2h memory=pinned apart=both layout=scattered width=256 count=4096 method=kernel seconds=4.39e-05
pieces direction=d2h memory=pinned apart=both layout=scattered width=256 count=65536 method=kernel seconds=0.000424
pieces direction=d2h memory=pinned apart=both layout=scattered width=4096 count=16 method=kernel seconds=1.2e-05
pieces direction=d2h memory=pinned apart=both layout=scattered width=4096 count=256 method=kernel seconds=3.11e-05
pieces direction=d2h memory=pinned apart=both layout=scattered width=4096 count=1024 method=kernel seconds=9.21e-05
pieces direction=d2h memory=pinned apart=both layout=scattered width=4096 count=4096 method=kernel seconds=0.000337
pieces direction=d2h memory=pinned apart=both layout=scattered width=4096 count=65536 method=kernel seconds=0.00524
pieces direction=d2h memory=pinned apart=both layout=scattered width=65536 count=16 method=kernel seconds=3.11e-05
pieces direction=d2h memory=pinned apart=both layout=scattered width=65536 count=256 method=kernel seconds=0.000331
pieces direction=d2h memory=pinned apart=both layout=scattered width=1048576 count=16 method=batch seconds=0.000321
pieces direction=d2h memory=pinned apart=device layout=regular width=8 count=32 method=section seconds=7.18e-06
pieces direction=d2h memory=pinned apart=device layout=regular width=8 count=1024 method=section seconds=7.7e-06
pieces direction=d2h memory=pinned apart=device layout=regular width=8 count=4096 method=kernel seconds=1.03e-05
pieces direction=d2h memory=pinned apart=device layout=regular width=8 count=32768 method=kernel seconds=1.46e-05
pieces direction=d2h memory=pinned apart=device layout=regular width=8 count=1048576 method=kernel seconds=0.00017
pieces direction=d2h memory=pinned apart=device layout=regular width=64 count=32 method=section seconds=6.65e-06
pieces direction=d2h memory=pinned apart=device layout=regular width=64 count=1024 method=section seconds=7.79e-06
pieces direction=d2h memory=pinned apart=device layout=regular width=64 count=32768 method=kernel seconds=4.93e-05
pieces direction=d2h memory=pinned apart=device layout=regular width=64 count=524288 method=kernel seconds=0.000649
pieces direction=d2h memory=pinned apart=device layout=regular width=256 count=32 method=section seconds=7.15e-06
pieces direction=d2h memory=pinned apart=device layout=regular width=256 count=256 method=kernel seconds=1.03e-05
pieces direction=d2h memory=pinned apart=device layout=regular width=256 count=1024 method=section seconds=1.16e-05
pieces direction=d2h memory=pinned apart=device layout=regular width=256 count=32768 method=section seconds=0.000159
pieces direction=d2h memory=pinned apart=device layout=regular width=4096 count=32 method=section seconds=9.09e-06
pieces direction=d2h memory=pinned apart=device layout=regular width=4096 count=256 method=kernel seconds=2.91e-05
pieces direction=d2h memory=pinned apart=device layout=regular width=4096 count=1024 method=section seconds=8.35e-05
pieces direction=d2h memory=pinned apart=device layout=regular width=65536 count=32 method=section seconds=4.52e-05
pieces direction=d2h memory=pinned apart=device layout=scattered width=256 count=16 method=kernel seconds=1.15e-05
pieces direction=d2h memory=pinned apart=device layout=scattered width=256 count=256 method=kernel seconds=1.29e-05
pieces direction=d2h memory=pinned apart=device layout=scattered width=256 count=4096 method=kernel seconds=3.58e-05
pieces direction=d2h memory=pinned apart=device layout=scattered width=4096 count=16 method=kernel seconds=1.24e-05
pieces direction=d2h memory=pinned apart=device layout=scattered width=4096 count=256 method=kernel seconds=3.11e-05
pieces direction=d2h memory=pinned apart=device layout=scattered width=4096 count=4096 method=kernel seconds=0.000335
pieces direction=d2h memory=pinned apart=device layout=scattered width=65536 count=16 method=batch seconds=3.14e-05
pieces direction=d2h memory=pinned apart=device layout=scattered width=65536 count=256 method=kernel seconds=0.000332
pieces direction=d2h memory=pinned apart=host layout=regular width=8 count=32 method=section seconds=7.12e-06
pieces direction=d2h memory=pinned apart=host layout=regular width=8 count=1024 method=section seconds=1.17e-05
pieces direction=d2h memory=pinned apart=host layout=regular width=8 count=32768 method=pack_threads threads=10 seconds=3.59e-05
pieces direction=d2h memory=pinned apart=host layout=regular width=8 count=1048576 method=section seconds=0.00133
pieces direction=d2h memory=pinned apart=host layout=regular width=64 count=32 method=section seconds=7.53e-06
pieces direction=d2h memory=pinned apart=host layout=regular width=64 count=1024 method=section seconds=1.17e-05
pieces direction=d2h memory=pinned apart=host layout=regular width=64 count=32768 method=section seconds=5.34e-05
pieces direction=d2h memory=pinned apart=host layout=regular width=64 count=524288 method=section seconds=0.00075
pieces direction=d2h memory=pinned apart=host layout=regular width=256 count=32 method=section seconds=7.68e-06
pieces direction=d2h memory=pinned apart=host layout=regular width=256 count=256 method=kernel seconds=1.02e-05
pieces direction=d2h memory=pinned apart=host layout=regular width=256 count=1024 method=section seconds=1.41e-05
pieces direction=d2h memory=pinned apart=host layout=regular width=256 count=32768 method=section seconds=0.000159
pieces direction=d2h memory=pinned apart=host layout=regular width=4096 count=32 method=section seconds=9.93e-06
pieces direction=d2h memory=pinned apart=host layout=regular width=4096 count=256 method=kernel seconds=2.94e-05
pieces direction=d2h memory=pinned apart=host layout=regular width=4096 count=1024 method=section seconds=8.37e-05
pieces direction=d2h memory=pinned apart=host layout=regular width=65536 count=32 method=section seconds=4.63e-05
pieces direction=d2h memory=pinned apart=host layout=scattered width=256 count=16 method=pack seconds=1.01e-05
pieces direction=d2h memory=pinned apart=host layout=scattered width=256 count=256 method=kernel seconds=1.23e-05
pieces direction=d2h memory=pinned apart=host layout=scattered width=256 count=4096 method=kernel seconds=4.03e-05
pieces direction=d2h memory=pinned apart=host layout=scattered width=4096 count=16 method=kernel seconds=1.23e-05
pieces direction=d2h memory=pinned apart=host layout=scattered width=4096 count=256 method=kernel seconds=3.1e-05
pieces direction=d2h memory=pinned apart=host layout=scattered width=4096 count=4096 method=kernel seconds=0.000334
pieces direction=d2h memory=pinned apart=host layout=scattered width=65536 count=16 method=kernel seconds=3.12e-05
pieces direction=d2h memory=pinned apart=host layout=scattered width=65536 count=256 method=kernel seconds=0.000332
pieces direction=h2d memory=pageable apart=both layout=regular width=8 count=32 method=section seconds=1.07e-05
pieces direction=h2d memory=pageable apart=both layout=regular width=8 count=1024 method=section seconds=2.67e-05
pieces direction=h2d memory=pageable apart=both layout=regular width=8 count=4096 method=pack_kernel threads=10 seconds=4.84e-05
pieces direction=h2d memory=pageable apart=both layout=regular width=8 count=32768 method=pack_kernel threads=10 seconds=4.67e-05
pieces direction=h2d memory=pageable apart=both layout=regular width=256 count=16 method=pack seconds=1.37e-05
pieces direction=h2d memory=pageable apart=both layout=regular width=256 count=32 method=section seconds=1.24e-05
pieces direction=h2d memory=pageable apart=both layout=regular width=256 count=256 method=pack_kernel threads=10 seconds=3.16e-05
pieces direction=h2d memory=pageable apart=both layout=regular width=256 count=1024 method=pack_kernel threads=10 seconds=4.05e-05
pieces direction=h2d memory=pageable apart=both layout=regular width=256 count=4096 method=pack_kernel threads=10 seconds=8.61e-05
pieces direction=h2d memory=pageable apart=both layout=regular width=256 count=32768 method=pack_kernel threads=10 seconds=0.000251
pieces direction=h2d memory=pageable apart=both layout=regular width=256 count=65536 method=pack_kernel threads=10 seconds=0.000403
pieces direction=h2d memory=pageable apart=both layout=regular width=4096 count=16 method=pack_kernel threads=10 seconds=3.03e-05
pieces direction=h2d memory=pageable apart=both layout=regular width=4096 count=32 method=section seconds=3.24e-05
pieces direction=h2d memory=pageable apart=both layout=regular width=4096 count=256 method=pack_threads threads=10 seconds=7.95e-05
pieces direction=h2d memory=pageable apart=both layout=regular width=4096 count=1024 method=pack_kernel threads=10 seconds=0.00018
pieces direction=h2d memory=pageable apart=both layout=regular width=4096 count=4096 method=pack_threads threads=10 seconds=0.000467
pieces direction=h2d memory=pageable apart=both layout=regular width=65536 count=16 method=pack_kernel threads=10 seconds=8.04e-05
pieces direction=h2d memory=pageable apart=both layout=regular width=65536 count=256 method=pack_threads threads=10 seconds=0.000456
pieces direction=h2d memory=pageable apart=both layout=regular width=65536 count=1024 method=pack_kernel threads=10 seconds=0.00147
pieces direction=h2d memory=pageable apart=both layout=scattered width=64 count=16 method=pack seconds=1.42e-05
pieces direction=h2d memory=pageable apart=both layout=scattered width=64 count=256 method=pack seconds=2.19e-05
pieces direction=h2d memory=pageable apart=both layout=scattered width=64 count=1024 method=pack_kernel threads=10 seconds=3.68e-05
pieces direction=h2d memory=pageable apart=both layout=scattered width=64 count=4096 method=pack_kernel threads=10 seconds=4.29e-05
pieces direction=h2d memory=pageable apart=both layout=scattered width=64 count=65536 method=pack_kernel threads=10 seconds=0.000239
pieces direction=h2d memory=pageable apart=both layout=scattered width=256 count=16 method=pack seconds=1.54e-05
pieces direction=h2d memory=pageable apart=both layout=scattered width=256 count=256 method=pack_kernel threads=10 seconds=3.47e-05
pieces direction=h2d memory=pageable apart=both layout=scattered width=256 count=1024 method=pack_kernel threads=10 seconds=4.24e-05
pieces direction=h2d memory=pageable apart=both layout=scattered width=256 count=4096 method=pack_threads threads=10 seconds=8.23e-05
pieces direction=h2d memory=pageable apart=both layout=scattered width=256 count=65536 method=pack_threads threads=10 seconds=0.000524
pieces direction=h2d memory=pageable apart=both layout=scattered width=4096 count=16 method=pack seconds=3.31e-05
pieces direction=h2d memory=pageable apart=both layout=scattered width=4096 count=256 method=pack_kernel threads=10 seconds=7.17e-05
pieces direction=h2d memory=pageable apart=both layout=scattered width=4096 count=1024 method=pack_threads threads=10 seconds=0.000189
pieces direction=h2d memory=pageable apart=both layout=scattered width=4096 count=4096 method=pack_threads threads=10 seconds=0.000462
pieces direction=h2d memory=pageable apart=both layout=scattered width=4096 count=65536 method=pack_kernel threads=10 seconds=0.00581
pieces direction=h2d memory=pageable apart=both layout=scattered width=65536 count=16 method=pack_threads threads=10 seconds=7.95e-05
pieces direction=h2d memory=pageable apart=both layout=scattered width=65536 count=256 method=pack_threads threads=10 seconds=0.000455
pieces direction=h2d memory=pageable apart=both layout=scattered width=1048576 count=16 method=pack_threads threads=10 seconds=0.000452
pieces direction=h2d memory=pageable apart=device layout=regular width=8 count=32 method=section seconds=9.74e-06
pieces direction=h2d memory=pageable apart=device layout=regular width=8 count=1024 method=device_pack seconds=1.37e-05
pieces direction=h2d memory=pageable apart=device layout=regular width=8 count=4096 method=device_pack seconds=2.03e-05
pieces direction=h2d memory=pageable apart=device layout=regular width=8 count=32768 method=pack_kernel threads=10 seconds=3.87e-05
pieces direction=h2d memory=pageable apart=device layout=regular width=256 count=32 method=section seconds=1.26e-05
pieces direction=h2d memory=pageable apart=device layout=regular width=256 count=256 method=device_pack seconds=2.51e-05
pieces direction=h2d memory=pageable apart=device layout=regular width=256 count=1024 method=pack_kernel threads=10 seconds=3.67e-05
pieces direction=h2d memory=pageable apart=device layout=regular width=256 count=32768 method=pack_kernel threads=10 seconds=0.000233
pieces direction=h2d memory=pageable apart=device layout=regular width=4096 count=32 method=section seconds=3.33e-05
pieces direction=h2d memory=pageable apart=device layout=regular width=4096 count=256 method=pack_kernel threads=10 seconds=6.54e-05
pieces direction=h2d memory=pageable apart=device layout=regular width=4096 count=1024 method=pack_threads threads=10 seconds=0.000187
pieces direction=h2d memory=pageable apart=device layout=scattered width=256 count=16 method=device_pack seconds=1.35e-05
pieces direction=h2d memory=pageable apart=device layout=scattered width=256 count=256 method=pack seconds=3.28e-05
pieces direction=h2d memory=pageable apart=device layout=scattered width=256 count=4096 method=pack_kernel threads=10 seconds=7.18e-05
pieces direction=h2d memory=pageable apart=device layout=scattered width=256 count=65536 method=pack_threads threads=10 seconds=0.000452
pieces direction=h2d memory=pageable apart=device layout=scattered width=4096 count=16 method=device_pack seconds=2.83e-05
pieces direction=h2d memory=pageable apart=device layout=scattered width=4096 count=256 method=pack_kernel threads=10 seconds=6.9e-05
pieces direction=h2d memory=pageable apart=device layout=scattered width=4096 count=4096 method=pack_threads threads=10 seconds=0.000462
pieces direction=h2d memory=pageable apart=device layout=scattered width=65536 count=16 method=pack_kernel threads=10 seconds=7.27e-05
pieces direction=h2d memory=pageable apart=device layout=scattered width=65536 count=256 method=pack_threads threads=10 seconds=0.000463
pieces direction=h2d memory=pageable apart=device layout=scattered width=65536 count=1024 method=pack_threads threads=10 seconds=0.00148
pieces direction=h2d memory=pageable apart=host layout=regular width=8 count=32 method=pack seconds=8.73e-06
pieces direction=h2d memory=pageable apart=host layout=regular width=8 count=1024 method=pack seconds=2.19e-05
pieces direction=h2d memory=pageable apart=host layout=regular width=8 count=32768 method=pack_threads threads=10 seconds=4.28e-05
pieces direction=h2d memory=pageable apart=host layout=regular width=256 count=32 method=pack seconds=1.09e-05
pieces direction=h2d memory=pageable apart=host layout=regular width=256 count=256 method=pack seconds=2.55e-05
pieces direction=h2d memory=pageable apart=host layout=regular width=256 count=1024 method=pack_threads threads=10 seconds=4.33e-05
pieces direction=h2d memory=pageable apart=host layout=regular width=256 count=32768 method=pack_kernel threads=10 seconds=0.000248
pieces direction=h2d memory=pageable apart=host layout=regular width=4096 count=32 method=pack seconds=2.69e-05
pieces direction=h2d memory=pageable apart=host layout=regular width=4096 count=256 method=pack_kernel threads=10 seconds=8.02e-05
pieces direction=h2d memory=pageable apart=host layout=regular width=4096 count=1024 method=pack_threads threads=10 seconds=0.000181
pieces direction=h2d memory=pageable apart=host layout=scattered width=256 count=16 method=pack seconds=9.52e-06
pieces direction=h2d memory=pageable apart=host layout=scattered width=256 count=256 method=pack seconds=2.41e-05
pieces direction=h2d memory=pageable apart=host layout=scattered width=256 count=4096 method=pack_threads threads=10 seconds=8.07e-05
pieces direction=h2d memory=pageable apart=host layout=scattered width=256 count=65536 method=pack_kernel threads=10 seconds=0.000425
pieces direction=h2d memory=pageable apart=host layout=scattered width=4096 count=16 method=pack seconds=2.14e-05
pieces direction=h2d memory=pageable apart=host layout=scattered width=4096 count=256 method=pack_kernel threads=10 seconds=7.02e-05
pieces direction=h2d memory=pageable apart=host layout=scattered width=4096 count=4096 method=pack_threads threads=10 seconds=0.000469
pieces direction=h2d memory=pageable apart=host layout=scattered width=65536 count=16 method=pack_threads threads=10 seconds=7.64e-05
pieces direction=h2d memory=pageable apart=host layout=scattered width=65536 count=256 method=pack_threads threads=10 seconds=0.000461
pieces direction=h2d memory=pageable apart=host layout=scattered width=65536 count=1024 method=pack_threads threads=10 seconds=0.00149
pieces direction=h2d memory=pinned apart=both layout=regular width=8 count=32 method=section seconds=8.07e-06
pieces direction=h2d memory=pinned apart=both layout=regular width=8 count=1024 method=section seconds=1.08e-05
pieces direction=h2d memory=pinned apart=both layout=regular width=8 count=4096 method=section seconds=1.51e-05
pieces direction=h2d memory=pinned apart=both layout=regular width=8 count=32768 method=kernel seconds=2.12e-05
pieces direction=h2d memory=pinned apart=both layout=regular width=256 count=16 method=kernel seconds=1.06e-05
pieces direction=h2d memory=pinned apart=both layout=regular width=256 count=32 method=section seconds=8.44e-06
pieces direction=h2d memory=pinned apart=both layout=regular width=256 count=256 method=kernel seconds=1.17e-05
pieces direction=h2d memory=pinned apart=both layout=regular width=256 count=1024 method=section seconds=1.41e-05
pieces direction=h2d memory=pinned apart=both layout=regular width=256 count=4096 method=kernel seconds=3.12e-05
pieces direction=h2d memory=pinned apart=both layout=regular width=256 count=32768 method=section seconds=0.000161
pieces direction=h2d memory=pinned apart=both layout=regular width=4096 count=16 method=kernel seconds=1.19e-05
pieces direction=h2d memory=pinned apart=both layout=regular width=4096 count=32 method=section seconds=1.02e-05
pieces direction=h2d memory=pinned apart=both layout=regular width=4096 count=256 method=kernel seconds=3.13e-05
pieces direction=h2d memory=pinned apart=both layout=regular width=4096 count=1024 method=section seconds=8.43e-05
pieces direction=h2d memory=pinned apart=both layout=regular width=4096 count=4096 method=kernel seconds=0.000339
pieces direction=h2d memory=pinned apart=both layout=regular width=65536 count=16 method=kernel seconds=3.11e-05
pieces direction=h2d memory=pinned apart=both layout=regular width=65536 count=256 method=kernel seconds=0.000338
pieces direction=h2d memory=pinned apart=both layout=scattered width=64 count=16 method=kernel seconds=1.22e-05
pieces direction=h2d memory=pinned apart=both layout=scattered width=64 count=256 method=kernel seconds=1.36e-05
pieces direction=h2d memory=pinned apart=both layout=scattered width=64 count=1024 method=kernel seconds=1.56e-05
pieces direction=h2d memory=pinned apart=both layout=scattered width=64 count=4096 method=kernel seconds=3.16e-05
pieces direction=h2d memory=pinned apart=both layout=scattered width=64 count=65536 method=kernel seconds=0.000199
pieces direction=h2d memory=pinned apart=both layout=scattered width=256 count=16 method=kernel seconds=1.27e-05
pieces direction=h2d memory=pinned apart=both layout=scattered width=256 count=256 method=kernel seconds=1.41e-05
pieces direction=h2d memory=pinned apart=both layout=scattered width=256 count=1024 method=kernel seconds=1.87e-05
pieces direction=h2d memory=pinned apart=both layout=scattered width=256 count=4096 method=kernel seconds=4.6e-05
pieces direction=h2d memory=pinned apart=both layout=scattered width=256 count=65536 method=kernel seconds=0.000428
pieces direction=h2d memory=pinned apart=both layout=scattered width=4096 count=16 method=kernel seconds=1.37e-05
pieces direction=h2d memory=pinned apart=both layout=scattered width=4096 count=256 method=kernel seconds=3.33e-05
pieces direction=h2d memory=pinned apart=both layout=scattered width=4096 count=1024 method=kernel seconds=9.62e-05
pieces direction=h2d memory=pinned apart=both layout=scattered width=4096 count=4096 method=kernel seconds=0.000351
pieces direction=h2d memory=pinned apart=both layout=scattered width=4096 count=65536 method=kernel seconds=0.00537
pieces direction=h2d memory=pinned apart=both layout=scattered width=65536 count=16 method=kernel seconds=3.29e-05
pieces direction=h2d memory=pinned apart=both layout=scattered width=65536 count=256 method=kernel seconds=0.000341
pieces direction=h2d memory=pinned apart=both layout=scattered width=1048576 count=16 method=batch seconds=0.000323
pieces direction=h2d memory=pinned apart=device layout=regular width=8 count=32 method=section seconds=8.73e-06
pieces direction=h2d memory=pinned apart=device layout=regular width=8 count=1024 method=section seconds=1.07e-05
pieces direction=h2d memory=pinned apart=device layout=regular width=8 count=4096 method=kernel seconds=1.21e-05
pieces direction=h2d memory=pinned apart=device layout=regular width=8 count=32768 method=kernel seconds=1.64e-05
pieces direction=h2d memory=pinned apart=device layout=regular width=8 count=1048576 method=kernel seconds=0.000177
pieces direction=h2d memory=pinned apart=device layout=regular width=64 count=32 method=section seconds=7.69e-06
pieces direction=h2d memory=pinned apart=device layout=regular width=64 count=1024 method=section seconds=9.39e-06
pieces direction=h2d memory=pinned apart=device layout=regular width=64 count=32768 method=kernel seconds=5.24e-05
pieces direction=h2d memory=pinned apart=device layout=regular width=64 count=524288 method=device_pack seconds=0.000643
pieces direction=h2d memory=pinned apart=device layout=regular width=256 count=32 method=section seconds=7.9e-06
pieces direction=h2d memory=pinned apart=device layout=regular width=256 count=256 method=kernel seconds=1.18e-05
pieces direction=h2d memory=pinned apart=device layout=regular width=256 count=1024 method=section seconds=1.3e-05
pieces direction=h2d memory=pinned apart=device layout=regular width=256 count=32768 method=section seconds=0.000159
pieces direction=h2d memory=pinned apart=device layout=regular width=4096 count=32 method=section seconds=1.07e-05
pieces direction=h2d memory=pinned apart=device layout=regular width=4096 count=256 method=kernel seconds=3.12e-05
pieces direction=h2d memory=pinned apart=device layout=regular width=4096 count=1024 method=section seconds=8.43e-05
pieces direction=h2d memory=pinned apart=device layout=regular width=65536 count=32 method=section seconds=4.57e-05
pieces direction=h2d memory=pinned apart=device layout=scattered width=256 count=16 method=kernel seconds=1.23e-05
pieces direction=h2d memory=pinned apart=device layout=scattered width=256 count=256 method=kernel seconds=1.41e-05
pieces direction=h2d memory=pinned apart=device layout=scattered width=256 count=4096 method=device_pack seconds=3.57e-05
pieces direction=h2d memory=pinned apart=device layout=scattered width=4096 count=16 method=kernel seconds=1.34e-05
pieces direction=h2d memory=pinned apart=device layout=scattered width=4096 count=256 method=kernel seconds=3.33e-05
pieces direction=h2d memory=pinned apart=device layout=scattered width=4096 count=4096 method=device_pack seconds=0.00033
pieces direction=h2d memory=pinned apart=device layout=scattered width=65536 count=16 method=batch seconds=3.3e-05
pieces direction=h2d memory=pinned apart=device layout=scattered width=65536 count=256 method=device_pack seconds=0.000328
pieces direction=h2d memory=pinned apart=host layout=regular width=8 count=32 method=section seconds=8.17e-06
pieces direction=h2d memory=pinned apart=host layout=regular width=8 count=1024 method=section seconds=1.14e-05
pieces direction=h2d memory=pinned apart=host layout=regular width=8 count=32768 method=kernel seconds=2.16e-05
pieces direction=h2d memory=pinned apart=host layout=regular width=8 count=1048576 method=kernel seconds=0.000339
pieces direction=h2d memory=pinned apart=host layout=regular width=64 count=32 method=section seconds=7.67e-06
pieces direction=h2d memory=pinned apart=host layout=regular width=64 count=1024 method=section seconds=1.12e-05
pieces direction=h2d memory=pinned apart=host layout=regular width=64 count=32768 method=section seconds=5.88e-05
pieces direction=h2d memory=pinned apart=host layout=regular width=64 count=524288 method=section seconds=0.000843
pieces direction=h2d memory=pinned apart=host layout=regular width=256 count=32 method=section seconds=8.25e-06
pieces direction=h2d memory=pinned apart=host layout=regular width=256 count=256 method=kernel seconds=1.16e-05
pieces direction=h2d memory=pinned apart=host layout=regular width=256 count=1024 method=section seconds=1.36e-05
pieces direction=h2d memory=pinned apart=host layout=regular width=256 count=32768 method=section seconds=0.00016
pieces direction=h2d memory=pinned apart=host layout=regular width=4096 count=32 method=section seconds=1.08e-05
pieces direction=h2d memory=pinned apart=host layout=regular width=4096 count=256 method=kernel seconds=3.1e-05
pieces direction=h2d memory=pinned apart=host layout=regular width=4096 count=1024 method=section seconds=8.43e-05
pieces direction=h2d memory=pinned apart=host layout=regular width=65536 count=32 method=section seconds=4.66e-05
pieces direction=h2d memory=pinned apart=host layout=scattered width=256 count=16 method=pack seconds=9.26e-06
pieces direction=h2d memory=pinned apart=host layout=scattered width=256 count=256 method=kernel seconds=1.43e-05
pieces direction=h2d memory=pinned apart=host layout=scattered width=256 count=4096 method=kernel seconds=4.28e-05
pieces direction=h2d memory=pinned apart=host layout=scattered width=4096 count=16 method=kernel seconds=1.48e-05
pieces direction=h2d memory=pinned apart=host layout=scattered width=4096 count=256 method=kernel seconds=3.33e-05
pieces direction=h2d memory=pinned apart=host layout=scattered width=4096 count=4096 method=kernel seconds=0.000348
pieces direction=h2d memory=pinned apart=host layout=scattered width=65536 count=16 method=batch seconds=3.29e-05
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

const TransferTable& TransferTable::defaults(std::string_view backend) {
    static const TransferTable of_cuda = parsed(cuda_text);
    static const TransferTable of_others = parsed(others_text);
    return backend == "cuda" ? of_cuda : of_others;
}

}  // namespace isthmus
