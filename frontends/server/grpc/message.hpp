// SPDX-License-Identifier: Apache-2.0
// Messages as they travel: bytes in slices, perhaps compressed, from clients that may lie.
#pragma once

#include <google/protobuf/message.h>
#include <grpcpp/support/byte_buffer.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace colonnade::serve {

/// Parses what a client sent; gzip and deflate are told by their first bytes, with which no message of ours begins.
/// Throws Failure: too_large when it inflates to more than `most_bytes` or has more fields than any honest client
/// sends, invalid_argument when it is no such message.
void read_message(const grpc::ByteBuffer& buffer, std::size_t most_bytes, google::protobuf::Message& message);

grpc::ByteBuffer write_message(const google::protobuf::Message& message);

/// A message that is put together of bytes and of memory that is sent from where it lies.
class MessageWriter {
 public:
  /// What follows as one field of type bytes or message, of `size` bytes in all.
  void begin_field(int number, std::size_t size);
  void append(const google::protobuf::Message& message);
  /// Large memory is not copied: `owner` keeps it alive until it is sent.
  void append(std::span<const std::byte> bytes, const std::shared_ptr<const void>& owner);
  grpc::ByteBuffer finish();

  static std::size_t field_size(int number, std::size_t size);

 private:
  void flush();

  std::string small_;
  std::vector<grpc::Slice> slices_;
};

}  // namespace colonnade::serve
