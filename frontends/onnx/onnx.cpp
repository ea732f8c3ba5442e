// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnx/onnx.hpp"

#include <fcntl.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/stubs/logging.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <mutex>
#include <new>

#include "frontends/onnx/build.hpp"
#include "frontends/onnx/draft_messages.hpp"
#include "frontends/onnx/flatten.hpp"

namespace colonnade::onnx_import {
namespace {

constexpr int kLastKnownModelField = 64;
constexpr std::int64_t kOldestIr = 1;
constexpr std::int64_t kNewestIr = 14;

/// Says what the bytes are when they are clearly something else.
std::string_view guess(std::string_view start) {
  if (start.starts_with("version https://git-lfs")) return " (a Git LFS pointer: the real file was not fetched)";
  if (start.starts_with("PK")) return " (a ZIP archive)";
  if (start.starts_with("<")) return " (HTML or XML)";
  if (start.starts_with("\x89HDF")) return " (an HDF5 file)";
  return "";
}

void parse(const std::string& message, onnx::ModelProto& model, std::string_view start) {
  // protobuf writes its complaints to stderr otherwise
  const google::protobuf::LogSilencer silencer;
  google::protobuf::io::ArrayInputStream stream(message.data(), static_cast<int>(message.size()));
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
auto guarded(std::string_view what, Action&& action) {
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

ModelFolders folders_of(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr), &std::free);
  return {folder_of(path), folder_of(real ? real.get() : path)};
}

FileDescriptor open_model(const std::string& path) {
  if (path.find('\0') != std::string::npos) fail(ErrorCode::io, "cannot open: the path holds a NUL");
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status {};
  if (!file.is_open() || ::fstat(file.get(), &status) != 0)
    fail(ErrorCode::io, "cannot open: {}", std::strerror(errno));
  if (!S_ISREG(status.st_mode)) fail(ErrorCode::io, "cannot read: not a regular file");
  return file;
}

/// Bytes that the embedding program reads. Its function is called by one thread at a time; what it throws becomes
/// Error{io}.
class ReaderBytes final : public Bytes {
 public:
  ReaderBytes(Model::Reader read, std::int64_t size) : read_(std::move(read)), size_(size) {}
  std::int64_t size() const override { return size_; }
  void read(std::int64_t offset, std::span<std::byte> target) const override {
    if (target.empty()) return;
    const std::scoped_lock lock(mutex_);
    try {
      read_(static_cast<std::uint64_t>(offset), target);
    } catch (const std::exception& error) {
      fail(ErrorCode::io, "cannot read {} bytes at offset {}: {}", target.size(), offset, printable(error.what()));
    } catch (...) {
      fail(ErrorCode::io, "cannot read {} bytes at offset {}", target.size(), offset);
    }
  }

 private:
  Model::Reader read_;
  std::int64_t size_;
  mutable std::mutex mutex_;
};

ModelMetadata metadata_of(const onnx::ModelProto& model) {
  ModelMetadata metadata{model.producer_name(), model.producer_version(),  model.domain(),
                         model.doc_string(),    model.model_version(),     model.ir_version(),
                         model.graph().name(),  model.graph().doc_string()};
  for (const auto& [domain, version] : opsets_of(model.opset_import())) metadata.opsets.emplace(domain, version);
  for (const auto& entry : model.metadata_props()) metadata.custom[entry.key()] = entry.value();
  return metadata;
}

/// A model that passes the first checks, with ranges for large tensors.
onnx::ModelProto read_model(const OpenBytes& source, std::vector<DataRange>& ranges) {
  const std::int64_t size = source.bytes->size();
  if (size == 0) fail(ErrorCode::invalid_model, "not an ONNX model: no bytes");
  if (size > std::numeric_limits<int>::max()) {
    fail(ErrorCode::invalid_model, "{} bytes: a protobuf message holds at most 2 GiB (keep weights as external data)",
         size);
  }
  std::string head(static_cast<std::size_t>(std::min<std::int64_t>(size, 32)), '\0');
  source.bytes->read(0, std::as_writable_bytes(std::span(head)));
  Skeleton skeleton = skeleton_of(*source.bytes);
  onnx::ModelProto model;
  parse(skeleton.message, model, head);
  check_model(model, head);
  ranges = std::move(skeleton.ranges);
  return model;
}

Graph import_model(OpenBytes source, std::shared_ptr<Files> files, const CustomOperators& operators,
                   ModelMetadata& metadata, const ImportOptions& options) {
  std::vector<DataRange> ranges;
  onnx::ModelProto model = read_model(source, ranges);
  metadata = metadata_of(model);
  return build_graph(model, ExternalData(std::move(source), std::move(ranges), std::move(files)), operators, options);
}

}  // namespace

std::shared_ptr<Source> Source::file(const std::string& path) {
  std::string what = fmt::format("'{}'", printable(path));
  auto bytes = guarded(what, [&] { return std::make_shared<const FileBytes>(open_model(path), path); });
  return std::make_shared<Source>(std::move(what), OpenBytes{std::move(bytes), true}, folders_of(path));
}

std::shared_ptr<Source> Source::reader(Model::Reader read, std::uint64_t size) {
  if (!read) fail(ErrorCode::invalid_argument, "model: there is no reader");
  const auto bytes = static_cast<std::int64_t>(std::min<std::uint64_t>(size, std::numeric_limits<std::int64_t>::max()));
  return std::make_shared<Source>("model",
                                  OpenBytes{std::make_shared<const ReaderBytes>(std::move(read), bytes), true});
}

Graph Source::import(const ImportOptions& options) const {
  const std::scoped_lock lock(mutex_);
  return guarded(what_, [&] { return import_model(bytes_, files_, operators_, metadata_, options); });
}

Draft Source::draft() const {
  if (!bytes_.lasts)
    fail(ErrorCode::invalid_argument, "{}: its bytes are not kept, so it cannot be written: load it from a file",
         what_);
  const std::scoped_lock lock(mutex_);
  return guarded(what_, [&] {
    std::vector<DataRange> ranges;
    auto messages = std::make_unique<Draft::Messages>();
    messages->model = read_model(bytes_, ranges);
    messages->external = ExternalData(bytes_, std::move(ranges), files_);
    messages->operators = &operators_;
    return Draft(std::move(messages));
  });
}

ModelMetadata Source::metadata() const {
  const std::scoped_lock lock(mutex_);
  return metadata_;
}

Graph import_file(const std::string& path) { return Source::file(path)->import(); }

Graph import_bytes(std::span<const std::byte> bytes, bool last) {
  return Source("model", {std::make_shared<const MemoryBytes>(bytes), last}).import();
}

}  // namespace colonnade::onnx_import
