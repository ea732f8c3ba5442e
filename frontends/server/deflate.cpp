// SPDX-License-Identifier: Apache-2.0
#include "frontends/server/deflate.hpp"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <new>

namespace colonnade::serve {
namespace {

constexpr std::size_t kMostPerCall = std::numeric_limits<uInt>::max() / 2;

/// The window's bits, and what zlib adds to them for a frame.
int window_bits(Frame frame) {
  switch (frame) {
    case Frame::gzip: return 15 + 16;
    case Frame::zlib: return 15;
    case Frame::either: return 15 + 32;
  }
  return 15;
}

void give(z_stream& stream, std::span<const std::byte> bytes) {
  stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(std::min(bytes.size(), kMostPerCall));
}

struct Deflater {
  z_stream stream{};
  explicit Deflater(Frame frame) {
    if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, window_bits(frame), 8, Z_DEFAULT_STRATEGY) != Z_OK)
      throw std::bad_alloc();
  }
  ~Deflater() { deflateEnd(&stream); }
};

}  // namespace

struct Inflater::Stream {
  z_stream zlib{};
  ~Stream() { inflateEnd(&zlib); }
};

Inflater::Inflater(Frame frame) : stream_(std::make_unique<Stream>()) {
  if (inflateInit2(&stream_->zlib, window_bits(frame)) != Z_OK) throw std::bad_alloc();
}

Inflater::~Inflater() = default;

std::size_t Inflater::unpack(std::span<const std::byte>& bytes, std::span<std::byte> room) {
  z_stream& stream = stream_->zlib;
  std::size_t written = 0;
  while (state_ == State::unpacking && written < room.size()) {
    give(stream, bytes);
    const std::size_t in = stream.avail_in, out = std::min(room.size() - written, kMostPerCall);
    stream.next_out = reinterpret_cast<Bytef*>(room.data() + written);
    stream.avail_out = static_cast<uInt>(out);
    const int status = inflate(&stream, Z_NO_FLUSH);
    bytes = bytes.subspan(in - stream.avail_in);
    written += out - stream.avail_out;
    if (status == Z_MEM_ERROR) throw std::bad_alloc();
    if (status == Z_BUF_ERROR) break;
    if (status != Z_OK) state_ = status == Z_STREAM_END ? State::ended : State::damaged;
  }
  return written;
}

std::string pack(Frame frame, std::span<const std::span<const std::byte>> pieces) {
  Deflater deflater(frame);
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
  for (std::span<const std::byte> piece : pieces) {
    while (!piece.empty()) {
      give(stream, piece);
      piece = piece.subspan(stream.avail_in);
      run(Z_NO_FLUSH);
    }
  }
  if (run(Z_FINISH) != Z_STREAM_END) throw std::bad_alloc();
  return out;
}

}  // namespace colonnade::serve
