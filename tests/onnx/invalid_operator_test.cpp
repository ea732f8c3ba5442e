// SPDX-License-Identifier: Apache-2.0
// Operators whose attributes, shapes or types contradict: refused when the model is loaded or planned, before anything
// runs, by one line that names the node.
#include <cstdint>
#include <limits>

#include "colonnade/colonnade.hpp"
#include "evaluate.hpp"

namespace colonnade::onnx_import::testing::invalid_operators {
namespace {

constexpr std::int64_t kHuge = std::int64_t{1} << 62;
constexpr std::int64_t kLarge = std::int64_t{1} << 40;
using Floats = std::vector<float>;

/// One node 'n' over x [2, 3], image [1, 4, 6, 6] and constants of obvious names.
struct Case {
  const char* name;
  std::string op;
  Names inputs;
  std::vector<onnx::AttributeProto> attributes = {};
  std::int64_t opset = 21;
  std::string domain = "";
  int outputs = 1;
};
void PrintTo(const Case& invalid, std::ostream* stream) { *stream << invalid.name; }

onnx::TensorProto scalar_tensor(const std::string& name, std::int64_t value) { return int_tensor(name, {}, {value}); }

ModelBuilder model_of(const Case& invalid) {
  ModelBuilder model(invalid.opset, 3);
  if (!invalid.domain.empty() && invalid.domain != "ai.onnx.ml") model.import(invalid.domain, 1);
  model.input("x", {2, 3}).input("image", {1, 4, 6, 6}).input("sequence", {5, 2, 3});
  model.input("vast", {kLarge, 3}).input("bool", {2, 3}, onnx::TensorProto::BOOL);
  model.input("int", {2, 3}, onnx::TensorProto::INT64).input("text", {2, 3}, onnx::TensorProto::STRING);
  model.constant(float_tensor("w", {4, 4, 3, 3}, Floats(144, 0.5f)));
  model.constant(float_tensor("c4", {4}, Floats(4, 1))).constant(float_tensor("c3", {3}, Floats(3, 1)));
  model.constant(float_tensor("three_by_two", {3, 2}, Floats(6, 1)));
  model.constant(float_tensor("half", {}, {0.5f})).constant(float_tensor("pair", {2}, {0, 1}));
  model.constant(float_tensor("scales", {4}, {1, 1, -2, 2}))
      .constant(float_tensor("vast_scales", {4}, {1, 1, 1e30f, 1}));
  model.constant(int_tensor("zero_one", {2}, {0, 1})).constant(int_tensor("zero_zero", {2}, {0, 0}));
  model.constant(int_tensor("two_unknown", {2}, {-1, -1})).constant(int_tensor("minus_two", {2}, {-2, 3}));
  model.constant(int_tensor("huge_pair", {2}, {kHuge, kHuge}))
      .constant(int_tensor("large_pair", {2}, {kLarge, kLarge}));
  model.constant(int_tensor("four", {4}, {0, 0, 0, 0})).constant(int_tensor("huge_four", {4}, {kHuge, 0, kHuge, 0}));
  model.constant(int_tensor("crop_four", {4}, {-9, 0, 0, 0})).constant(int_tensor("sizes", {4}, {1, 4, -6, 6}));
  model.constant(scalar_tensor("zero", 0)).constant(scalar_tensor("nine", 9)).constant(scalar_tensor("minus_nine", -9));
  model.constant(scalar_tensor("huge", kHuge)).constant(scalar_tensor("least", INT64_MIN));
  model.constant(int_tensor("one", {1}, {1})).constant(int_tensor("ninth", {1}, {9}));
  model.constant(int_tensor("minus_ninth", {1}, {-9})).constant(int_tensor("two_three", {2}, {2, 3}));
  model.constant(int_tensor("nines", {2, 3}, {0, 1, 1, 1, 0, 9}));
  model.constant(int_tensor("three_three", {2}, {3, 3}));
  model.constant(float_tensor("gates", {1, 16, 3}, Floats(48, 0.1f)));
  model.constant(float_tensor("recurrence", {1, 16, 4}, Floats(64, 0.1f)));
  Names outputs;
  for (int i = 0; i < invalid.outputs; ++i) outputs.push_back("y" + std::to_string(i));
  model.node(invalid.op, invalid.inputs, outputs, invalid.attributes, invalid.domain);
  model.proto.mutable_graph()->mutable_node(0)->set_name("n");
  for (const auto& output : outputs) model.proto.mutable_graph()->add_output()->set_name(output);
  return model;
}

std::vector<Case> window_cases() {
  const auto conv = [](const char* name, const onnx::AttributeProto& value) {
    return Case{name, "Conv", {"image", "w"}, {value}};
  };
  const auto transposed = [](const char* name, const onnx::AttributeProto& value) {
    return Case{name, "ConvTranspose", {"image", "w"}, {value}};
  };
  const auto pool = [](const char* name, const char* op, const onnx::AttributeProto& value, Ints kernel = {2, 2}) {
    return Case{name, op, {"image"}, {attribute("kernel_shape", kernel), value}};
  };
  return {
      conv("conv_stride_zero", attribute("strides", Ints{1, 0})),
      conv("conv_stride_huge_negative", attribute("strides", Ints{INT64_MIN, 1})),
      conv("conv_pad_overflow", attribute("pads", Ints{INT64_MAX, 0, INT64_MAX, 0})),
      conv("conv_dilation_overflow", attribute("dilations", Ints{INT64_MAX, 1})),
      conv("conv_group_negative", attribute("group", -4)),
      conv("conv_group_huge", attribute("group", kHuge)),
      conv("conv_kernel_zero", attribute("kernel_shape", Ints{0, 3})),
      {"conv_of_matrix", "Conv", {"x", "w"}},
      {"conv_of_integers", "Conv", {"int", "w"}},
      {"conv_bias_length", "Conv", {"image", "w", "c3"}},
      {"conv_bias_of_integers", "Conv", {"image", "w", "four"}},
      {"transposed_bias_of_integers", "ConvTranspose", {"image", "w", "four"}},
      {"gemm_bias_of_integers", "Gemm", {"x", "three_by_two", "zero_one"}},
      transposed("transposed_stride_zero", attribute("strides", Ints{0, 1})),
      transposed("transposed_stride_huge", attribute("strides", Ints{kHuge, 1})),
      transposed("transposed_dilation_negative", attribute("dilations", Ints{-1, 1})),
      transposed("transposed_padding_negative", attribute("output_padding", Ints{-1, 0})),
      transposed("transposed_shape_short", attribute("output_shape", Ints{8})),
      transposed("transposed_shape_negative", attribute("output_shape", Ints{-8, 8})),
      transposed("transposed_pads_eat_all", attribute("pads", Ints{9, 9, 9, 9})),
      transposed("transposed_group", attribute("group", 3)),
      {"pool_kernel_zero", "MaxPool", {"image"}, {attribute("kernel_shape", Ints{0, 2})}},
      {"pool_kernel_negative", "AveragePool", {"image"}, {attribute("kernel_shape", Ints{-2, 2})}},
      {"pool_kernel_huge", "MaxPool", {"image"}, {attribute("kernel_shape", Ints{kHuge, 2})}},
      pool("pool_stride_zero", "MaxPool", attribute("strides", Ints{0, 1})),
      pool("pool_dilation_zero", "MaxPool", attribute("dilations", Ints{0, 1})),
      pool("pool_pads_short", "AveragePool", attribute("pads", Ints{1})),
      pool("pool_pads_huge", "AveragePool", attribute("pads", Ints{kHuge, 0, kHuge, 0})),
      pool("pool_auto_pad", "LpPool", attribute("auto_pad", "DIAGONAL")),
      pool("pool_power_zero", "LpPool", attribute("p", 0)),
      pool("pool_power_negative", "LpPool", attribute("p", -2)),
      pool("pool_kernel_larger_than_input", "MaxPool", attribute("pads", Ints{0, 0, 0, 0}), {9, 9}),
      {"lrn_size_zero", "LRN", {"image"}, {attribute("size", 0)}},
      {"lrn_size_negative", "LRN", {"image"}, {attribute("size", -3)}},
      {"lrn_without_size", "LRN", {"image"}},
      {"batch_norm_channels", "BatchNormalization", {"image", "c3", "c4", "c4", "c4"}},
      {"instance_norm_channels", "InstanceNormalization", {"image", "c4", "c3"}},
      {"layer_norm_axis", "LayerNormalization", {"x", "c3"}, {attribute("axis", 5)}},
      {"layer_norm_scale", "LayerNormalization", {"x", "c4"}},
      {"group_norm_zero", "GroupNormalization", {"image", "c4", "c4"}, {attribute("num_groups", 0)}},
      {"group_norm_negative", "GroupNormalization", {"image", "c4", "c4"}, {attribute("num_groups", -2)}},
      {"depth_block_negative", "DepthToSpace", {"image"}, {attribute("blocksize", -2)}},
      {"depth_block_huge", "DepthToSpace", {"image"}, {attribute("blocksize", kHuge)}},
      {"depth_block_does_not_divide", "DepthToSpace", {"image"}, {attribute("blocksize", 3)}},
      {"depth_mode", "DepthToSpace", {"image"}, {attribute("blocksize", 2), attribute("mode", "DRC")}},
      {"space_block_zero", "SpaceToDepth", {"image"}, {attribute("blocksize", 0)}},
      {"space_block_does_not_divide", "SpaceToDepth", {"image"}, {attribute("blocksize", 4)}},
      {"resize_scale_negative", "Resize", {"image", "", "scales"}},
      {"resize_scale_huge", "Resize", {"image", "", "vast_scales"}},
      {"resize_size_negative", "Resize", {"image", "", "", "sizes"}},
      {"resize_size_count", "Resize", {"image", "", "", "zero_one"}},
      {"resize_mode", "Resize", {"image", "", "", "sizes"}, {attribute("mode", "area")}},
      {"resize_nothing", "Resize", {"image"}},
      {"grid_sample_mode", "GridSample", {"image", "image"}, {attribute("mode", "area")}},
      {"grid_sample_grid", "GridSample", {"image", "image"}},
  };
}

std::vector<Case> movement_cases() {
  return {
      {"concat_axis", "Concat", {"x", "x"}, {attribute("axis", -3)}},
      {"concat_ranks", "Concat", {"x", "image"}, {attribute("axis", 0)}},
      {"concat_dims", "Concat", {"x", "vast"}, {attribute("axis", 1)}},
      {"concat_types", "Concat", {"x", "int"}, {attribute("axis", 0)}},
      {"split_axis", "Split", {"x"}, {attribute("axis", 4), attribute("num_outputs", 2)}, 21, "", 2},
      {"split_sum", "Split", {"x", "zero_one"}, {}, 21, "", 2},
      {"split_negative", "Split", {"x", "minus_two"}, {}, 21, "", 2},
      {"split_parts_zero", "Split", {"x"}, {attribute("num_outputs", 0)}},
      {"gather_axis", "Gather", {"x", "zero_one"}, {attribute("axis", 2)}},
      {"gather_float_index", "Gather", {"x", "pair"}},
      {"gather_index", "Gather", {"x", "ninth"}},
      {"gather_index_negative", "Gather", {"x", "minus_ninth"}, {attribute("axis", 1)}},
      {"gather_elements_index", "GatherElements", {"x", "nines"}},
      {"scatter_elements_index", "ScatterElements", {"x", "nines", "x"}, {attribute("axis", 1)}},
      {"gather_elements_axis", "GatherElements", {"x", "int"}, {attribute("axis", -3)}},
      {"gather_elements_rank", "GatherElements", {"x", "zero_one"}},
      {"gather_nd_batch", "GatherND", {"x", "zero_one"}, {attribute("batch_dims", 2)}},
      {"gather_nd_batch_negative", "GatherND", {"x", "zero_one"}, {attribute("batch_dims", -1)}},
      {"scatter_axis", "ScatterElements", {"x", "int", "x"}, {attribute("axis", 2)}},
      {"scatter_reduction", "ScatterElements", {"x", "int", "x"}, {attribute("reduction", "median")}},
      {"scatter_updates", "ScatterElements", {"x", "int", "image"}},
      {"scatter_nd_updates", "ScatterND", {"x", "zero_one", "image"}},
      {"scatter_nd_reduction", "ScatterND", {"x", "int", "x"}, {attribute("reduction", "mean")}},
      {"flatten_axis", "Flatten", {"x"}, {attribute("axis", 3)}},
      {"squeeze_axis", "Squeeze", {"x", "one"}},
      {"squeeze_axis_range", "Squeeze", {"x", "ninth"}},
      {"unsqueeze_twice", "Unsqueeze", {"x", "zero_zero"}},
      {"unsqueeze_range", "Unsqueeze", {"x", "ninth"}},
      {"transpose_range", "Transpose", {"x"}, {attribute("perm", Ints{0, 2})}},
      {"transpose_negative", "Transpose", {"x"}, {attribute("perm", Ints{0, -1})}},
      {"reshape_two_unknown", "Reshape", {"x", "two_unknown"}},
      {"reshape_negative", "Reshape", {"x", "minus_two"}},
      {"reshape_overflow", "Reshape", {"x", "huge_pair"}},
      {"reshape_float_shape", "Reshape", {"x", "pair"}},
      {"expand_negative", "Expand", {"x", "minus_two"}},
      {"expand_contradicts", "Expand", {"x", "three_three"}},
      {"expand_overflow", "Expand", {"half", "huge_pair"}},
      {"tile_negative", "Tile", {"x", "minus_two"}},
      {"tile_length", "Tile", {"x", "one"}},
      {"tile_overflow", "Tile", {"x", "huge_pair"}},
      {"slice_step_zero", "Slice", {"x", "zero_one", "zero_one", "zero_one", "zero_zero"}},
      {"slice_axis", "Slice", {"x", "one", "one", "ninth"}},
      {"slice_axes_twice", "Slice", {"x", "zero_one", "zero_one", "zero_zero"}},
      {"slice_lengths", "Slice", {"x", "zero_one", "one"}},
      {"pad_length", "Pad", {"x", "zero_one"}},
      {"pad_overflow", "Pad", {"x", "huge_four"}},
      {"pad_crops_too_much", "Pad", {"x", "crop_four"}},
      {"pad_mode", "Pad", {"x", "four"}, {attribute("mode", "mirror")}},
      {"pad_value_type", "Pad", {"x", "four", "zero"}},
      {"one_hot_depth_negative", "OneHot", {"int", "minus_nine", "pair"}},
      {"one_hot_depth_huge", "OneHot", {"int", "huge", "pair"}},
      {"one_hot_axis", "OneHot", {"int", "nine", "pair"}, {attribute("axis", 7)}},
      {"one_hot_values", "OneHot", {"int", "nine", "c3"}},
      {"constant_of_shape_negative", "ConstantOfShape", {"minus_two"}},
      {"constant_of_shape_overflow", "ConstantOfShape", {"huge_pair"}},
      {"range_step_zero", "Range", {"zero", "nine", "zero"}},
      {"range_too_long", "Range", {"least", "huge", "nine"}},
      {"trilu_of_vector", "Trilu", {"c3"}},
      {"vast_flatten", "MatMul", {"vast", "vast"}},
  };
}

std::vector<Case> compute_cases() {
  const auto recurrent = [](const char* name, const char* op, std::vector<onnx::AttributeProto> attributes) {
    return Case{name, op, {"sequence", "gates", "recurrence"}, std::move(attributes)};
  };
  return {
      {"add_types", "Add", {"x", "int"}},
      {"add_text", "Add", {"text", "text"}},
      {"add_booleans", "Add", {"bool", "bool"}},
      {"relu_of_text", "Relu", {"text"}},
      {"and_of_floats", "And", {"x", "x"}},
      {"not_of_floats", "Not", {"x"}},
      {"broadcast", "Mul", {"x", "c4"}},
      {"where_condition", "Where", {"x", "x", "x"}},
      {"where_types", "Where", {"bool", "x", "int"}},
      {"matmul_depth", "MatMul", {"x", "c4"}},
      {"matmul_scalar", "MatMul", {"x", "half"}},
      {"gemm_depth", "Gemm", {"x", "x"}},
      {"gemm_bias", "Gemm", {"x", "x", "c4"}, {attribute("transB", 1)}},
      {"gemm_rank", "Gemm", {"image", "x"}},
      {"softmax_axis", "Softmax", {"x"}, {attribute("axis", -3)}},
      {"softmax_of_integers", "Softmax", {"int"}},
      {"old_softmax_of_integers", "Softmax", {"int"}, {attribute("axis", 0)}, 11},
      {"log_softmax_of_booleans", "LogSoftmax", {"bool"}},
      {"softmax_of_text", "Softmax", {"text"}},
      {"log_softmax_axis", "LogSoftmax", {"x"}, {attribute("axis", 2)}},
      {"hardmax_axis", "Hardmax", {"x"}, {attribute("axis", 2)}},
      {"reduce_axis", "ReduceSum", {"x", "ninth"}},
      {"reduce_axis_twice", "ReduceMax", {"x", "zero_zero"}},
      {"reduce_old_axis", "ReduceMean", {"x"}, {attribute("axes", Ints{0, 2})}, 13},
      {"arg_axis", "ArgMin", {"x"}, {attribute("axis", 2)}},
      {"top_k_axis", "TopK", {"x", "one"}, {attribute("axis", 2)}, 21, "", 2},
      {"top_k_too_many", "TopK", {"x", "ninth"}, {}, 21, "", 2},
      {"top_k_negative", "TopK", {"x", "minus_ninth"}, {}, 21, "", 2},
      {"cumsum_axis", "CumSum", {"x", "nine"}},
      {"cumsum_axis_least", "CumSum", {"x", "least"}},
      {"einsum_terms", "Einsum", {"x", "x"}, {attribute("equation", "ij->ij")}},
      {"einsum_sizes", "Einsum", {"x", "x"}, {attribute("equation", "ij,ji->i")}},
      {"einsum_rank", "Einsum", {"x"}, {attribute("equation", "ijk->k")}},
      {"einsum_output", "Einsum", {"x"}, {attribute("equation", "ij->k")}},
      {"einsum_letters", "Einsum", {"x"}, {attribute("equation", "i\n->")}},
      {"cast_type", "Cast", {"x"}, {attribute("to", kHuge)}},
      {"cast_without_type", "Cast", {"x"}},
      {"clip_types", "Clip", {"x", "zero"}},
      {"mod_of_floats", "Mod", {"x", "x"}},
      {"bit_shift_direction", "BitShift", {"int", "int"}, {attribute("direction", "UP")}},
      {"prelu_slope", "PRelu", {"x", "c4"}},
      {"lstm_hidden_zero", "LSTM", {"sequence", "gates", "recurrence"}, {attribute("hidden_size", 0)}},
      recurrent("lstm_hidden_negative", "LSTM", {attribute("hidden_size", -4)}),
      recurrent("lstm_hidden_huge", "LSTM", {attribute("hidden_size", kHuge)}),
      recurrent("lstm_hidden_contradicts", "LSTM", {attribute("hidden_size", 5)}),
      recurrent("lstm_activation_count", "LSTM",
                {attribute("hidden_size", 4), attribute("activations", Names{"Sigmoid"})}),
      recurrent("lstm_activation_unknown", "LSTM",
                {attribute("hidden_size", 4), attribute("activations", Names{"Sigmoid", "Swish\n", "Tanh"})}),
      recurrent("lstm_two_directions", "LSTM", {attribute("hidden_size", 4), attribute("direction", "bidirectional")}),
      recurrent("lstm_layout", "LSTM", {attribute("hidden_size", 4), attribute("layout", 2)}),
      recurrent("gru_weights", "GRU", {attribute("hidden_size", 4)}),
      recurrent("rnn_weights", "RNN", {attribute("hidden_size", 4)}),
      {"scaler_of_text", "Scaler", {"text"}, {attribute("scale", Floats{2})}, 21, "ai.onnx.ml"},
      {"normalizer_of_text", "Normalizer", {"text"}, {}, 21, "ai.onnx.ml"},
      {"binarizer_of_text", "Binarizer", {"text"}, {}, 21, "ai.onnx.ml"},
      {"regressor_of_text",
       "LinearRegressor",
       {"text"},
       {attribute("coefficients", Floats{1, 2, 3})},
       21,
       "ai.onnx.ml"},
      {"vectorizer_of_text", "FeatureVectorizer", {"text"}, {attribute("inputdimensions", Ints{3})}, 21, "ai.onnx.ml"},
      {"unknown_domain_operator", "Conv", {"image", "w"}, {}, 21, "com.example"},
  };
}

class InvalidOperator : public ::testing::TestWithParam<Case> {};

TEST_P(InvalidOperator, IsRefusedByNameBeforeAnythingRuns) {
  const std::string bytes = model_of(GetParam()).bytes();
  Options options;
  options.threads = 1;
  try {
    const Model model = Model::from_bytes(as_bytes(bytes), options);
    Session session(model);
    session.prepare();
    FAIL() << "accepted:\n" << model.print(Stage::graph);
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_NE(error.code(), ErrorCode::internal) << message;
    EXPECT_NE(message.find("'n'"), std::string::npos) << message;
    EXPECT_EQ(message.find_first_of("\r\n\t"), std::string::npos) << message;
    EXPECT_LT(message.size(), 1000u) << message;
  }
}

std::string name_of_case(const ::testing::TestParamInfo<Case>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Windows, InvalidOperator, ::testing::ValuesIn(window_cases()), name_of_case);
INSTANTIATE_TEST_SUITE_P(Movement, InvalidOperator, ::testing::ValuesIn(movement_cases()), name_of_case);
INSTANTIATE_TEST_SUITE_P(Computation, InvalidOperator, ::testing::ValuesIn(compute_cases()), name_of_case);

}  // namespace
}  // namespace colonnade::onnx_import::testing::invalid_operators
