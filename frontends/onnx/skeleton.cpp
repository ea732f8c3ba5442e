// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnx/skeleton.hpp"

#include <algorithm>
#include <optional>

namespace colonnade::onnx_import {
namespace {

/// Data from this size on is cut out; messages below cannot hold any.
constexpr std::int64_t kLargeBytes = 16384;
constexpr std::size_t kWindowBytes = 8192;
constexpr int kMostVarintBytes = 10;

enum class Message { model, graph, function, node, attribute, tensor, other };

/// The messages on the way to tensors, as onnx.proto numbers them.
Message child_of(Message parent, std::uint64_t field) {
  switch (parent) {
    case Message::model: return field == 7 ? Message::graph : field == 25 ? Message::function : Message::other;
    case Message::graph: return field == 1 ? Message::node : field == 5 ? Message::tensor : Message::other;
    case Message::function: return field == 7 ? Message::node : Message::other;
    case Message::node: return field == 5 ? Message::attribute : Message::other;
    case Message::attribute: return field == 5 ? Message::tensor : field == 6 ? Message::graph : Message::other;
    case Message::tensor:
    case Message::other: break;
  }
  return Message::other;
}

constexpr std::uint64_t kFloatData = 4, kRawData = 9;

enum Wire : std::uint64_t { varint = 0, fixed64 = 1, delimited = 2, fixed32 = 5 };

struct Field {
  std::uint64_t number = 0, wire = 0;
  std::int64_t begin = 0;    ///< of the tag
  std::int64_t payload = 0;  ///< of what follows the tag, and the length where there is one
  std::int64_t end = 0;
  std::int64_t size() const { return end - payload; }
};

void append_varint(std::uint64_t value, std::string& out) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

class Cutter {
 public:
  explicit Cutter(const Bytes& model) : model_(model), window_(kWindowBytes) {}

  Skeleton run() {
    if (!walk(Message::model, 0, model_.size(), skeleton_.message)) {
      skeleton_ = {};
      copy(0, model_.size(), skeleton_.message);
    }
    return std::move(skeleton_);
  }

 private:
  /// Appends the message without large data; false when it is malformed or unusual, with garbage appended.
  bool walk(Message message, std::int64_t begin, std::int64_t end, std::string& out) {
    if (message == Message::tensor) return walk_tensor(begin, end, out);
    if (depth_ > kDeepestMessage) return false;
    std::int64_t copied = begin;
    for (std::int64_t at = begin; at < end;) {
      const auto field = read_field(at, end);
      if (!field) return false;
      at = field->end;
      const Message child = child_of(message, field->number);
      if (field->wire != delimited || field->size() < kLargeBytes || child == Message::other) continue;
      std::string inner;
      const std::size_t ranges = skeleton_.ranges.size();
      ++depth_;
      const bool cut = walk(child, field->payload, field->end, inner) && skeleton_.ranges.size() > ranges;
      --depth_;
      if (!cut) {
        skeleton_.ranges.resize(ranges);
        continue;
      }
      copy(copied, field->begin, out);
      append_varint(field->number << 3 | delimited, out);
      append_varint(inner.size(), out);
      out += inner;
      copied = field->end;
    }
    copy(copied, end, out);
    return true;
  }

  /// Data that comes in several parts, or in both forms, stays in.
  bool walk_tensor(std::int64_t begin, std::int64_t end, std::string& out) {
    std::optional<Field> data;
    for (std::int64_t at = begin; at < end;) {
      const auto field = read_field(at, end);
      if (!field || field->number == kRangeField) return false;
      at = field->end;
      if (field->number != kFloatData && field->number != kRawData) continue;
      if (data || field->wire != delimited) return false;
      data = field;
    }
    if (!data || data->size() < kLargeBytes) return false;
    copy(begin, data->begin, out);
    copy(data->end, end, out);
    append_varint(static_cast<std::uint64_t>(kRangeField) << 3 | varint, out);
    append_varint(skeleton_.ranges.size(), out);
    skeleton_.ranges.push_back({data->payload, data->size(), data->number == kFloatData});
    return true;
  }

  std::optional<Field> read_field(std::int64_t at, std::int64_t end) {
    Field field;
    field.begin = at;
    const auto tag = read_varint(at, end);
    if (!tag || *tag >> 3 == 0) return std::nullopt;
    field.number = *tag >> 3;
    field.wire = *tag & 7;
    std::uint64_t size = 0;
    field.payload = at;
    if (field.wire == fixed64) size = 8;
    if (field.wire == fixed32) size = 4;
    if (field.wire == varint || field.wire == delimited) {
      const auto value = read_varint(at, end);
      if (!value) return std::nullopt;
      if (field.wire == delimited) {
        size = *value;
        field.payload = at;
      }
    } else if (size == 0) {
      return std::nullopt;
    }
    if (size > static_cast<std::uint64_t>(end - at)) return std::nullopt;
    field.end = at + static_cast<std::int64_t>(size);
    return field;
  }

  std::optional<std::uint64_t> read_varint(std::int64_t& at, std::int64_t end) {
    std::uint64_t value = 0;
    for (int i = 0; i < kMostVarintBytes && at < end; ++i, ++at) {
      const auto byte = static_cast<std::uint64_t>(byte_at(at));
      value |= (byte & 0x7f) << (7 * i);
      if (byte < 0x80) {
        ++at;
        return value;
      }
    }
    return std::nullopt;
  }

  std::byte byte_at(std::int64_t at) {
    if (at < window_begin_ || at >= window_end_) {
      window_begin_ = at;
      window_end_ = std::min(model_.size(), at + static_cast<std::int64_t>(window_.size()));
      model_.read(at, std::span(window_).first(static_cast<std::size_t>(window_end_ - at)));
    }
    return window_[static_cast<std::size_t>(at - window_begin_)];
  }

  void copy(std::int64_t begin, std::int64_t end, std::string& out) const {
    if (begin == end) return;
    const std::size_t size = out.size();
    out.resize(size + static_cast<std::size_t>(end - begin));
    model_.read(begin, std::as_writable_bytes(std::span(out).subspan(size)));
  }

  const Bytes& model_;
  Skeleton skeleton_;
  std::vector<std::byte> window_;
  std::int64_t window_begin_ = 0, window_end_ = 0;
  int depth_ = 0;
};

}  // namespace

Skeleton skeleton_of(const Bytes& model) { return Cutter(model).run(); }

}  // namespace colonnade::onnx_import
