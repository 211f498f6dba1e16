// Stands in for a compiler's openacc.h: says that there is a device, so that the programs' own arithmetic runs on the
// CPU.
#pragma once

enum acc_device_t { acc_device_nvidia, acc_device_host, acc_device_not_host };
enum acc_device_property_t { acc_property_name };

inline int acc_get_num_devices(acc_device_t) {
    return 1;
}
inline void acc_set_device_type(acc_device_t) {}
inline int acc_on_device(acc_device_t) {
    return 1;
}
inline acc_device_t acc_get_device_type() {
    return acc_device_nvidia;
}
inline const char* acc_get_property_string(int, acc_device_t, acc_device_property_t) {
    return "the \"CPU\"";
}
