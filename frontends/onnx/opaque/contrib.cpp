// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnx/lowering.hpp"

namespace colonnade::onnx_import {

std::span<const Row> contrib_opaque_rows() { return {}; }

}  // namespace colonnade::onnx_import
