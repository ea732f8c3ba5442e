// SPDX-License-Identifier: Apache-2.0
// ai.onnx.ml: operators that look things up, and those of maps.
#include "frontends/onnx/lowering.hpp"
#include "reference/onnx/definitions.hpp"

namespace colonnade::onnx_import {
namespace {

using Strings = std::vector<std::string>;

/// Strings to integers or back, as the input is; the operator's own attributes have other names.
Values encode(Lowering& low, Strings strings, Ints integers) {
  Attributes attributes;
  if (low.dtype(low.input(0)) == DType::string) {
    attributes = {{"keys_strings", std::move(strings)}, {"values_int64s", std::move(integers)}};
    attributes.emplace("default_int64", low.int_or("default_int64", -1));
  } else {
    attributes = {{"keys_int64s", std::move(integers)}, {"values_strings", std::move(strings)}};
    attributes.emplace("default_string", low.string_or("default_string", "_Unused"));
  }
  return lower_opaque(low, reference::kLabelEncoder, std::move(attributes), low.inputs());
}

/// The first version: classes are numbered.
Values lower_numbering(Lowering& low) {
  Strings classes = find_strings(low.node(), "classes_strings").value_or(Strings());
  return encode(low, classes, axes_between(0, static_cast<std::int64_t>(classes.size())));
}

Values lower_category_mapper(Lowering& low) {
  return encode(low, find_strings(low.node(), "cats_strings").value_or(Strings()),
                find_ints(low.node(), "cats_int64s").value_or(Ints()));
}

constexpr Row kEncodersRows[] = {
    {kMlDomain, "CastMap", 1, kNoLimit, 1, 1, 1, opaque<reference::kCastMap>},
    {kMlDomain, "CategoryMapper", 1, kNoLimit, 1, 1, 1, lower_category_mapper},
    {kMlDomain, "DictVectorizer", 1, kNoLimit, 1, 1, 1, opaque<reference::kDictVectorizer>},
    {kMlDomain, "LabelEncoder", 1, 1, 1, 1, 1, lower_numbering},
    {kMlDomain, "LabelEncoder", 2, kNoLimit, 1, 1, 1, opaque<reference::kLabelEncoder>},
    {kMlDomain, "OneHotEncoder", 1, kNoLimit, 1, 1, 1, opaque<reference::kOneHotEncoder>},
    {kMlDomain, "ZipMap", 1, kNoLimit, 1, 1, 1, opaque<reference::kZipMap>},
};

}  // namespace

std::span<const Row> ml_encoders_rows() { return kEncodersRows; }

}  // namespace colonnade::onnx_import
