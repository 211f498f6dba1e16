// Makes random programs in which nothing is undefined: no two accesses to the same memory without an order.
#pragma once

#include <optional>

#include "shapes.hpp"

class Generator {
  public:
    Generator(std::uint64_t seed, const LeftOut& left_out)
        : dice_(seed), left_out_(left_out), shapes_(dice_, left_out), lanes_(1 + dice_.below(3)) {
        program_.seed = seed;
    }

    Program make() {
        for (std::size_t i = 0; i < lanes_.size(); ++i) program_.lanes.push_back(lane(i));
        program_.is_interrupted = dice_.one_in(10);
        if (left_out_.is_fake && dice_.one_in(12)) {
            program_.fails = dice_.pick({"cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuMemHostAlloc",
                                         "cuStreamIsCapturing", "cuPointerGetAttributes", "cuEventCreate",
                                         "cuMemHostRegister_v2", "cuStreamCreate", "cuLaunchKernel", "cuStreamQuery"});
        }
        const std::size_t wanted = 3 + dice_.below(12);
        while (program_.steps.size() < wanted) step();
        if (captured_) end_capture();
        return program_;
    }

  private:
    enum class Where { own, legacy, thread };
    struct State {
        std::optional<Where> pending;  // where work of the lane may be unfinished
        bool is_host_busy = false;     // until that has ended
        // What that may still write.
        bool is_host_written = false, is_device_written = false;
        bool calls_host = false;  // functions of it
        bool is_gated = false;
        bool is_locked = false;
        bool is_retired = false;
        std::size_t locked_at = 0;

        void end_pending() {
            pending.reset();
            is_host_busy = is_host_written = is_device_written = calls_host = false;
        }
    };

    Lane lane(std::size_t i) {
        Lane lane;
        lane.host = static_cast<HostKind>(dice_.below(static_cast<std::size_t>(HostKind::count)));
        if (dice_.one_in(3)) lane.host = dice_.pick({HostKind::heap, HostKind::anonymous});
        if (dice_.one_in(3)) lane.device = static_cast<DeviceKind>(dice_.below(4));
        lane.stream = static_cast<StreamKind>(dice_.below(static_cast<std::size_t>(StreamKind::count)));
        if (dice_.one_in(3)) lane.stream = StreamKind::non_blocking;
        lane.who = i == 0 ? 0 : static_cast<unsigned>(dice_.below(2));
        constexpr std::size_t kib = 1024;
        lane.extent = dice_.scaled(256 * kib, 2048 * kib);
        if (dice_.one_in(6)) lane.extent = dice_.scaled(4 * kib, 256 * kib);
        if (dice_.one_in(8)) lane.extent = Shapes::slot_bytes;
        if (lane.host == HostKind::registered_in_part && left_out_.partly_locked) lane.host = HostKind::registered;
        if (lane.host == HostKind::stack) lane.extent = std::min(lane.extent, 1024 * kib);
        lane.is_fresh = dice_.one_in(8);
        return lane;
    }

    // Where what is enqueued in a lane goes.
    static Where own(const Lane& lane) {
        if (lane.stream == StreamKind::legacy || lane.stream == StreamKind::legacy_by_name) return Where::legacy;
        return lane.stream == StreamKind::of_thread ? Where::thread : Where::own;
    }
    static Where where(const Lane& lane, const CopyShape& copy) {
        if (copy.is_asynchronous) return own(lane);
        return copy.by_thread_variant ? Where::thread : Where::legacy;
    }
    bool any_gated() const {
        return std::any_of(lanes_.begin(), lanes_.end(), [](const State& lane) { return lane.is_gated; });
    }
    Lane& of(std::size_t i) { return program_.lanes[i]; }
    Step& add(Act act, std::size_t lane) {
        Step step;
        step.act = act;
        step.lane = static_cast<unsigned>(lane);
        step.who = of(lane).who;
        step.seed = dice_.next();
        program_.steps.push_back(step);
        return program_.steps.back();
    }
    // Until nothing of the lane is unfinished; false where that may not be waited for.
    bool settle(std::size_t i) {
        State& state = lanes_[i];
        if (!state.pending) return true;
        if (any_gated() || captured_ || is_together_) return false;
        add(*state.pending == Where::legacy ? Act::synchronize_default : Act::synchronize, i);
        state.end_pending();
        return true;
    }
    bool may_go(std::size_t i, Where where) {
        const State& state = lanes_[i];
        return !state.pending || *state.pending == where || settle(i);
    }

