// SPDX-License-Identifier: Apache-2.0
// Memory of large results that were freed, for results to come: each fresh page costs a fault and zeros.
#pragma once

#include <cstddef>
#include <memory>

#include "colonnade/tensor.hpp"

namespace colonnade {

class ResultPages;

/// Of one session. What it keeps and what its results take together is at most what results took at once, and what no
/// result took for a second goes back when the next one is made. Any thread; tensors may outlive it.
class ResultMemory {
 public:
  ResultMemory();
  ResultMemory(const ResultMemory&) = delete;
  ResultMemory& operator=(const ResultMemory&) = delete;
  ~ResultMemory();

  /// A tensor whose elements are any. Throws as Tensor's constructor does.
  Tensor tensor(DType dtype, Shape shape);
  /// Gives back to the system what no tensor holds.
  void shrink() noexcept;
  std::size_t kept_bytes() const;

  /// Takes the memory of a tensor that is destroyed; false where it is of no ResultMemory.
  static bool give_back(void* memory) noexcept;

 private:
  const std::shared_ptr<ResultPages> pages_;
};

}  // namespace colonnade
