// SPDX-License-Identifier: Apache-2.0
#include "frontends/server/http/compression.hpp"

#include <fmt/core.h>
#include <zlib.h>

#include <algorithm>
#include <limits>
#include <new>

#include "frontends/server/http/json.hpp"
#include "frontends/server/http/message.hpp"

namespace colonnade::serve::http {
namespace {

constexpr int kGzip = 16;  ///< added to the window's bits: gzip's frame instead of zlib's
constexpr std::size_t kMostPerCall = std::numeric_limits<uInt>::max() / 2;

int window_bits(Coding coding) { return coding == Coding::gzip ? 15 + kGzip : 15; }

void give(z_stream& stream, std::span<const std::byte>& bytes) {
  const std::size_t count = std::min(bytes.size(), kMostPerCall);
  stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(count);
  bytes = bytes.subspan(count);
}

struct Inflater {
  z_stream stream{};
  explicit Inflater(Coding coding) {
    if (inflateInit2(&stream, window_bits(coding)) != Z_OK) throw std::bad_alloc();
  }
  ~Inflater() { inflateEnd(&stream); }
};

struct Deflater {
  z_stream stream{};
  explicit Deflater(Coding coding) {
    if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, window_bits(coding), 8, Z_DEFAULT_STRATEGY) != Z_OK)
      throw std::bad_alloc();
  }
  ~Deflater() { deflateEnd(&stream); }
};

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

Body decompress(Coding coding, std::span<const std::byte> bytes, std::size_t most_bytes, std::size_t aligned) {
  Inflater inflater(coding);
  z_stream& stream = inflater.stream;
  Body body(aligned, std::min(most_bytes, 4 * bytes.size()));
  for (int status = Z_OK; status != Z_STREAM_END;) {
    if (stream.avail_in == 0 && !bytes.empty()) give(stream, bytes);
    const auto room = body.room();
    stream.next_out = reinterpret_cast<Bytef*>(room.data());
    stream.avail_out = static_cast<uInt>(std::min({room.size(), kMostPerCall, most_bytes + 1 - body.size()}));
    const std::size_t before = stream.avail_out;
    status = inflate(&stream, Z_NO_FLUSH);
    body.commit(before - stream.avail_out);
    if (body.size() > most_bytes)
      throw Problem(413, fmt::format("the decompressed body exceeds the limit of {} bytes", most_bytes));
    if (status == Z_MEM_ERROR) throw std::bad_alloc();
    if (status == Z_BUF_ERROR) throw Problem(400, fmt::format("the {} body ends too early", name_of(coding)));
    if (status != Z_OK && status != Z_STREAM_END)
      throw Problem(400, fmt::format("the body is no {} data", name_of(coding)));
  }
  if (stream.avail_in > 0 || !bytes.empty())
    throw Problem(400, fmt::format("there are bytes behind the end of the {} body", name_of(coding)));
  return body;
}

std::string compress(Coding coding, std::span<const std::span<const std::byte>> parts) {
  Deflater deflater(coding);
  z_stream& stream = deflater.stream;
  std::string out;
  char block[16384];
  const auto run = [&](int flush) {
    int status = Z_OK;
    do {
      stream.next_out = reinterpret_cast<Bytef*>(block);
      stream.avail_out = sizeof(block);
      status = deflate(&stream, flush);
      out.append(block, sizeof(block) - stream.avail_out);
    } while (stream.avail_out == 0);
    return status;
  };
  for (std::span<const std::byte> part : parts) {
    while (!part.empty()) {
      give(stream, part);
      run(Z_NO_FLUSH);
    }
  }
  if (run(Z_FINISH) != Z_STREAM_END) throw std::bad_alloc();
  return out;
}

}  // namespace colonnade::serve::http
