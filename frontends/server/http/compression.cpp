// SPDX-License-Identifier: Apache-2.0
#include "frontends/server/http/compression.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "frontends/server/deflate.hpp"
#include "frontends/server/http/json.hpp"
#include "frontends/server/http/message.hpp"

namespace colonnade::serve::http {
namespace {

Frame frame_of(Coding coding) { return coding == Coding::gzip ? Frame::gzip : Frame::zlib; }

double quality_of(std::string_view parameters) {
  const std::size_t at = parameters.find("q=");
  if (at == std::string_view::npos) return 1;
  const std::string_view digits = parameters.substr(at + 2);
  return digits.find_first_of("123456789") < digits.find_first_of(" ;\t") ? 1 : 0;
}

}  // namespace

std::string_view name_of(Coding coding) {
  switch (coding) {
    case Coding::identity: return "identity";
    case Coding::gzip: return "gzip";
    case Coding::deflate: return "deflate";
  }
  return {};
}

Coding coding_of(std::string_view name) {
  for (const Coding coding : {Coding::identity, Coding::gzip, Coding::deflate})
    if (equal_ignoring_case(name, name_of(coding))) return coding;
  throw Problem(415, "Content-Encoding: expected gzip or deflate, found " + json_text(name));
}

Coding preferred_coding(std::string_view accepted) {
  for (const std::string_view part : split_list(accepted)) {
    const std::string_view name = part.substr(0, part.find_first_of("; \t"));
    if (quality_of(part.substr(name.size())) == 0) continue;
    for (const Coding coding : {Coding::gzip, Coding::deflate})
      if (equal_ignoring_case(name, name_of(coding))) return coding;
  }
  return Coding::identity;
}

Body decompress(Coding coding, std::span<const std::byte> bytes, std::size_t most_bytes, std::size_t aligned,
                Lease lease) {
  Inflater inflater(frame_of(coding));
  Body body(aligned, std::min(most_bytes, 4 * bytes.size()), std::move(lease));
  while (inflater.state() == Inflater::State::unpacking) {
    const std::span<std::byte> room = body.room();
    const std::size_t count = inflater.unpack(bytes, room.first(std::min(room.size(), most_bytes + 1 - body.size())));
    body.commit(count);
    if (body.size() > most_bytes)
      throw Problem(413, fmt::format("the decompressed body exceeds the limit of {} bytes", most_bytes));
    if (inflater.state() == Inflater::State::damaged)
      throw Problem(400, fmt::format("the body is no {} data", name_of(coding)));
    if (inflater.state() == Inflater::State::unpacking && count == 0)
      throw Problem(400, fmt::format("the {} body ends too early", name_of(coding)));
  }
  if (!bytes.empty()) throw Problem(400, fmt::format("there are bytes behind the end of the {} body", name_of(coding)));
  return body;
}

std::string compress(Coding coding, std::span<const std::span<const std::byte>> parts) {
  return pack(frame_of(coding), parts);
}

}  // namespace colonnade::serve::http
