// A random program as text.
#pragma once

#include <algorithm>

#include "program.hpp"

template <typename Names, typename Value>
std::string name_of(const Names& names, Value value) {
    return names[static_cast<std::size_t>(value)];
}

inline std::string text_of(const CopyShape& copy) {
    const auto number = [](const char* name, std::size_t value) {
        return " " + std::string(name) + "=" + std::to_string(value);
    };
    std::string text = name_of(forms, copy.form);
    text += copy.to_device ? " to_device" : " to_host";
    text += copy.is_asynchronous ? " async" : " sync";
    if (copy.by_runtime) text += " by_runtime";
    if (copy.by_thread_variant) text += " of_thread";
    if (copy.is_default_kind) text += " default";
    if (copy.mistake != Mistake::none) text += " MISTAKE " + name_of(mistakes, copy.mistake);
    if (copy.form == Form::rows || copy.form == Form::rows_unaligned || copy.form == Form::layers) {
        text += number("width", copy.width) + number("height", copy.height) + number("depth", copy.depth);
        for (const auto& [name, side] : {std::pair("host", copy.host), std::pair("device", copy.device)}) {
            text += " " + std::string(name) + "(at=" + std::to_string(side.at) +
                    " pitch=" + std::to_string(side.pitch) + " rows=" + std::to_string(side.rows_of_layer) +
                    " x,y,z=" + std::to_string(side.x) + "," + std::to_string(side.y) + "," + std::to_string(side.z) +
                    ")";
        }
        return text;
    }
    text += number("host", copy.host_at) + number("device", copy.device_at) + number("bytes", copy.bytes);
    if (copy.pieces != 0) {
        text += number("pieces", copy.pieces) + number("piece", copy.piece_bytes) +
                number("order", static_cast<std::size_t>(copy.order));
    }
    return text;
}

inline std::string listing(const Program& program, std::size_t steps) {
    std::string text = "program " + std::to_string(program.seed);
    if (program.is_interrupted) text += ", interrupted by a timer";
    if (!program.fails.empty()) text += ", " + program.fails + " fails";
    text += "\n";
    for (std::size_t i = 0; i < program.lanes.size(); ++i) {
        const Lane& lane = program.lanes[i];
        text += "  lane " + std::to_string(i) + ": host " + name_of(host_kinds, lane.host) + ", device " +
                name_of(device_kinds, lane.device) + ", stream " + name_of(stream_kinds, lane.stream) + ", " +
                std::to_string(lane.extent) + " bytes, thread " + std::to_string(lane.who) +
                (lane.is_fresh ? ", fresh" : "") + "\n";
    }
    for (std::size_t i = 0; i < std::min(steps, program.steps.size()); ++i) {
        const Step& step = program.steps[i];
        text += "  " + std::to_string(i) + ": " + name_of(acts, step.act) + " lane " + std::to_string(step.lane) +
                " thread " + std::to_string(step.who);
        if (step.act == Act::copy || step.act == Act::without_context) text += " " + text_of(step.copy);
        if (step.act == Act::hand_over) text += " to " + std::to_string(step.other);
        if (step.act == Act::begin_capture || step.act == Act::close_gate) text += " mode " + std::to_string(step.mode);
        if (step.bytes != 0) text += " at=" + std::to_string(step.at) + " bytes=" + std::to_string(step.bytes);
        if (step.act == Act::move_memory) text += " to=" + std::to_string(step.to);
        if (step.count != 0) text += " count=" + std::to_string(step.count);
        text += "\n";
    }
    return text;
}
