// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <iterator>

#include "program/program.hpp"

namespace colonnade {
namespace {

constexpr std::size_t kShownInstructions = 24;

void print_list(std::string& text, const Program& program, std::size_t thread, const std::vector<Instruction>& list) {
  const auto out = std::back_inserter(text);
  fmt::format_to(out, "    thread {}: {} instructions\n", thread, list.size());
  for (std::size_t i = 0; i < list.size() && i < kShownInstructions; ++i) {
    const Instruction& instruction = list[i];
    const auto op = static_cast<std::size_t>(instruction.op);
    const bool wait = instruction.kind == Instruction::Kind::wait;
    fmt::format_to(out, "      {} {} {}", wait ? "wait" : "run", program.op_names[op],
                   wait ? "" : program.ops[op]->kernel());
    fmt::format_to(out, " rows [{},{})", instruction.row_begin, instruction.row_end);
    if (instruction.chunk >= 0) fmt::format_to(out, " chunk {}", instruction.chunk);
    if (instruction.publish) text += " publish";
    text += '\n';
  }
  if (list.size() > kShownInstructions) fmt::format_to(out, "      ... {} more\n", list.size() - kShownInstructions);
}

}  // namespace

std::string to_text(const Program& program) {
  std::string text = fmt::format("program: {} segments, {} threads, arena {} bytes, packed weights {} bytes\n",
                                 program.segments.size(), program.threads, program.arena_bytes, program.weights_bytes);
  for (std::size_t i = 0; i < program.segments.size(); ++i) {
    const ProgramSegment& segment = program.segments[i];
    fmt::format_to(std::back_inserter(text), "  segment {}: {} images{}\n", i, segment.images,
                   segment.share_images ? ", an image a thread" : "");
    for (std::size_t thread = 0; thread < segment.threads.size(); ++thread)
      print_list(text, program, thread, segment.threads[thread]);
  }
  return text;
}

}  // namespace colonnade
