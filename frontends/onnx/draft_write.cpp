// SPDX-License-Identifier: Apache-2.0
// A draft as files.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>

#include "frontends/onnx/bytes.hpp"
#include "frontends/onnx/draft_messages.hpp"
#include "frontends/onnx/onnx.hpp"
#include "frontends/onnx/packing.hpp"
#include "frontends/onnx/tensor.hpp"

namespace colonnade::onnx_import {
namespace {

constexpr std::int64_t kMostInline = std::numeric_limits<int>::max() - (std::int64_t{1} << 20);
constexpr std::int64_t kPage = 4096, kBlock = std::int64_t{1} << 20;

/// A file that is there under its name when it is whole.
class NewFile {
 public:
  explicit NewFile(std::string path) : path_(std::move(path)), part_(path_ + ".part") {
    if (path_.empty() || path_.find('\0') != std::string::npos)
      fail(ErrorCode::invalid_argument, "cannot write a model to '{}'", printable(path_));
    file_ = FileDescriptor(::open(part_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (!file_.is_open()) refuse();
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  ~NewFile() {
    if (!done_) ::unlink(part_.c_str());
  }

  void write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t count = ::write(file_.get(), bytes.data(), bytes.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) refuse();
      bytes = bytes.subspan(static_cast<std::size_t>(count));
      size_ += count;
    }
  }
  std::int64_t size() const { return size_; }
  int descriptor() const { return file_.get(); }
  [[noreturn]] void refuse() const {
    fail(ErrorCode::io, "cannot write '{}': {}", printable(path_), std::strerror(errno));
  }
  void finish() {
    if (::rename(part_.c_str(), path_.c_str()) != 0) refuse();
    done_ = true;
  }

 private:
  std::string path_, part_;
  FileDescriptor file_;
  std::int64_t size_ = 0;
  bool done_ = false;
};

std::int64_t stored_bytes(const Constant& constant) {
  return constant.dtype() == DType::string ? 0 : packed_bytes(constant.dtype(), constant.size());
}

void fill(onnx::TensorProto& proto, const std::string& name, const Constant& constant) {
  if (!proto.ParseFromString(serialize_tensor(*constant.tensor(), name)))
    fail(ErrorCode::internal, "constant '{}' is not parsed", printable(name));
}

/// Elements that lie in the model's bytes or in files beside it, put into the message.
void complete(onnx::TensorProto& proto, ExternalData& external) {
  if (proto.unknown_fields().empty() && proto.data_location() != onnx::TensorProto::EXTERNAL) return;
  const std::string name = proto.name();
  const auto constant = constant_from(proto, fmt::format("tensor '{}'", printable(name)), external);
  proto.Clear();
  fill(proto, name, *constant);
}

void complete(onnx::NodeProto& node, ExternalData& external);

void complete(onnx::GraphProto& graph, ExternalData& external) {
  for (auto& proto : *graph.mutable_initializer()) complete(proto, external);
  for (auto& node : *graph.mutable_node()) complete(node, external);
}

void complete(onnx::NodeProto& node, ExternalData& external) {
  for (auto& attribute : *node.mutable_attribute()) {
    if (attribute.has_t()) complete(*attribute.mutable_t(), external);
    for (auto& tensor : *attribute.mutable_tensors()) complete(tensor, external);
    if (attribute.has_g()) complete(*attribute.mutable_g(), external);
    for (auto& graph : *attribute.mutable_graphs()) complete(graph, external);
  }
}

void write_elements(const Constant& constant, NewFile& file) {
  if (is_packed(constant.dtype())) {
    const auto tensor = constant.tensor();
    std::vector<std::byte> packed(static_cast<std::size_t>(stored_bytes(constant)));
    pack(tensor->dtype(), {static_cast<const std::byte*>(tensor->data()), tensor->byte_size()}, packed);
    return file.write(packed);
  }
  const auto size = static_cast<std::int64_t>(size_of(constant.dtype()));
  Tensor block(DType::u8, {std::min(kBlock, constant.size() * size)});
  for (std::int64_t first = 0; first < constant.size(); first += kBlock / size) {
    const auto count = static_cast<std::size_t>(std::min(kBlock / size, constant.size() - first) * size);
    const std::span<std::byte> bytes(static_cast<std::byte*>(block.data()), count);
    constant.read(first, bytes);
    file.write(bytes);
  }
}

/// What a large tensor begins at can be mapped.
void write_external(onnx::TensorProto& proto, const std::string& name, const Constant& constant,
                    const std::string& weights, NewFile& file) {
  static const std::vector<std::byte> zeros(static_cast<std::size_t>(kPage));
  if (stored_bytes(constant) >= kBlock)
    file.write(std::span(zeros).first(static_cast<std::size_t>(-file.size() & (kPage - 1))));
  proto.set_name(name);
  proto.set_data_type(data_type_of(constant.dtype()));
  for (const std::int64_t size : constant.shape()) proto.add_dims(size);
  proto.set_data_location(onnx::TensorProto::EXTERNAL);
  const auto add = [&](const char* key, std::string value) {
    auto* entry = proto.add_external_data();
    entry->set_key(key);
    entry->set_value(std::move(value));
  };
  add("location", weights);
  add("offset", std::to_string(file.size()));
  add("length", std::to_string(stored_bytes(constant)));
  write_elements(constant, file);
}

std::string folder_of_file(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

}  // namespace

void Draft::write(const std::string& path, const std::string& weights, std::size_t least_bytes) const {
  if (weights.find('/') != std::string::npos || weights == "." || weights == "..")
    fail(ErrorCode::invalid_argument, "the file of weights lies beside the model: expected a name, found '{}'",
         printable(weights));
  ExternalData external = messages_->external;
  onnx::ModelProto model = messages_->model;
  complete(*model.mutable_graph(), external);
  for (auto& function : *model.mutable_functions())
    for (auto& node : *function.mutable_node()) complete(node, external);
  auto total = static_cast<std::int64_t>(model.ByteSizeLong());
  std::vector<std::string> names;
  for (const auto& [name, constant] : messages_->constants) {
    names.push_back(name);
    total += stored_bytes(*constant) + static_cast<std::int64_t>(name.size()) + 64;
  }
  std::sort(names.begin(), names.end());
  const std::string folder = folder_of_file(path);
  const bool is_apart = !weights.empty() || total > kMostInline;
  const std::string beside = weights.empty() ? path.substr(folder.size()) + ".data" : weights;
  NewFile file(path);
  const auto data = is_apart ? std::make_unique<NewFile>(folder + beside) : nullptr;
  for (const std::string& name : names) {
    const Constant& constant = *messages_->constants.at(name);
    auto& proto = *model.mutable_graph()->add_initializer();
    if (data && stored_bytes(constant) > 0 && stored_bytes(constant) >= static_cast<std::int64_t>(least_bytes))
      write_external(proto, name, constant, beside, *data);
    else
      fill(proto, name, constant);
  }
  if (model.ByteSizeLong() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
    fail(ErrorCode::unsupported, "'{}': what is not kept apart is too large for a protobuf message (2 GiB)",
         printable(path));
  errno = 0;
  if (!model.SerializeToFileDescriptor(file.descriptor())) file.refuse();
  if (data) data->finish();
  file.finish();
}

}  // namespace colonnade::onnx_import
