// Which calls are refused while a graph is captured, and what becomes of the capture.
#pragma once

#include <array>
#include <functional>
#include <thread>
#include <utility>

#include "copies.hpp"
#include "facts.hpp"

namespace facts {

class Captures {
  public:
    explicit Captures(World& world) : world_(world) {
        must("cuEventCreate", &event_, 2U);
        must("cuEventCreate", &captured_event_, 2U);
        must("cuEventRecord", event_, world_.other);
        must("cuStreamCreate", &captured_, 1U);
        must("cuStreamCreate", &captured_blocking_, 0U);
        must("cuCtxSynchronize");
    }

    void all() {
        static const char* const modes[] = {"global", "thread", "relaxed"};
        for (const bool is_blocking : {false, true}) {
            captured_now_ = is_blocking ? captured_blocking_ : captured_;
            for (int mode = 0; mode < 3; ++mode) {
                for (const auto& [name, work] : calls()) {
                    const std::string of = is_blocking ? " capture of a blocking stream, " : " capture of a stream, ";
                    if (!Facts::begin(modes[mode] + of + name)) continue;
                    for (const bool elsewhere : {false, true}) {
                        for (const bool relaxed : {false, true}) during(mode, work, elsewhere, relaxed);
                    }
                    std::printf("\n");
                }
            }
        }
    }

  private:
    using Work = std::function<int()>;

    // The code of the call, what the stream then says of its capture, and the code of the capture's end.
    void during(int mode, const Work& work, bool elsewhere, bool relaxed) {
        const auto address = world_.second;
        must("cuEventRecord", event_, world_.other);
        must("cuCtxSynchronize");
        must("cuStreamBeginCapture_v2", captured_now_, mode);
        const int first =
            call("cuMemsetD8Async", address, static_cast<unsigned char>(1), std::size_t{64}, captured_now_);
        const int recorded = call("cuEventRecord", captured_event_, captured_now_);
        int code = 0;
        const auto in_its_mode = [&] {
            (void)call("cuCtxSetCurrent", world_.context);
            int exchanged = 2;
            if (relaxed) (void)call("cuThreadExchangeStreamCaptureMode", &exchanged);
            code = work();
            if (relaxed) (void)call("cuThreadExchangeStreamCaptureMode", &exchanged);
        };
        if (elsewhere)
            std::thread(in_its_mode).join();
        else
            in_its_mode();
        int state = -2;
        const int asked = call("cuStreamIsCapturing", captured_now_, &state);
        Handle graph = nullptr;
        const int ended = call("cuStreamEndCapture", captured_now_, &graph);
        if (graph != nullptr) (void)call("cuGraphDestroy", graph);
        std::printf(" [%d, %d, %d, %d%s]", code, asked, state, ended, first == 0 && recorded == 0 ? "" : ", not begun");
        const int left = world_.synchronize();
        if (left != 0) std::printf(" left %d", left);
    }

    Copy copied(Form form, bool to_device, std::uint8_t* host, std::size_t bytes, bool is_asynchronous = true,
                bool per_thread = false) {
        const std::size_t width = form == Form::linear || form == Form::unified ? 0 : 16 * KiB;
        return {.form = form,
                .to_device = to_device,
                .host = host,
                .device = world_.device,
                .bytes = bytes,
                .width = width,
                .gap = width == 0 || form == Form::batch ? std::size_t{0} : std::size_t{64},
                .is_asynchronous = is_asynchronous,
                .per_thread = per_thread};
    }

