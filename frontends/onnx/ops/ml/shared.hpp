// SPDX-License-Identifier: Apache-2.0
// What the models of ai.onnx.ml have in common: coefficients, labels, what is done to scores.
#pragma once

#include <string_view>
#include <vector>

#include "frontends/onnx/lowering.hpp"

namespace colonnade::onnx_import {

/// The attribute, which is there and not empty.
std::vector<float> required_floats(const Lowering& low, std::string_view name);
std::vector<float> floats_or_none(const Lowering& low, std::string_view name);

/// The input, which holds numbers.
ValueId numbers(Lowering& low, std::size_t index);

/// The input as float32 [samples, features].
ValueId float_samples(Lowering& low);

/// Scores [samples, outputs] after the node's post_transform.
ValueId post_transformed(Lowering& low, ValueId scores);

/// The labels of classes: integers or strings by the two attributes named. Throws unless exactly one is given.
Tensor class_labels(const Lowering& low, std::string_view integers, std::string_view strings);

/// labels[index] for every index.
ValueId label_of(Lowering& low, Tensor labels, ValueId indices);

/// The index of the largest score of each sample, the first one of equals.
ValueId best_of(Lowering& low, ValueId scores);

}  // namespace colonnade::onnx_import
