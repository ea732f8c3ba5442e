// SPDX-License-Identifier: Apache-2.0
// A model with other initializers: its bytes, with some tensors in place of those of the file.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "frontends/onnxruntime/model_file.hpp"
#include "frontends/onnxruntime/value.hpp"

namespace colonnade::ort {

/// What is known of an initializer without its elements.
struct Header;

struct Changes {
  const std::map<std::string, const OrtValue*>& values;    ///< in place of the model's; others are without effect
  const std::map<std::string, const OrtValue*>& external;  ///< elements of initializers that lie in other files
  const std::map<std::string, ByteSpan>& files;            ///< those files
  std::string folder;                                      ///< where the others of those files lie
  const std::set<std::string>& removed;                    ///< initializers that become inputs

  bool any() const { return !values.empty() || !external.empty() || !files.empty() || !removed.empty(); }
  /// The bytes of the model with these changes and all elements within. Throws Failure.
  std::vector<std::byte> applied(ByteSpan model) const;

 private:
  std::vector<std::byte> elements_within(const Header& header) const;
  std::vector<std::byte> changed(const Field& field, std::set<std::string>& seen) const;
};

}  // namespace colonnade::ort
