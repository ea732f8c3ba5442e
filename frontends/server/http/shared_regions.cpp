// SPDX-License-Identifier: Apache-2.0
#include "frontends/server/http/shared_regions.hpp"

#include <fmt/format.h>

#include "frontends/server/http/json.hpp"
#include "frontends/server/http/json_reader.hpp"
#include "frontends/server/http/message.hpp"

namespace colonnade::serve::http {
namespace {

std::uint64_t count_of(const Json& value, std::string_view where) {
  const std::int64_t count = integer_of(value, where);
  if (count < 0) throw Problem(400, fmt::format("{}: expected an integer of 0 or more, found {}", where, count));
  return static_cast<std::uint64_t>(count);
}

}  // namespace

std::string shared_regions_json(const SharedMemory& memory, const std::string& name) {
  std::string text = "[";
  for (const SharedRegionPtr& region : memory.regions(name)) {
    if (text.size() > 1) text += ',';
    text += "{\"name\":";
    append_json(text, region->name());
    text += ",\"key\":";
    append_json(text, region->key());
    fmt::format_to(std::back_inserter(text), ",\"offset\":{},\"byte_size\":{}}}", region->offset(), region->size());
  }
  return text + "]";
}

void register_shared_region(SharedMemory& memory, const std::string& name, std::span<const std::byte> text,
                            int deepest_json) {
  std::string key;
  std::uint64_t offset = 0, bytes = 0;
  with_json(text, deepest_json, [&](const Json& root) {
    Keys keys("the request");
    for (const auto& [member, value] : object_of(root, "the request")) {
      if (member == "key") {
        keys.meet(0, member);
        key = string_of(value, member);
      } else if (member == "offset") {
        keys.meet(1, member);
        offset = count_of(value, member);
      } else if (member == "byte_size") {
        keys.meet(2, member);
        bytes = count_of(value, member);
      }
    }
    if (!keys.has_met(0)) throw Problem(400, "the request: \"key\" is missing");
    if (!keys.has_met(2)) throw Problem(400, "the request: \"byte_size\" is missing");
  });
  memory.add(name, key, offset, bytes);
}

}  // namespace colonnade::serve::http
