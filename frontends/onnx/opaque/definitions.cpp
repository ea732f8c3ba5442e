// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnx/opaque/definitions.hpp"

namespace colonnade::onnx_import {
namespace {

constexpr std::span<const Definition* const> (*kFiles[])() = {
    cast_definitions,   contrib_opaque_definitions, detection_definitions, image_definitions,
    matrix_definitions, ml_encoders_definitions,    ml_svm_definitions,    quantize_definitions,
    random_definitions, sequence_definitions,       signal_definitions,    sliding_definitions,
    text_definitions,   tfidf_definitions};

}  // namespace

const Definition* find_definition(std::string_view name) {
  for (const auto file : kFiles) {
    for (const Definition* definition : file()) {
      if (definition->name == name) return definition;
    }
  }
  return nullptr;
}

}  // namespace colonnade::onnx_import