    void step() {
        const std::size_t i = dice_.below(lanes_.size());
        if (lanes_[i].is_retired) {
            if (std::all_of(lanes_.begin(), lanes_.end(), [](const State& lane) { return lane.is_retired; })) {
                add(Act::open_gates, i);
            }
            return;
        }
        if (captured_) return captured_step(i);
        switch (dice_.below(32)) {
            case 0:
            case 1: return write_host(i);
            case 2: return fill_device(i);
            case 3: return within_device(i);
            case 4:
            case 5: return move_memory(i);
            case 6:
            case 7:
            case 8: return close_gate(i);
            case 9: return open_gates(i);
            case 10: return query(i);
            case 11: return synchronize(i);
            case 12: return hand_over(i);
            case 13: return host_function(i);
            case 14:
            case 15: return begin_capture(i);
            case 16: return together();
            case 17: return without_context(i);
            case 18: return lock(i);
            case 19: return dice_.one_in(2) ? recreate(i) : check(i);
            case 20:
            case 21:
            case 22: return is_drivers(of(i).host) ? renew(i) : copy(i);
            default: return copy(i);
        }
    }

    void copy(std::size_t i) {
        for (int tries = 0; tries < 8; ++tries) {
            const CopyShape shape = shapes_.make(of(i));
            const bool is_batch = shape.form == Form::batch || shape.form == Form::batch_2;
            const bool is_rows = shape.form >= Form::rows && shape.form <= Form::layers;
            if (any_gated() && is_batch && left_out_.batches) continue;
            if (any_gated() && is_rows && left_out_.rows_behind_gates) continue;
            if (!may_go(i, where(of(i), shape)) || !is_source_ready(i, shape)) continue;
            Step& step = add(Act::copy, i);
            step.copy = shape;
            step.is_behind_gate = is_behind_gate(i, where(of(i), shape));
            note(i, step);
            return;
        }
    }
    // Whether nothing that is unfinished writes what the copy may read before its turn: pageable memory, which the
    // driver reads when it is called, and what the attributes of pieces allow.
    bool is_source_ready(std::size_t i, const CopyShape& shape) {
        const State& state = lanes_[i];
        const bool is_batch = shape.form == Form::batch || shape.form == Form::batch_2;
        const bool is_any_order = is_batch && (shape.order != 1 || shape.pieces % 3 == 0);
        const bool is_pinned =
            !is_pageable(of(i).host) && of(i).host != HostKind::registered_in_part && !state.is_locked;
        const bool is_written = shape.to_device ? state.is_host_written && (is_any_order || !is_pinned)
                                                : state.is_device_written && is_any_order;
        return !is_written || settle(i);
    }
    bool is_behind_gate(std::size_t i, Where where) const {
        for (std::size_t other = 0; other < lanes_.size(); ++other) {
            if (!lanes_[other].is_gated) continue;
            const Lane& gated = program_.lanes[other];
            const Lane& lane = program_.lanes[i];
            const bool is_same = other == i && where == own(lane);
            const bool is_thread = where == Where::thread && own(gated) == Where::thread && gated.who == lane.who;
            // The legacy stream and all but the non-blocking ones wait for each other.
            const bool by_legacy =
                (where == Where::legacy && gated.stream != StreamKind::non_blocking) ||
                (own(gated) == Where::legacy && (where != Where::own || lane.stream != StreamKind::non_blocking));
            if (is_same || is_thread || by_legacy) return true;
        }
        return false;
    }
    // What is known of a lane after a copy.
    void note(std::size_t i, Step& step) {
        State& state = lanes_[i];
        const CopyShape& shape = step.copy;
        const bool is_plain_memory = is_pageable(of(i).host) && !state.is_locked;
        const bool is_one_piece = shape.form == Form::linear || shape.form == Form::generic;
        const bool is_taken = is_plain_memory && shape.is_asynchronous && is_one_piece;
        // What has arrived is there when the call returns.
        step.flag = !shape.to_device && !state.is_host_busy && (!shape.is_asynchronous || is_taken);
        state.is_host_busy = state.is_host_busy || (shape.is_asynchronous && !is_taken);
        state.is_host_written = state.is_host_written || (!shape.to_device && shape.is_asynchronous && !is_taken);
        state.is_device_written = state.is_device_written || shape.to_device;
        state.pending = where(of(i), shape);
    }

