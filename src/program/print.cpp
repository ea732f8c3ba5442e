// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <iterator>

#include "program/program.hpp"

namespace colonnade {
namespace {

constexpr std::size_t kShownSteps = 24;

void print_list(std::string& text, const Program& program, std::size_t number, const std::vector<Step>& list) {
  const auto out = std::back_inserter(text);
  fmt::format_to(out, "    list {}: {} steps\n", number, list.size());
  for (std::size_t i = 0; i < list.size() && i < kShownSteps; ++i) {
    const Step& step = list[i];
    const bool wait = step.kind == Step::Kind::wait;
    fmt::format_to(out, "      {} {} {}", wait ? "wait" : "run", program.op_names[step.node],
                   wait ? "" : program.ops[step.node]->kernel());
    fmt::format_to(out, " rows [{},{})", step.row_begin, step.row_end);
    if (step.chunk >= 0) fmt::format_to(out, " chunk {}", step.chunk);
    if (step.publish) text += " publish";
    text += '\n';
  }
  if (list.size() > kShownSteps) fmt::format_to(out, "      ... {} more\n", list.size() - kShownSteps);
}

}  // namespace

std::string to_text(const Program& program) {
  std::string text = fmt::format("program: {} segments, {} threads, arena {} bytes, packed weights {} bytes\n",
                                 program.segments.size(), program.threads, program.arena_bytes, program.weights_bytes);
  for (std::size_t i = 0; i < program.segments.size(); ++i) {
    const ProgramSegment& segment = program.segments[i];
    fmt::format_to(std::back_inserter(text), "  segment {}: {} {}{}\n", i, std::max(segment.images, segment.turns),
                   segment.turns > 1 ? "turns" : "images", segment.share_rounds ? ", an image or strip a thread" : "");
    for (std::size_t list = 0; list < segment.lists.size(); ++list)
      print_list(text, program, list, segment.lists[list]);
  }
  return text;
}

}  // namespace colonnade
