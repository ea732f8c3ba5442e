// SPDX-License-Identifier: Apache-2.0
#include "echo_models.hpp"

#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "frontends/onnx/proto.hpp"
#include "frontends/server/datatype.hpp"

namespace colonnade::test {
namespace {

void describe(onnx::ValueInfoProto& info, const std::string& name, const Port& port) {
  info.set_name(name);
  auto* type = info.mutable_type()->mutable_tensor_type();
  type->set_elem_type(onnx_import::data_type_of(port.dtype));
  type->mutable_shape();
  for (const std::int64_t dimension : port.shape) {
    auto* dim = type->mutable_shape()->add_dim();
    if (dimension < 0)
      dim->set_dim_param("axis_" + std::to_string(type->shape().dim_size() - 1) + "_of_" + port.name);
    else
      dim->set_dim_value(dimension);
  }
}

}  // namespace

std::string echo_model(const std::vector<Port>& inputs) {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  auto& graph = *model.mutable_graph();
  graph.set_name("echo");
  for (const Port& port : inputs) {
    auto* node = graph.add_node();
    node->set_op_type("Identity");
    node->add_input(port.name);
    node->add_output("out_" + port.name);
    describe(*graph.add_input(), port.name, port);
    describe(*graph.add_output(), "out_" + port.name, port);
  }
  return model.SerializeAsString();
}

std::string product_chain(std::int64_t size, int count) {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  auto& graph = *model.mutable_graph();
  graph.set_name("products");
  std::string last = "x";
  for (int i = 0; i < count; ++i) {
    auto* node = graph.add_node();
    node->set_op_type("MatMul");
    node->add_input(last);
    node->add_input("x");
    last = i + 1 == count ? "y" : "product_" + std::to_string(i);
    node->add_output(last);
  }
  describe(*graph.add_input(), "x", {"x", DType::f32, {size, size}});
  describe(*graph.add_output(), "y", {"y", DType::f32, {size, size}});
  return model.SerializeAsString();
}

void Repository::add(const std::string& name, const std::string& model, int version) {
  const auto folder = folder_.path() / name / std::to_string(version);
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "model.onnx", std::ios::binary) << model;
}

void Repository::add_echo_models() {
  for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16, DType::i8, DType::i16, DType::i32,
                            DType::i64, DType::u8, DType::u16, DType::u32, DType::u64, DType::boolean, DType::string})
    add("echo_" + std::string(serve::datatype_of(dtype)), echo_model({{"x", dtype, {-1}}}));
  add("pair", echo_model({{"a", DType::boolean, {-1}}, {"b", DType::f32, {-1, 2}}}));
}

}  // namespace colonnade::test
