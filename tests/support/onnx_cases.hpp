// SPDX-License-Identifier: Apache-2.0
// ONNX's conformance cases from the archive beside the checkout.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "support/process.hpp"

namespace colonnade::test {

/// The folder of models and test data beside the checkout, or where COLONNADE_SHARED says; it need not exist.
inline std::filesystem::path shared_folder() {
  const char* named = std::getenv("COLONNADE_SHARED");
  return named != nullptr ? std::filesystem::path(named)
                          : std::filesystem::path(COLONNADE_SOURCE_DIR) / ".." / "shared";
}

/// ONNX's test data, unpacked into a temporary folder while this lives.
class OnnxCases {
 public:
  OnnxCases() {
    const std::filesystem::path archive = shared_folder() / "onnx-backend-tests.tar.xz";
    if (!std::filesystem::exists(archive)) return;
    std::string folder = (std::filesystem::temp_directory_path() / "colonnade_onnx_XXXXXX").string();
    if (mkdtemp(folder.data()) == nullptr) return;
    root_ = folder;
    available_ = run_process("tar -xJf " + shell_word(archive.string()) + " -C " + shell_word(folder)).status == 0;
  }
  OnnxCases(const OnnxCases&) = delete;
  OnnxCases& operator=(const OnnxCases&) = delete;
  ~OnnxCases() {
    std::error_code ignored;
    if (!root_.empty()) std::filesystem::remove_all(root_, ignored);
  }

  bool available() const { return available_; }
  /// Every case's model, sorted by path.
  std::vector<std::filesystem::path> models() const {
    std::vector<std::filesystem::path> paths;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root_))
      if (entry.path().filename() == "model.onnx") paths.push_back(entry.path());
    std::sort(paths.begin(), paths.end());
    return paths;
  }

 private:
  std::filesystem::path root_;
  bool available_ = false;
};

}  // namespace colonnade::test
