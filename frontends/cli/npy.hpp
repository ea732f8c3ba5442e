// SPDX-License-Identifier: Apache-2.0
// NumPy's .npy and .npz files.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "colonnade/colonnade.hpp"

namespace colonnade::cli {

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

/// Parses a .npy file, format 1 to 3, either byte order, C or Fortran order: bool, integers, floats, and strings of
/// type U or S. Throws Error{invalid_input} naming `where`; nothing is allocated on a size the file does not back.
Tensor parse_npy(std::span<const std::byte> bytes, const std::string& where);

/// Format 1.0, little endian, C order. bfloat16, which NumPy lacks, is widened to float32; strings become type U.
std::string format_npy(const Tensor& tensor);

/// All arrays of a .npz file under their names (without ".npy"). Throws Error{invalid_input}.
std::vector<NamedTensor> parse_npz(std::span<const std::byte> bytes, const std::string& where);

struct TensorReference {
  std::string name;
  const Tensor* tensor = nullptr;
};
std::string format_npz(std::span<const TensorReference> tensors);

}  // namespace colonnade::cli
