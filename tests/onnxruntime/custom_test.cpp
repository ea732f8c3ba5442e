// SPDX-License-Identifier: Apache-2.0
// Operators of the program.
#include "onnxruntime/library.hpp"
#include "onnxruntime/scale.hpp"

namespace colonnade::test::ort {
namespace {

using onnx_import::testing::attribute;
using onnx_import::testing::ModelBuilder;

/// y = Relu(Scale(x)) of x [3].
onnx::ModelProto scaled(float factor) {
  ModelBuilder model;
  model.import("test.domain", 1).input("x", {3});
  model.node("Scale", {"x"}, {"s"}, {attribute("factor", factor)}, "test.domain");
  model.node("Relu", {"s"}, {"y"}).output("y");
  return model.proto;
}

class OrtCustom : public Interface {
 protected:
  Owned<OrtCustomOpDomain> domain(const OrtCustomOp& op) const {
    OrtCustomOpDomain* made = nullptr;
    ok(api().CreateCustomOpDomain("test.domain", &made));
    ok(api().CustomOpDomain_Add(made, &op));
    return {made, api().ReleaseCustomOpDomain};
  }
  void expect_scaled(Scale& op) const {
    const auto own = domain(op);
    const auto chosen = options();
    ok(api().AddCustomOpDomain(chosen.get(), own.get()));
    {
      const auto made = session(scaled(2), chosen.get());
      EXPECT_EQ(op.made, 1);
      std::vector<float> x = {1, -2, 3};
      const auto input = tensor(x, {3});
      for (int i = 0; i < 2; ++i)
        EXPECT_EQ(elements<float>(run(made.get(), {"x"}, {input.get()}, {"y"})[0].get()),
                  (std::vector<float>{2, 0, 6}));
      EXPECT_EQ(op.runs, 2);
    }
    EXPECT_EQ(op.destroyed, 1);
  }
};

TEST_P(OrtCustom, RunsTheProgramsKernel) {
  Scale op(api());
  expect_scaled(op);
}

TEST_P(OrtCustom, AsksForShapes) {
  Scale op(api());
  op.use_shapes();
  expect_scaled(op);
}

TEST_P(OrtCustom, FailuresOfTheKernelAreTheRuns) {
  Scale op(api());
  const auto own = domain(op);
  const auto chosen = options();
  ok(api().AddCustomOpDomain(chosen.get(), own.get()));
  const auto made = session(scaled(-1), chosen.get());
  std::vector<float> x = {1, 2, 3};
  const auto input = tensor(x, {3});
  const char* in = "x";
  const char* out = "y";
  const OrtValue* inputs[] = {input.get()};
  OrtValue* outputs[] = {nullptr};
  EXPECT_EQ(code(api().Run(made.get(), nullptr, &in, inputs, 1, &out, 1, outputs)), ORT_EP_FAIL) << message();
  EXPECT_NE(message().find("a factor below zero"), std::string::npos) << message();
}

TEST_P(OrtCustom, MissingAttributesFailTheSession) {
  Scale op(api());
  const auto own = domain(op);
  const auto chosen = options();
  ok(api().AddCustomOpDomain(chosen.get(), own.get()));
  auto model = scaled(1);
  model.mutable_graph()->mutable_node(0)->clear_attribute();
  const std::string bytes = model.SerializeAsString();
  OrtSession* made = nullptr;
  const OrtErrorCode result =
      code(api().CreateSessionFromArray(env(), bytes.data(), bytes.size(), chosen.get(), &made));
  EXPECT_EQ(result, is_ours() ? ORT_FAIL : ORT_RUNTIME_EXCEPTION) << message();
  EXPECT_EQ(made, nullptr);
}

COLONNADE_BOTH_LIBRARIES(OrtCustom);

}  // namespace
}  // namespace colonnade::test::ort
