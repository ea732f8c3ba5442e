// SPDX-License-Identifier: Apache-2.0
// Malformed and malicious models: each must be refused with a one-line Error.
#include "hostile.hpp"

#include <cmath>
#include <cstdint>
#include <random>

namespace colonnade::onnx_import::testing {
namespace {

using namespace hostile;

std::string nested_types(int depth) {
  onnx::ModelProto model = conv_model().proto;
  auto* type = model.mutable_graph()->mutable_input(0)->mutable_type();
  for (int i = 0; i < depth; ++i) type = type->mutable_sequence_type()->mutable_elem_type();
  return model.SerializeAsString();
}

std::string nested_graphs(int depth) {
  onnx::ModelProto model = conv_model().proto;
  auto* graph = model.mutable_graph();
  for (int i = 0; i < depth; ++i) {
    auto* node = graph->add_node();
    node->set_op_type("If");
    auto* branch = node->add_attribute();
    branch->set_name("then_branch");
    branch->set_type(onnx::AttributeProto::GRAPH);
    graph = branch->mutable_g();
  }
  return model.SerializeAsString();
}

/// Each function calls the next twice: 2^depth nodes when expanded.
std::string exploding_functions(int depth) {
  ModelBuilder model;
  model.import("f", 1).input("x", {1}).output("y").node("f0", {"x"}, {"y"}, {}, "f");
  for (int i = 0; i < depth; ++i) {
    auto* function = model.proto.add_functions();
    function->set_name("f" + std::to_string(i));
    function->set_domain("f");
    function->add_input("a");
    function->add_output("c");
    for (const char* domain : {"", "f"}) {
      auto* import = function->add_opset_import();
      import->set_domain(domain);
      import->set_version(17);
    }
    const bool last = i + 1 == depth;
    const std::string callee = last ? "Relu" : "f" + std::to_string(i + 1);
    *function->add_node() = node_proto(callee, {"a"}, {"b"}, {}, last ? "" : "f");
    *function->add_node() = node_proto(callee, {"b"}, {"c"}, {}, last ? "" : "f");
  }
  return model.bytes();
}

std::string recursive_function() {
  ModelBuilder model;
  model.import("f", 1).input("x", {1}).output("y").node("f", {"x"}, {"y"}, {}, "f");
  auto* function = model.proto.add_functions();
  function->set_name("f");
  function->set_domain("f");
  function->add_input("a");
  function->add_output("b");
  auto* import = function->add_opset_import();
  import->set_domain("f");
  import->set_version(1);
  *function->add_node() = node_proto("f", {"a"}, {"b"}, {}, "f");
  return model.bytes();
}

std::vector<Case> container_cases() {
  return {
      {"empty", kInvalid, [] { return std::string(); }},
      {"zeros", kInvalid, [] { return std::string(64, '\0'); }},
      {"text", kInvalid, [] { return std::string("this is not a model at all\n\n\n"); }},
      {"zip", kInvalid, [] { return std::string("PK\x03\x04") + std::string(60, 'x'); }},
      {"lfs_pointer", kInvalid,
       [] { return std::string("version https://git-lfs.github.com/spec/v1\noid sha256:0\n"); }},
      {"all_ones", kInvalid, [] { return std::string(256, '\xff'); }},
      {"truncated", kInvalid, [] { return conv_model().bytes().substr(0, 100); }},
      {"trailing_garbage", kInvalid, [] { return conv_model().bytes() + std::string("\xff\xff\xff\xff garbage"); }},
      {"trailing_unknown_field", kInvalid, [] { return conv_model().bytes() + std::string("\xfa\x3f\x01z"); }},
      {"huge_varint_length", kInvalid, [] { return std::string("\x08\x08\x3a\xff\xff\xff\xff\x7f"); }},
      {"overlong_varint", kInvalid, [] { return std::string("\x08") + std::string(12, '\xff'); }},
      {"deep_types", kInvalid, [] { return nested_types(5000); }},
      {"deep_graphs", kInvalid, [] { return nested_graphs(2000); }},
      {"exploding_functions", ErrorCode::resource_limit, [] { return exploding_functions(40); }},
      {"recursive_function", kInvalid, [] { return recursive_function(); }},
      {"external_data_from_bytes", kInvalid,
       [] {
         ModelBuilder model = conv_model();
         weight(model) = external_tensor("w", {2, 2, 3, 3}, {{"location", "w.bin"}});
         return model.bytes();
       }},
  };
}

std::vector<Case> graph_cases() {
  return {
      damaged("no_graph", kInvalid, [](auto& m) { m.proto.clear_graph(); }),
      damaged("empty_graph", kInvalid, [](auto& m) { m.proto.mutable_graph()->Clear(); }),
      damaged("no_outputs", kInvalid, [](auto& m) { m.proto.mutable_graph()->clear_output(); }),
      damaged("missing_output", kInvalid,
              [](auto& m) { m.proto.mutable_graph()->mutable_output(0)->set_name("nowhere"); }),
      damaged("unnamed_output", kInvalid, [](auto& m) { m.proto.mutable_graph()->mutable_output(0)->set_name(""); }),
      damaged("output_twice", kInvalid, [](auto& m) { m.output("y"); }),
      damaged("input_twice", kInvalid,
              [](auto& m) {
                m.input("x", {1, 2, 4, 4});
              }),
      damaged("initializer_twice", kInvalid, [](auto& m) { m.constant(weight(m)); }),
      damaged("unnamed_initializer", kInvalid, [](auto& m) { weight(m).set_name(""); }),
      damaged("newline_in_name", kInvalid,
              [](auto& m) { m.proto.mutable_graph()->mutable_input(0)->set_name("x\ny"); }),
      damaged("value_produced_twice", kInvalid, [](auto& m) { m.node("Relu", {"x"}, {"y"}); }),
      damaged("output_shadows_input", kInvalid, [](auto& m) { m.node("Relu", {"y"}, {"x"}); }),
      damaged("undefined_input", kInvalid, [](auto& m) { conv_node(m).set_input(0, "nowhere\n"); }),
      damaged("cycle", kInvalid, [](auto& m) { m.node("Relu", {"b"}, {"a"}).node("Relu", {"a"}, {"b"}); }),
      damaged("self_loop", kInvalid, [](auto& m) { conv_node(m).set_input(0, "y"); }),
      damaged("no_ir_version_or_opset", kUnsupported, [](auto& m) { m.proto.clear_ir_version(); }),
      damaged("future_ir_version", kUnsupported, [](auto& m) { m.proto.set_ir_version(1000); }),
      damaged("negative_ir_version", kUnsupported, [](auto& m) { m.proto.set_ir_version(-1); }),
      damaged("no_opset", kInvalid, [](auto& m) { m.proto.clear_opset_import(); }),
      damaged("future_opset", kUnsupported, [](auto& m) { m.proto.mutable_opset_import(0)->set_version(999); }),
      damaged("negative_opset", kInvalid, [](auto& m) { m.proto.mutable_opset_import(0)->set_version(-3); }),
      damaged("unknown_operator", kUnsupported, [](auto& m) { conv_node(m).set_op_type("Conv\nolution"); }),
      damaged("no_operator", kInvalid, [](auto& m) { conv_node(m).set_op_type(""); }),
      damaged("unknown_domain", kUnsupported, [](auto& m) { conv_node(m).set_domain("com.example"); }),
      damaged("sequence_input", kInvalid,
              [](auto& m) {
                m.proto.mutable_graph()->mutable_input(0)->mutable_type()->mutable_sequence_type()->mutable_elem_type();
              }),
      damaged("sparse_input", kUnsupported,
              [](auto& m) { m.proto.mutable_graph()->mutable_input(0)->mutable_type()->mutable_sparse_tensor_type(); }),
      damaged("untyped_input", kInvalid, [](auto& m) { m.proto.mutable_graph()->mutable_input(0)->clear_type(); }),
      damaged("negative_input_dim", kInvalid,
              [](auto& m) {
                m.proto.mutable_graph()
                    ->mutable_input(0)
                    ->mutable_type()
                    ->mutable_tensor_type()
                    ->mutable_shape()
                    ->mutable_dim(0)
                    ->set_dim_value(-7);
              }),
      damaged("wrong_output_type", kInvalid,
              [](auto& m) {
                m.proto.mutable_graph()->mutable_output(0)->mutable_type()->mutable_tensor_type()->set_elem_type(7);
              }),
      damaged("initializer_contradicts_input", kInvalid,
              [](auto& m) {
                m.input("w", {9, 9});
              }),
  };
}

std::vector<Case> tensor_cases() {
  return {
      damaged("unknown_element_type", kInvalid, [](auto& m) { weight(m).set_data_type(77); }),
      damaged("undefined_element_type", kInvalid, [](auto& m) { weight(m).set_data_type(0); }),
      damaged("element_type_after_the_last", kInvalid, [](auto& m) { weight(m).set_data_type(29); }),
      damaged("float8_in_floats", kInvalid, [](auto& m) { weight(m).set_data_type(17); }),
      damaged("int4_in_floats", kInvalid, [](auto& m) { weight(m).set_data_type(22); }),
      damaged("complex_of_half_the_floats", kInvalid, [](auto& m) { weight(m).set_data_type(14); }),
      damaged("too_little_data", kInvalid, [](auto& m) { weight(m).mutable_float_data()->RemoveLast(); }),
      damaged("too_much_data", kInvalid, [](auto& m) { weight(m).add_float_data(1); }),
      damaged("no_data", kInvalid, [](auto& m) { weight(m).clear_float_data(); }),
      damaged("raw_and_typed", kInvalid, [](auto& m) { weight(m).set_raw_data(std::string(144, '\0')); }),
      damaged("raw_of_wrong_length", kInvalid,
              [](auto& m) {
                weight(m).clear_float_data();
                weight(m).set_raw_data(std::string(143, '\0'));
              }),
      damaged("data_in_wrong_field", kInvalid,
              [](auto& m) {
                weight(m).clear_float_data();
                for (int i = 0; i < 36; ++i) weight(m).add_int32_data(i);
              }),
      damaged("negative_dim", kInvalid, [](auto& m) { weight(m).set_dims(0, -2); }),
      damaged("product_overflow", kInvalid,
              [](auto& m) {
                for (int i = 0; i < 4; ++i) weight(m).set_dims(i, std::int64_t{1} << 40);
              }),
      damaged("byte_overflow", kInvalid,
              [](auto& m) {
                weight(m).clear_dims();
                weight(m).add_dims(std::int64_t{1} << 62);
              }),
      damaged("huge_tensor_tiny_data", kInvalid, [](auto& m) { weight(m).set_dims(0, std::int64_t{1} << 33); }),
      damaged("strings_as_raw_data", kInvalid,
              [](auto& m) {
                weight(m) = raw_tensor<char>("w", onnx::TensorProto::STRING, {2}, {'a', 'b'});
              }),
      damaged("segment", kUnsupported, [](auto& m) { weight(m).mutable_segment()->set_begin(0); }),
      damaged("external_keys_not_external", kInvalid,
              [](auto& m) { weight(m).add_external_data()->set_key("location"); }),
      damaged("int8_out_of_range", kInvalid,
              [](auto& m) {
                weight(m).Clear();
                weight(m).set_name("w");
                weight(m).set_data_type(onnx::TensorProto::INT8);
                weight(m).add_dims(1);
                weight(m).add_int32_data(300);
              }),
      damaged("sparse_index_out_of_range", kInvalid,
              [](auto& m) {
                auto* sparse = m.proto.mutable_graph()->add_sparse_initializer();
                *sparse->mutable_values() = float_tensor("s", {1}, {1});
                *sparse->mutable_indices() = int_tensor("", {1}, {100});
                sparse->add_dims(4);
              }),
      damaged("sparse_too_large", ErrorCode::resource_limit,
              [](auto& m) {
                auto* sparse = m.proto.mutable_graph()->add_sparse_initializer();
                *sparse->mutable_values() = float_tensor("s", {1}, {1});
                *sparse->mutable_indices() = int_tensor("", {1}, {100});
                sparse->add_dims(std::int64_t{1} << 40);
              }),
  };
}

class Hostile : public ::testing::TestWithParam<Case> {};

TEST_P(Hostile, IsRefusedInOneLine) {
  const std::string bytes = GetParam().bytes();
  try {
    import_bytes(as_bytes(bytes));
    FAIL() << "imported";
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_FALSE(message.empty());
    EXPECT_EQ(message.find_first_of("\r\n\t"), std::string::npos) << message;
    EXPECT_EQ(error.code(), GetParam().code) << message;
    EXPECT_LT(message.size(), 2000u) << message;
  }
}

std::string name_of_case(const ::testing::TestParamInfo<Case>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Container, Hostile, ::testing::ValuesIn(container_cases()), name_of_case);
INSTANTIATE_TEST_SUITE_P(GraphStructure, Hostile, ::testing::ValuesIn(graph_cases()), name_of_case);
INSTANTIATE_TEST_SUITE_P(Tensors, Hostile, ::testing::ValuesIn(tensor_cases()), name_of_case);
INSTANTIATE_TEST_SUITE_P(Attributes, Hostile, ::testing::ValuesIn(attribute_cases()), name_of_case);
INSTANTIATE_TEST_SUITE_P(Trees, Hostile, ::testing::ValuesIn(tree_cases()), name_of_case);

TEST(HostileModels, TheUndamagedModelIsFine) {
  verify(conv_model().import_graph());
  const std::string tree = tree_model([](auto&) {});
  verify(import_bytes(as_bytes(tree)));
}

/// A model with many kinds of content for the fuzzers to damage.
std::string varied_model() {
  ModelBuilder model(13, 3);
  model.import("f", 1).input("x", {1, 2, 6, 6}).output("y").output("z", onnx::TensorProto::INT64);
  model.constant(float_tensor("w", {4, 2, 3, 3}, std::vector<float>(72, 0.25f)));
  model.constant(raw_tensor<float>("b", onnx::TensorProto::FLOAT, {4}, {1, 2, 3, 4}));
  model.constant(int_tensor("shape", {2}, {1, -1})).constant(int_tensor("axes", {1}, {1}));
  model.node("Conv", {"x", "w", "b"}, {"c"}, {attribute("pads", Ints{1, 1, 1, 1})});
  model.node("f", {"c"}, {"d"}, {attribute("alpha", 0.5f)}, "f");
  model.node("MaxPool", {"d"}, {"p"}, {attribute("kernel_shape", Ints{2, 2}), attribute("strides", Ints{2, 2})});
  model.node("Reshape", {"p", "shape"}, {"r"}).node("Softmax", {"r"}, {"y"}, {attribute("axis", 1)});
  model.node("ReduceSum", {"r", "axes"}, {"s"}).node("ArgMax", {"s"}, {"z"}, {attribute("axis", 0)});
  auto* function = model.proto.add_functions();
  function->set_name("f");
  function->set_domain("f");
  function->add_input("a");
  function->add_output("b");
  function->add_attribute("alpha");
  auto* import = function->add_opset_import();
  import->set_version(13);
  *function->add_node() =
      node_proto("LeakyRelu", {"a"}, {"b"}, {reference("alpha", "alpha", onnx::AttributeProto::FLOAT)});
  return model.bytes();
}

void expect_graph_or_error(const std::string& bytes, const std::string& what) {
  try {
    verify(import_bytes(as_bytes(bytes)));
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_FALSE(message.empty()) << what;
    EXPECT_EQ(message.find('\n'), std::string::npos) << what << ": " << message;
    EXPECT_NE(error.code(), ErrorCode::internal) << what << ": " << message;
  }
}

TEST(HostileModels, EveryTruncationIsHandled) {
  const std::string bytes = varied_model();
  verify(import_bytes(as_bytes(bytes)));
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    expect_graph_or_error(bytes.substr(0, size), fmt::format("truncated to {} bytes", size));
  }
}

TEST(HostileModels, BitFlipsAreHandled) {
  constexpr unsigned kSeed = 20260801;
  RecordProperty("seed", static_cast<int>(kSeed));
  SCOPED_TRACE(fmt::format("seed {}", kSeed));
  const std::string bytes = varied_model();
  std::mt19937 random(kSeed);
  for (int round = 0; round < 6000; ++round) {
    std::string damaged_bytes = bytes;
    const int flips = 1 + static_cast<int>(random() % 4);
    for (int i = 0; i < flips; ++i) {
      char& byte = damaged_bytes[random() % damaged_bytes.size()];
      byte = static_cast<char>(byte ^ (1 << (random() % 8)));
    }
    expect_graph_or_error(damaged_bytes, fmt::format("round {}", round));
  }
}

TEST(HostileModels, ByteReplacementsAreHandled) {
  constexpr unsigned kSeed = 7;
  SCOPED_TRACE(fmt::format("seed {}", kSeed));
  const std::string bytes = varied_model();
  std::mt19937 random(kSeed);
  for (int round = 0; round < 4000; ++round) {
    std::string damaged_bytes = bytes;
    const std::size_t at = random() % damaged_bytes.size();
    switch (random() % 3) {
      case 0: damaged_bytes[at] = static_cast<char>(random()); break;
      case 1: damaged_bytes.insert(at, 1 + random() % 5, static_cast<char>(random())); break;
      default: damaged_bytes.erase(at, 1 + random() % 5); break;
    }
    expect_graph_or_error(damaged_bytes, fmt::format("round {}", round));
  }
}

}  // namespace
}  // namespace colonnade::onnx_import::testing
