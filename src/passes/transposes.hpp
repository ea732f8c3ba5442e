// SPDX-License-Identifier: Apache-2.0
// Local rules on Transposes; each is true when it changed something.
#pragma once

#include "passes/editor.hpp"

namespace colonnade::rewrite {

/// Transpose(Transpose(x)) is one Transpose of x, or x.
bool merge_transposes(Editor& editor, int index);
/// A Transpose that leaves the elements in order is a Reshape.
bool transpose_to_reshape(Editor& editor, int index);
/// The shape of a transposed value comes from the shape of the value.
bool shape_before_transpose(Editor& editor, int index);
/// A MatMul swaps the last two axes of its operand itself, where the Transpose then moves whole rows or nothing.
/// `index` is the MatMul.
bool transpose_into_matmul(Editor& editor, int index);
/// Two equal Transposes of one value become one.
bool share_transpose(Editor& editor, int index);

Tensor transposed(const Tensor& tensor, const Ints& perm);

}  // namespace colonnade::rewrite