    void write_host(std::size_t i) {
        if (lanes_[i].is_host_busy || of(i).host == HostKind::read_only) return;
        Step& step = add(Act::write_host, i);
        range(step, of(i).extent);
    }
    void range(Step& step, std::size_t extent) {
        step.bytes = dice_.scaled(1, extent);
        step.at = dice_.below(extent - step.bytes + 1);
    }
    void fill_device(std::size_t i) {
        if (!may_go(i, own(of(i)))) return;
        range(add(Act::fill_device, i), of(i).extent);
        lanes_[i].pending = own(of(i));
        lanes_[i].is_device_written = true;
    }
    void within_device(std::size_t i) {
        if (!may_go(i, own(of(i)))) return;
        Step& step = add(Act::copy_within_device, i);
        range(step, of(i).extent / 2);
        step.to = of(i).extent / 2 + step.at;
        lanes_[i].pending = own(of(i));
        lanes_[i].is_device_written = true;
    }
    // By the program itself, from one lane's memory to another's or within one, where the two may overlap.
    void move_memory(std::size_t i) {
        const std::size_t other = dice_.below(lanes_.size());
        if (lanes_[i].is_host_busy || lanes_[other].is_host_busy || of(other).host == HostKind::read_only) return;
        const std::size_t extent = std::min(of(i).extent, of(other).extent);
        Step& step = add(Act::move_memory, i);
        step.other = static_cast<unsigned>(other);
        range(step, extent);
        step.to = dice_.below(extent - step.bytes + 1);
    }

    void close_gate(std::size_t i) {
        if (left_out_.gates || lanes_[i].is_gated || !may_go(i, own(of(i)))) return;
        // Host functions may run one after the other, of whatever streams.
        const bool is_function = dice_.below(4) == 0 && !others_may_call(i);
        add(Act::close_gate, i).mode = is_function ? 1 : 0;
        lanes_[i].is_gated = true;
        lanes_[i].calls_host = lanes_[i].calls_host || is_function;
        lanes_[i].pending = own(of(i));
        lanes_[i].is_host_busy = lanes_[i].is_host_busy || !is_pageable(of(i).host);
    }
    // Whether host functions of other lanes may be under way.
    bool others_may_call(std::size_t i) const {
        for (std::size_t other = 0; other < lanes_.size(); ++other) {
            if (other != i && lanes_[other].pending && lanes_[other].calls_host) return true;
        }
        return false;
    }
    void open_gates(std::size_t i) {
        if (!any_gated()) return;
        add(Act::open_gates, i);
        for (State& state : lanes_) state.is_gated = false;
    }
    void query(std::size_t i) {
        if (lanes_[i].is_gated) add(dice_.one_in(2) ? Act::query : Act::query_event, i);
    }
    void synchronize(std::size_t i) {
        if (any_gated() && !dice_.one_in(4)) return;
        if (!any_gated()) {
            settle(i);
        } else {
            add(Act::synchronize, i);
        }
    }
    void hand_over(std::size_t i) {
        const std::size_t other = dice_.below(lanes_.size());
        if (other == i || lanes_[other].is_retired) return;
        // By one thread, whose own default stream is not the other's.
        const bool is_of_thread = of(i).stream == StreamKind::of_thread || of(other).stream == StreamKind::of_thread;
        if (is_of_thread && of(i).who != of(other).who) return;
        if (!may_go(i, own(of(i))) || !may_go(other, own(of(other)))) return;
        Step& step = add(Act::hand_over, i);
        step.other = static_cast<unsigned>(other);
        range(step, std::min(of(i).extent, of(other).extent));
        lanes_[i].pending = own(of(i));
        lanes_[other].pending = own(of(other));
        lanes_[other].is_device_written = true;
    }
    void host_function(std::size_t i) {
        if (!may_go(i, own(of(i))) || (any_gated() && others_may_call(i))) return;
        add(Act::host_function, i);
        lanes_[i].calls_host = true;
        lanes_[i].pending = own(of(i));
    }

