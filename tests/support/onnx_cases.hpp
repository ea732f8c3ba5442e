// SPDX-License-Identifier: Apache-2.0
// ONNX's conformance cases from the archive beside the checkout.
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "support/folder.hpp"
#include "support/process.hpp"
#include "support/shared.hpp"

namespace colonnade::test {

/// ONNX's test data, unpacked into a temporary folder while this lives.
class OnnxCases {
 public:
  OnnxCases() {
    const std::filesystem::path archive = shared_folder() / "onnx-backend-tests.tar.xz";
    if (!std::filesystem::exists(archive)) return;
    available_ =
        run_process("tar -xJf " + shell_word(archive.string()) + " -C " + shell_word(root_.path().string())).status ==
        0;
  }

  bool available() const { return available_; }
  std::filesystem::path data() const { return root_.path() / "onnx" / "backend" / "test" / "data"; }
  /// Every case's model, sorted by path.
  std::vector<std::filesystem::path> models() const {
    std::vector<std::filesystem::path> paths;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root_.path()))
      if (entry.path().filename() == "model.onnx") paths.push_back(entry.path());
    std::sort(paths.begin(), paths.end());
    return paths;
  }

 private:
  TemporaryFolder root_;
  bool available_ = false;
};

}  // namespace colonnade::test
