// SPDX-License-Identifier: Apache-2.0
// Models that give back what they take, and a folder to serve them from.
#pragma once

#include <string>
#include <vector>

#include "colonnade/colonnade.hpp"
#include "support/folder.hpp"

namespace colonnade::test {

struct Port {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;  ///< -1: open
};

/// ONNX bytes: each input comes back as an output, "out_" before its name.
std::string echo_model(const std::vector<Port>& inputs);

/// ONNX bytes: "x" [size,size] multiplied by itself `count` times, so that a run takes as long as wanted.
std::string product_chain(std::int64_t size, int count);

/// A repository in a temporary folder, gone with this.
class Repository {
 public:
  /// <name>/<version>/model.onnx
  void add(const std::string& name, const std::string& model, int version = 1);
  /// "echo_FP32", "echo_BYTES", ...: one input "x" [-1] of each datatype; "pair": inputs "a" BOOL [-1] and "b" FP32
  /// [-1,2].
  void add_echo_models();
  std::string path() const { return folder_.path().string(); }

 private:
  TemporaryFolder folder_;
};

}  // namespace colonnade::test
