// SPDX-License-Identifier: Apache-2.0
// What is fuzzed: cases are made of numbers and checked one by one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace colonnade::fuzz {

class Random {
 public:
  /// The same numbers for the same seed and index, whatever cases ran before.
  Random(std::uint64_t seed, std::uint64_t index);

  std::uint64_t bits() { return engine_(); }
  /// In [0, count); count must not be 0.
  std::size_t below(std::size_t count) { return static_cast<std::size_t>(engine_() % count); }
  bool one_in(std::size_t count) { return below(count) == 0; }
  template <class Container>
  const auto& one_of(const Container& values) {
    return *(std::begin(values) + static_cast<std::ptrdiff_t>(below(std::size(values))));
  }
  /// Zero, its neighbours, limits of types, powers of two, or any number.
  std::int64_t integer();

 private:
  std::mt19937_64 engine_;
};

/// What a case must not do: the message says what was seen.
struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Target {
  std::string name;
  std::function<std::string(Random&)> make;  ///< the bytes of a case
  /// Throws Failure; crashes, hangs and allocations are the caller's to see.
  std::function<void(std::string_view)> check;
};

/// Contents of files, in the order of their paths.
struct Corpus {
  std::vector<std::string> models;   ///< .onnx, large initializers turned into inputs
  std::vector<std::string> tensors;  ///< .pb, .npy and .npz
};
/// Files below the folders that are no larger than `most_bytes` once read.
Corpus read_corpus(const std::vector<std::string>& folders, std::size_t most_bytes);

Target model_target(Corpus corpus);
Target graph_target();
Target tensor_target(Corpus corpus);
Target compiled_target(const Corpus& corpus);
Target http_target();
/// HTTP requests that register shared memory, or whose tensors lie there.
Target shared_target();
Target grpc_target();
Target config_target();

/// Throws Failure unless the message is one line of readable length and the code is not Error{internal}.
void check_refusal(const std::exception& refusal);

/// Damages bytes without knowing what they mean: flips, insertions, deletions, numbers, parts of another.
std::string damage(std::string bytes, const std::string& donor, Random& random);

}  // namespace colonnade::fuzz
