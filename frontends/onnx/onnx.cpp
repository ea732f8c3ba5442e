// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnx/onnx.hpp"

#include <fcntl.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <google/protobuf/stubs/logging.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <new>

#include "frontends/onnx/build.hpp"

namespace colonnade::onnx_import {
namespace {

constexpr int kDeepestMessage = 100;
constexpr int kLastKnownModelField = 64;
constexpr std::int64_t kOldestIr = 3;
constexpr std::int64_t kNewestIr = 13;

/// Says what the bytes are when they are clearly something else.
std::string_view guess(std::string_view start) {
  if (start.starts_with("version https://git-lfs")) return " (a Git LFS pointer: the real file was not fetched)";
  if (start.starts_with("PK")) return " (a ZIP archive)";
  if (start.starts_with("<")) return " (HTML or XML)";
  if (start.starts_with("\x89HDF")) return " (an HDF5 file)";
  return "";
}

void parse(google::protobuf::io::ZeroCopyInputStream& stream, onnx::ModelProto& model, std::string_view start) {
  // protobuf writes its complaints to stderr otherwise
  const google::protobuf::LogSilencer silencer;
  google::protobuf::io::CodedInputStream coded(&stream);
  coded.SetRecursionLimit(kDeepestMessage);
  coded.SetTotalBytesLimit(std::numeric_limits<int>::max());
  if (!model.ParseFromCodedStream(&coded) || !coded.ConsumedEntireMessage()) {
    fail(ErrorCode::invalid_model, "not an ONNX model: malformed protobuf{}", guess(start));
  }
}

void check_model(const onnx::ModelProto& model, std::string_view start) {
  const auto& unknown = model.unknown_fields();
  for (int i = 0; i < unknown.field_count(); ++i) {
    if (unknown.field(i).number() > kLastKnownModelField) {
      fail(ErrorCode::invalid_model, "not an ONNX model: field {} does not exist (trailing bytes?)",
           unknown.field(i).number());
    }
  }
  if (!model.has_ir_version() && !model.has_graph()) {
    fail(ErrorCode::invalid_model, "not an ONNX model: no IR version and no graph{}", guess(start));
  }
  if (!model.has_graph()) fail(ErrorCode::invalid_model, "the model has no graph");
  if (model.ir_version() < kOldestIr || model.ir_version() > kNewestIr) {
    fail(ErrorCode::unsupported, "IR version {} is not supported, expected {} to {}", model.ir_version(), kOldestIr,
         kNewestIr);
  }
}

/// Whatever goes wrong leaves as an Error with a one-line message.
template <class Action>
Graph guarded(std::string_view what, Action&& action) {
  const auto one_line = [&](ErrorCode code, std::string_view message) {
    std::string text = fmt::format("{}: {}", what, message);
    std::replace_if(
        text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
    return Error(code, text);
  };
  try {
    return action();
  } catch (const Error& error) {
    throw one_line(error.code(), error.what());
  } catch (const std::bad_alloc&) {
    throw one_line(ErrorCode::resource_limit, "out of memory");
  } catch (const std::exception& error) {
    throw one_line(ErrorCode::internal, error.what());
  }
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

FileDescriptor open_model(const std::string& path) {
  if (path.find('\0') != std::string::npos) fail(ErrorCode::io, "cannot open: the path holds a NUL");
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status {};
  if (!file.is_open() || ::fstat(file.get(), &status) != 0)
    fail(ErrorCode::io, "cannot open: {}", std::strerror(errno));
  if (!S_ISREG(status.st_mode)) fail(ErrorCode::io, "cannot read: not a regular file");
  if (status.st_size > std::numeric_limits<int>::max()) {
    fail(ErrorCode::invalid_model, "{} bytes: a protobuf file holds at most 2 GiB (keep weights as external data)",
         status.st_size);
  }
  if (status.st_size == 0) fail(ErrorCode::invalid_model, "not an ONNX model: the file is empty");
  return file;
}

}  // namespace

Graph import_file(const std::string& path) {
  return guarded(fmt::format("'{}'", printable(path)), [&] {
    const FileDescriptor file = open_model(path);
    char start[32] = {};
    const auto read = ::pread(file.get(), start, sizeof start, 0);
    const std::string_view head(start, read > 0 ? static_cast<std::size_t>(read) : 0);
    onnx::ModelProto model;
    google::protobuf::io::FileInputStream stream(file.get(), 1 << 20);
    parse(stream, model, head);
    if (stream.GetErrno() != 0) fail(ErrorCode::io, "cannot read: {}", std::strerror(stream.GetErrno()));
    check_model(model, head);
    return build_graph(model, ExternalData(folder_of(path)));
  });
}

Graph import_bytes(std::span<const std::byte> bytes) {
  return guarded("model", [&] {
    if (bytes.empty()) fail(ErrorCode::invalid_model, "not an ONNX model: no bytes");
    if (bytes.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
      fail(ErrorCode::invalid_model, "{} bytes: a protobuf message holds at most 2 GiB", bytes.size());
    }
    const std::string_view head(reinterpret_cast<const char*>(bytes.data()), std::min<std::size_t>(bytes.size(), 32));
    onnx::ModelProto model;
    google::protobuf::io::ArrayInputStream stream(bytes.data(), static_cast<int>(bytes.size()));
    parse(stream, model, head);
    check_model(model, head);
    return build_graph(model, ExternalData());
  });
}

}  // namespace colonnade::onnx_import
