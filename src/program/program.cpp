// SPDX-License-Identifier: Apache-2.0
#include "program/program.hpp"

namespace colonnade {

const View* views_of(const Program& program, const ProgramSegment& segment, std::size_t list, std::int64_t round,
                     std::vector<View>& room) {
  const auto strips = static_cast<std::int64_t>(segment.strip_views.size());
  if (strips == 0) return program.views[list].items.data();
  room.resize(program.views[list].items.size());
  for (const StripView& strip : segment.strip_views[static_cast<std::size_t>(round % strips)][list])
    room[static_cast<std::size_t>(strip.value)] = strip.view;
  return room.data();
}

}  // namespace colonnade
