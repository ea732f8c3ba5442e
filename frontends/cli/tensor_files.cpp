// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <filesystem>
#include <map>

#include "files.hpp"
#include "model_io.hpp"

namespace colonnade::cli {
namespace {

std::vector<NamedTensor> read_npz(const std::string& file) {
  const std::size_t colon = file.rfind(".npz:");
  if (colon == std::string::npos) return parse_npz(read_file(file), file);
  const std::string path = file.substr(0, colon + 4);
  const std::string name = file.substr(colon + 5);
  for (NamedTensor& item : parse_npz(read_file(path), path)) {
    if (item.name != name) continue;
    std::vector<NamedTensor> one;
    one.push_back(std::move(item));
    return one;
  }
  throw Error(ErrorCode::invalid_input, fmt::format("'{}' has no array '{}'", path, name));
}

std::string file_name_of(std::string name) {
  for (char& c : name)
    if (c == '/' || c == '\\' || c == ':' || static_cast<unsigned char>(c) < 0x20) c = '_';
  return name.empty() || name == "." || name == ".." ? "unnamed" : name;
}

}  // namespace

std::vector<NamedTensor> read_tensors(const std::string& file) {
  if (extension_of(file) == "npz" || file.rfind(".npz:") != std::string::npos) return read_npz(file);
  const std::vector<std::byte> bytes = read_file(file);
  std::vector<NamedTensor> tensors;
  if (extension_of(file) == "npy") {
    tensors.push_back({"", parse_npy(bytes, file)});
  } else if (extension_of(file) == "pb") {
    try {
      tensors.push_back({"", Tensor::from_onnx(bytes)});
    } catch (const Error& failure) {
      throw Error(failure.code(), fmt::format("'{}': {}", file, failure.what()));
    }
  } else {
    throw Error(ErrorCode::invalid_input,
                fmt::format("'{}' is of no known kind; expected .npy, .npz, .pb, .png or .jpg", file));
  }
  return tensors;
}

void write_assigned(std::span<const TensorInfo> infos, std::span<const Tensor> tensors,
                    std::span<const std::string> assignments) {
  std::map<std::string, std::vector<TensorReference>> archives;
  for (const std::string& text : assignments) {
    const Assignment assignment = parse_assignment(infos, text, "output");
    const std::string extension = extension_of(assignment.file);
    const bool all = assignment.index < 0;
    if (all && extension != "npz")
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("--output '{}' names no output; only .npz takes all of them", text));
    const std::size_t first = all ? 0 : static_cast<std::size_t>(assignment.index);
    if (extension == "npz") {
      const std::size_t end = all ? infos.size() : first + 1;
      for (std::size_t i = first; i < end; ++i) archives[assignment.file].push_back({infos[i].name, &tensors[i]});
    } else if (extension == "npy") {
      write_file(assignment.file, format_npy(tensors[first]));
    } else if (extension == "pb") {
      write_file(assignment.file, tensors[first].to_onnx(infos[first].name));
    } else {
      throw Error(ErrorCode::invalid_argument, fmt::format("--output '{}': expected .npy, .npz or .pb", text));
    }
  }
  for (const auto& [file, items] : archives) write_file(file, format_npz(items));
}

void write_folder(std::span<const TensorInfo> infos, std::span<const Tensor> tensors, const std::string& folder) {
  make_folder(folder);
  for (std::size_t i = 0; i < infos.size(); ++i)
    write_file((std::filesystem::path(folder) / (file_name_of(infos[i].name) + ".npy")).string(),
               format_npy(tensors[i]));
}

}  // namespace colonnade::cli
