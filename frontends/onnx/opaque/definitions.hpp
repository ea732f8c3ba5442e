// SPDX-License-Identifier: Apache-2.0
// All definitions of opaque operators, by name: graphs that were written to a file find them again.
#pragma once

#include <span>
#include <string_view>

#include "graph/opaque.hpp"

namespace colonnade::onnx_import {

/// Null when there is none of this name.
const Definition* find_definition(std::string_view name);

/// Those of one file.
std::span<const Definition* const> cast_definitions();
std::span<const Definition* const> contrib_opaque_definitions();
std::span<const Definition* const> detection_definitions();
std::span<const Definition* const> image_definitions();
std::span<const Definition* const> matrix_definitions();
std::span<const Definition* const> ml_encoders_definitions();
std::span<const Definition* const> ml_svm_definitions();
std::span<const Definition* const> quantize_definitions();
std::span<const Definition* const> random_definitions();
std::span<const Definition* const> sequence_definitions();
std::span<const Definition* const> signal_definitions();
std::span<const Definition* const> sliding_definitions();
std::span<const Definition* const> text_definitions();
std::span<const Definition* const> tfidf_definitions();

}  // namespace colonnade::onnx_import
