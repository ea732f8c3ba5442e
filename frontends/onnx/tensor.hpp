// SPDX-License-Identifier: Apache-2.0
// TensorProto -> Tensor, in every storage form.
#pragma once

#include <string>
#include <string_view>

#include "frontends/onnx/external_data.hpp"
#include "frontends/onnx/proto.hpp"

namespace colonnade::onnx_import {

/// Dimensions and element type are checked against the stored data before anything is allocated. `where` starts
/// messages, as in "initializer 'w'". Throws Error{invalid_model}, Error{unsupported} or, for external data, Error{io}.
Tensor tensor_from(const onnx::TensorProto& proto, std::string_view where, ExternalData& external);

/// A dense tensor from ONNX's coordinate form.
Tensor tensor_from(const onnx::SparseTensorProto& proto, std::string_view where, ExternalData& external);

}  // namespace colonnade::onnx_import