    std::vector<std::pair<std::string, Work>> calls() {
        World& w = world_;
        std::vector<std::pair<std::string, Work>> all;
        const auto add = [&](const std::string& name, Work work) { all.emplace_back(name, std::move(work)); };
        const auto copies = [&](const std::string& name, Handle* on, const Copy& copy) {
            add(name, [=] { return made(copy, on == nullptr ? nullptr : *on); });
        };
        const std::pair<const char*, Handle*> streams[] = {{"another stream", &w.other},
                                                           {"the stream itself", &captured_now_},
                                                           {"a blocking stream", &w.blocking},
                                                           {"the null stream", nullptr}};
        for (const auto& [stream, on] : streams) {
            const std::string text = std::string(" on ") + stream;
            for (const bool to_device : {true, false}) {
                const std::string direction = to_device ? " to device" : " to host";
                copies("pageable 64 KiB" + direction + text, on, copied(Form::linear, to_device, w.pageable, 64 * KiB));
                copies("pageable 1 MiB" + direction + text, on, copied(Form::linear, to_device, w.pageable, 1 * MiB));
                copies("pinned 1 MiB" + direction + text, on, copied(Form::linear, to_device, w.pinned, 1 * MiB));
                copies("rows 1 MiB" + direction + text, on, copied(Form::rows_2d, to_device, w.pageable, 1 * MiB));
                copies("batch 1 MiB" + direction + text, on, copied(Form::batch, to_device, w.pageable, 1 * MiB));
            }
            copies("unified 1 MiB" + text, on, copied(Form::unified, true, w.pageable, 1 * MiB));
            copies("layers 1 MiB" + text, on, copied(Form::rows_3d, true, w.pageable, 1 * MiB));
            const auto of = [on = on] { return on == nullptr ? nullptr : *on; };
            add("synchronizing" + text, [=] { return call("cuStreamSynchronize", of()); });
            add("query" + text, [=] { return call("cuStreamQuery", of()); });
            add("asking" + text, [=] {
                int state = 0;
                const int code = call("cuStreamIsCapturing", of(), &state);
                return code == 0 ? 1000 + state : code;
            });
            add("id" + text, [=] {
                unsigned long long id = 0;
                return call("cuStreamGetId", of(), &id);
            });
            add("context" + text, [=] {
                Handle context = nullptr;
                return call("cuStreamGetCtx", of(), &context);
            });
            add("record" + text, [=, this] { return call("cuEventRecord", event_, of()); });
            add("wait" + text, [=, this] { return call("cuStreamWaitEvent", of(), event_, 0U); });
            add("fill" + text, [=] {
                return call("cuMemsetD8Async", w.device, static_cast<unsigned char>(1), std::size_t{64}, of());
            });
        }
        for (const bool per_thread : {false, true}) {
            for (const bool to_device : {true, false}) {
                for (const Form form :
                     {Form::linear, Form::unified, Form::rows_2d, Form::unaligned_2d, Form::rows_3d}) {
                    const Copy copy = copied(form, to_device, w.pageable, 1 * MiB, false, per_thread);
                    copies("waiting, " + text_of(copy), nullptr, copy);
                }
                const Copy copy = copied(Form::linear, to_device, w.pinned, 1 * MiB, false, per_thread);
                copies("waiting, pinned, " + text_of(copy), nullptr, copy);
            }
            const Copy copy = copied(Form::linear, true, w.pageable, 1 * MiB, true, per_thread);
            copies(text_of(copy) + ", on the thread's stream", &of_thread_, copy);
        }
        add("query of an event", [=, this] { return call("cuEventQuery", event_); });
        add("query of a captured event", [=, this] { return call("cuEventQuery", captured_event_); });
        add("waiting for an event", [=, this] { return call("cuEventSynchronize", event_); });
        add("waiting for the context", [=] { return call("cuCtxSynchronize"); });
        add("getting device memory", [=] {
            Address got = 0;
            const int code = call("cuMemAlloc_v2", &got, 1 * MiB);
            return code;
        });
        add("getting page-locked memory", [=] {
            void* got = nullptr;
            const int code = call("cuMemHostAlloc", &got, 1 * MiB, 0U);
            return code;
        });
        add("locking pages", [=] {
            void* got = mmap(nullptr, 1 * MiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            return call("cuMemHostRegister_v2", got, 1 * MiB, 0U);
        });
        add("making a stream", [=] {
            Handle got = nullptr;
            return call("cuStreamCreate", &got, 1U);
        });
        add("making an event", [=] {
            Handle got = nullptr;
            return call("cuEventCreate", &got, 2U);
        });
        add("attributes of a pointer", [=] {
            unsigned type = 0;
            std::array<int, 1> names{2};
            std::array<void*, 1> values{&type};
            return call("cuPointerGetAttributes", 1U, names.data(), values.data(), w.device);
        });
        add("the current context", [=] {
            Handle got = nullptr;
            return call("cuCtxGetCurrent", &got);
        });
        add("the id of the context", [=] {
            unsigned long long id = 0;
            return call("cuCtxGetId", Handle{}, &id);
        });
        add("the state of the primary context", [=] {
            unsigned flags = 0;
            int active = 0;
            return call("cuDevicePrimaryCtxGetState", 0, &flags, &active);
        });
        add("retaining the primary context", [=] {
            Handle got = nullptr;
            return call("cuDevicePrimaryCtxRetain", &got, 0);
        });
        add("free memory", [=] {
            std::size_t free = 0, total = 0;
            return call("cuMemGetInfo_v2", &free, &total);
        });
        return all;
    }

    World& world_;
    Handle event_ = nullptr, captured_event_ = nullptr, captured_ = nullptr, captured_blocking_ = nullptr;
    Handle captured_now_ = nullptr, of_thread_ = reinterpret_cast<Handle>(2);
};

}  // namespace facts
