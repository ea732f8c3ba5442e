// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <google/protobuf/message.h>

#include <string>

namespace colonnade::serve::http {

/// What becomes of messages within messages that are not set.
enum class Absent { omitted, written };

/// A message as JSON, for clients that read numbers as numbers: fields under their names in the .proto, defaults
/// included, 64-bit integers unquoted, enums by name, maps as objects, bytes as base64, of a oneof what is set.
void append_json(std::string& out, const google::protobuf::Message& message, Absent absent = Absent::omitted);
std::string json_of(const google::protobuf::Message& message, Absent absent = Absent::omitted);

}  // namespace colonnade::serve::http