    void begin_capture(std::size_t i) {
        if (left_out_.captures || any_gated()) return;
        const bool is_blocking = of(i).stream != StreamKind::non_blocking && of(i).stream != StreamKind::of_thread;
        if (is_blocking && left_out_.blocking_captures) return;
        if (!may_go(i, own(of(i)))) return;
        Step& step = add(Act::begin_capture, i);
        step.mode = static_cast<int>(dice_.below(3));
        captured_ = i;
        captured_left_ = 1 + dice_.below(5);
        lanes_[i].pending = own(of(i));
        lanes_[i].is_host_busy = true;
    }
    void captured_step(std::size_t i) {
        if (captured_left_-- == 0) return end_capture();
        if (dice_.one_in(8)) {
            // Which a capture may not outlive, or which it forbids.
            add(dice_.pick({Act::query, Act::query_event, Act::synchronize}), i).flag = true;
            return;
        }
        if (i == *captured_ && dice_.one_in(4)) return fill_device(i);
        const std::size_t before = program_.steps.size();
        copy(i);
        // By the other thread, where no stream is the thread's own.
        if (program_.steps.size() == before || of(i).stream == StreamKind::of_thread) return;
        if (dice_.one_in(2)) program_.steps.back().who ^= 1U;
    }
    void end_capture() {
        const std::size_t i = *captured_;
        captured_.reset();
        // What was there before the capture, and what came of one that did not begin, may be unfinished.
        add(Act::end_capture, i);
    }

    void together() {
        if (any_gated() || lanes_.size() < 2) return;
        std::optional<std::size_t> first, second;
        for (std::size_t i = 0; i < lanes_.size(); ++i) {
            if (lanes_[i].is_retired || !settle(i)) continue;
            (of(i).who == 0 ? first : second) = i;
        }
        if (!first || !second) return;
        const std::size_t at = program_.steps.size();
        add(Act::together, *first);
        is_together_ = true;
        const std::size_t count = 2 + dice_.below(7);
        for (std::size_t k = 0; k < count; ++k) copy(k % 2 == 0 ? *first : *second);
        is_together_ = false;
        program_.steps[at].count = program_.steps.size() - at - 1;
    }
    void without_context(std::size_t i) {
        if (any_gated() || of(i).stream == StreamKind::of_thread || !settle(i)) return;
        const std::size_t before = program_.steps.size();
        copy(i);
        if (program_.steps.size() == before) return;
        Step& step = program_.steps.back();
        step.act = Act::without_context;
        step.flag = false;
        step.copy.by_runtime = false;  // the runtime would make its own current
        lanes_[i].is_host_busy = true;
    }
    void lock(std::size_t i) {
        State& state = lanes_[i];
        if (any_gated() || left_out_.partly_locked || !settle(i)) return;
        if (state.is_locked) {
            add(Act::unlock_pages, i).at = state.locked_at;
            state.is_locked = false;
            return;
        }
        if (of(i).host != HostKind::anonymous && of(i).host != HostKind::huge && of(i).host != HostKind::file_private) {
            return;
        }
        constexpr std::size_t page = 4096;
        const std::size_t pages = of(i).extent / page;
        if (pages == 0) return;
        Step& step = add(Act::lock_pages, i);
        step.bytes = page * (1 + dice_.below(pages));
        step.at = page * dice_.below(pages - step.bytes / page + 1);
        state.is_locked = true;
        state.locked_at = step.at;
    }
    void recreate(std::size_t i) {
        if (of(i).stream != StreamKind::blocking && of(i).stream != StreamKind::non_blocking) return;
        const bool is_gated = any_gated();
        if (!is_gated && lanes_[i].pending == Where::legacy && !settle(i)) return;
        add(Act::recreate_stream, i).flag = !is_gated;
        lanes_[i].is_retired = is_gated;
        if (!is_gated) lanes_[i].end_pending();
    }
    void renew(std::size_t i) {
        if (!any_gated() && settle(i)) add(Act::renew_memory, i);
    }
    void check(std::size_t i) {
        if (settle(i)) add(Act::check, i);
    }

    Dice dice_;
    const LeftOut& left_out_;
    Shapes shapes_;
    Program program_;
    std::vector<State> lanes_;
    std::optional<std::size_t> captured_;
    std::size_t captured_left_ = 0;
    bool is_together_ = false;
};
