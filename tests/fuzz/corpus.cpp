// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "frontends/onnx/proto.hpp"
#include "fuzz/fuzz.hpp"

namespace colonnade::fuzz {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostFileBytes = std::size_t{32} << 20;
constexpr std::size_t kLargeInitializer = 4096;

std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// The model with large initializers as inputs: its structure without its data, which would cost most of the time. As
/// it is when it has none, and when it is no model.
std::string without_weights(std::string bytes) {
  onnx::ModelProto model;
  if (!model.ParseFromString(bytes)) return bytes;
  auto& initializers = *model.mutable_graph()->mutable_initializer();
  bool changed = false;
  for (int i = initializers.size() - 1; i >= 0; --i) {
    const onnx::TensorProto& tensor = initializers.Get(i);
    if (tensor.ByteSizeLong() < kLargeInitializer && tensor.data_location() != onnx::TensorProto::EXTERNAL) continue;
    const auto& inputs = model.graph().input();
    const bool declared =
        std::any_of(inputs.begin(), inputs.end(), [&](const auto& input) { return input.name() == tensor.name(); });
    if (!declared) {
      auto* input = model.mutable_graph()->add_input();
      input->set_name(tensor.name());
      auto* type = input->mutable_type()->mutable_tensor_type();
      type->set_elem_type(tensor.data_type());
      type->mutable_shape();
      for (const std::int64_t dim : tensor.dims()) type->mutable_shape()->add_dim()->set_dim_value(dim);
    }
    initializers.DeleteSubrange(i, 1);
    changed = true;
  }
  return changed ? model.SerializeAsString() : bytes;
}

}  // namespace

Corpus read_corpus(const std::vector<std::string>& folders, std::size_t most_bytes) {
  std::vector<fs::path> paths;
  for (const std::string& folder : folders) {
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (entry.is_regular_file() && entry.file_size() <= kMostFileBytes) paths.push_back(entry.path());
    }
  }
  std::sort(paths.begin(), paths.end());
  Corpus corpus;
  const auto add = [&](std::vector<std::string>& to, std::string bytes) {
    if (bytes.size() <= most_bytes) to.push_back(std::move(bytes));
  };
  for (const fs::path& path : paths) {
    const std::string extension = path.extension().string();
    if (extension == ".onnx") add(corpus.models, without_weights(contents(path)));
    if (extension == ".pb" || extension == ".npy" || extension == ".npz") add(corpus.tensors, contents(path));
  }
  return corpus;
}

}  // namespace colonnade::fuzz
