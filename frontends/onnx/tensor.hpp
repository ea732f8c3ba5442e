// SPDX-License-Identifier: Apache-2.0
// TensorProto -> Tensor, in every storage form.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "frontends/onnx/external_data.hpp"
#include "frontends/onnx/format.hpp"
#include "graph/constant.hpp"

namespace colonnade::onnx_import {

/// Dimensions and element type are checked against the stored data before anything is allocated. `where` starts
/// messages, as in "initializer 'w'". Throws Error{invalid_model}, Error{unsupported} or Error{io}.
Tensor tensor_from(const onnx::TensorProto& proto, const std::string& where, ExternalData& data);

/// The same, but large data outside the message is read only when someone needs it.
std::shared_ptr<const Constant> constant_from(const onnx::TensorProto& proto, const std::string& where,
                                              ExternalData& data);

/// The dimensions; throws Error{invalid_model} for negative ones.
Shape shape_from(std::span<const std::int64_t> dims, std::string_view where);
/// Elements of the shape; throws Error{invalid_model} where they, or their bytes, overflow.
std::int64_t count_of(const Shape& shape, std::size_t element_bytes, std::string_view where);

/// A dense tensor from ONNX's coordinate form.
Tensor tensor_from(const onnx::SparseTensorProto& proto, const std::string& where, ExternalData& data);

}  // namespace colonnade::onnx_import
