// SPDX-License-Identifier: Apache-2.0
#include "frontends/server/grpc/message.hpp"

#include <fmt/core.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/wire_format_lite.h>
#include <grpcpp/impl/codegen/proto_buffer_reader.h>

#include <limits>

#include "frontends/server/deflate.hpp"
#include "frontends/server/status.hpp"

namespace colonnade::serve {
namespace {

using google::protobuf::Message;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::ArrayInputStream;
using google::protobuf::io::CodedInputStream;
using google::protobuf::io::CodedOutputStream;
using google::protobuf::io::ZeroCopyInputStream;

constexpr int kMostFields = 65536;
constexpr std::size_t kMostShapeBytes = 4096;
constexpr std::size_t kLargest = std::numeric_limits<int>::max();  ///< that protobuf can count
constexpr std::size_t kWorthNoCopy = 4096;

[[noreturn]] void refuse_size(std::size_t most_bytes) {
  throw Failure(Code::too_large, fmt::format("expected a message of at most {} bytes", most_bytes));
}

/// Field 15 and what gzip begins with are in none of our messages.
bool is_compressed(const std::vector<grpc::Slice>& slices) {
  std::uint8_t first[2];
  std::size_t count = 0;
  for (const grpc::Slice& slice : slices) {
    for (std::size_t i = 0; i < slice.size() && count < 2; ++i) first[count++] = slice.begin()[i];
  }
  if (count < 2) return false;
  const bool is_gzip = first[0] == 0x1f && first[1] == 0x8b;
  const bool is_zlib = first[0] == 0x78 && (first[0] * 256 + first[1]) % 31 == 0;
  return is_gzip || is_zlib;
}

std::string inflate_all(const std::vector<grpc::Slice>& slices, std::size_t most_bytes) {
  constexpr std::size_t kBlock = std::size_t{64} << 10;
  Inflater inflater(Frame::either);
  std::string text;
  bool is_damaged = false;
  for (const grpc::Slice& slice : slices) {
    std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(slice.begin()), slice.size());
    for (std::size_t count = kBlock; count == kBlock;) {
      const std::size_t before = text.size();
      if (before > most_bytes) refuse_size(most_bytes);
      text.resize(before + kBlock);
      count = inflater.unpack(bytes, std::as_writable_bytes(std::span(text).subspan(before)));
      text.resize(before + count);
    }
    is_damaged = is_damaged || !bytes.empty();
  }
  if (is_damaged || inflater.state() != Inflater::State::ended)
    throw Failure(Code::invalid_argument, "the message's compressed bytes are damaged");
  if (text.size() > most_bytes) refuse_size(most_bytes);
  return text;
}

/// Counts the fields of a message and of those within that clients may repeat: each costs far more memory than bytes.
/// A malformed message is left to the parser.
class FieldCounter {
 public:
  explicit FieldCounter(ZeroCopyInputStream& stream) : input_(&stream) {}

  void check(const google::protobuf::Descriptor& message) { walk(message, 0); }

 private:
  bool walk(const google::protobuf::Descriptor& message, int depth) {
    constexpr int kDeepest = 3;
    for (std::uint32_t tag = input_.ReadTag(); tag != 0; tag = input_.ReadTag()) {
      const auto* field = message.FindFieldByNumber(WireFormatLite::GetTagFieldNumber(tag));
      const bool is_message = field != nullptr && field->message_type() != nullptr && depth < kDeepest;
      if (++count_ > kMostFields)
        throw Failure(Code::too_large, fmt::format("expected at most {} fields in a message", kMostFields));
      if (WireFormatLite::GetTagWireType(tag) != WireFormatLite::WIRETYPE_LENGTH_DELIMITED ||
          !has_parts(field, is_message)) {
        if (!WireFormatLite::SkipField(&input_, tag)) return false;
        continue;
      }
      int length = 0;
      if (!input_.ReadVarintSizeAsInt(&length)) return false;
      if (!is_message) {
        if (static_cast<std::size_t>(length) > kMostShapeBytes)
          throw Failure(Code::too_large, fmt::format("expected a shape of at most {} bytes", kMostShapeBytes));
        if (!input_.Skip(length)) return false;
        continue;
      }
      const auto limit = input_.PushLimit(length);
      if (!walk(*field->message_type(), depth + 1) || input_.BytesUntilLimit() != 0) return false;
      input_.PopLimit(limit);
    }
    return true;
  }

  /// Messages but tensors' contents, which are as large as they are; and shapes.
  static bool has_parts(const google::protobuf::FieldDescriptor* field, bool is_message) {
    if (field == nullptr) return false;
    if (is_message) return field->message_type()->name() != "InferTensorContents";
    return field->name() == "shape";
  }

  CodedInputStream input_;
  int count_ = 0;
};

void parse(ZeroCopyInputStream& for_counting, ZeroCopyInputStream& stream, Message& message) {
  FieldCounter(for_counting).check(*message.GetDescriptor());
  google::protobuf::LogSilencer quiet;
  if (!message.ParseFromZeroCopyStream(&stream))
    throw Failure(Code::invalid_argument, fmt::format("the bytes are no {}", message.GetDescriptor()->name()));
}

}  // namespace

void read_message(const grpc::ByteBuffer& buffer, std::size_t most_bytes, Message& message) {
  std::vector<grpc::Slice> slices;
  if (!buffer.Dump(&slices).ok()) throw Failure(Code::internal, "the message cannot be read");
  if (is_compressed(slices)) {
    const std::string text = inflate_all(slices, std::min(most_bytes, kLargest));
    ArrayInputStream first(text.data(), static_cast<int>(text.size())),
        second(text.data(), static_cast<int>(text.size()));
    parse(first, second, message);
    return;
  }
  grpc::ByteBuffer first_buffer(buffer), second_buffer(buffer);
  grpc::ProtoBufferReader first(&first_buffer), second(&second_buffer);
  parse(first, second, message);
}

grpc::ByteBuffer write_message(const Message& message) {
  MessageWriter writer;
  writer.append(message);
  return writer.finish();
}

std::size_t MessageWriter::field_size(int number, std::size_t size) {
  const std::uint32_t tag = WireFormatLite::MakeTag(number, WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
  return CodedOutputStream::VarintSize32(tag) + CodedOutputStream::VarintSize64(size) + size;
}

void MessageWriter::begin_field(int number, std::size_t size) {
  std::uint8_t bytes[20];
  const std::uint32_t tag = WireFormatLite::MakeTag(number, WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
  const std::uint8_t* end = CodedOutputStream::WriteVarint32ToArray(tag, bytes);
  end = CodedOutputStream::WriteVarint64ToArray(size, const_cast<std::uint8_t*>(end));
  small_.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(end - bytes));
}

void MessageWriter::append(const Message& message) { message.AppendToString(&small_); }

void MessageWriter::append(std::span<const std::byte> bytes, const std::shared_ptr<const void>& owner) {
  if (bytes.size() < kWorthNoCopy) {
    small_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return;
  }
  flush();
  using Owner = std::shared_ptr<const void>;
  auto kept = std::make_unique<Owner>(owner);
  const auto release = [](void* memory) { delete static_cast<Owner*>(memory); };
  slices_.emplace_back(const_cast<std::byte*>(bytes.data()), bytes.size(), release, kept.get());
  kept.release();
}

void MessageWriter::flush() {
  if (!small_.empty()) slices_.emplace_back(small_);
  small_.clear();
}

grpc::ByteBuffer MessageWriter::finish() {
  flush();
  return grpc::ByteBuffer(slices_.data(), slices_.size());
}

}  // namespace colonnade::serve
