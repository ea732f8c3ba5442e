// SPDX-License-Identifier: Apache-2.0
// com.microsoft: operators without a core form, whose attributes are taken as they are.
#include "frontends/onnx/ops/microsoft/shared.hpp"
#include "reference/onnx/definitions.hpp"

namespace colonnade::onnx_import {
namespace {

constexpr Row kOpaqueRows[] = {
    microsoft_row("CropAndResize", 4, 4, 1, opaque<reference::kCropAndResize>),
    microsoft_row("Inverse", 1, 1, 1, opaque<reference::kInverse>),
    microsoft_row("MurmurHash3", 1, 1, 1, opaque<reference::kMurmurHash3>),
    microsoft_row("NGramRepeatBlock", 2, 2, 1, opaque<reference::kNGramRepeatBlock>),
    microsoft_row("Unique", 1, 1, 3, opaque<reference::kUniqueByAppearance>),
};

}  // namespace

std::span<const Row> microsoft_opaque_rows() { return kOpaqueRows; }

}  // namespace colonnade::onnx_import
