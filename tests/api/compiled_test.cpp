// SPDX-License-Identifier: Apache-2.0
// Compiled files: used when they fit, written anew when they do not, never in the way.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <regex>
#include <thread>

#include "api/impl.hpp"
#include "onnx/builder.hpp"
#include "reference/onnx/definitions.hpp"
#include "support/folder.hpp"

namespace colonnade {
namespace {

namespace fs = std::filesystem;
using onnx_import::testing::ModelBuilder;

std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void put(const fs::path& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

onnx::TensorProto tensor_proto(const std::string& name, const Shape& shape, float step) {
  onnx::TensorProto proto;
  proto.set_name(name);
  proto.set_data_type(onnx::TensorProto::FLOAT);
  for (const std::int64_t dim : shape) proto.add_dims(dim);
  std::string data;
  for (std::int64_t i = 0; i < element_count(shape); ++i) {
    const float x = static_cast<float>(i % 97 - 48) * step;
    data.append(reinterpret_cast<const char*>(&x), sizeof x);
  }
  proto.set_raw_data(data);
  return proto;
}

/// y = relu(x w) v of any number of rows, and a table that is gathered from: weights that are packed and elements that
/// are read as they are, both large.
ModelBuilder two_layers(float step) {
  ModelBuilder model;
  model.input("x", {-1, 96}).input("at", {-1}, onnx::TensorProto::INT64);
  model.constant(tensor_proto("w", {96, 128}, step)).constant(tensor_proto("v", {128, 64}, step));
  model.constant(tensor_proto("table", {200, 64}, step));
  model.node("MatMul", {"x", "w"}, {"xw"}).node("Relu", {"xw"}, {"r"}).node("MatMul", {"r", "v"}, {"y"});
  model.node("Gather", {"table", "at"}, {"z"});
  return model.output("y").output("z");
}

class CompiledTest : public ::testing::Test {
 protected:
  void SetUp() override {
    put(model(), two_layers(0.01f).bytes());
    set_log_handler([this](LogLevel level, std::string_view line) {
      if (level >= LogLevel::info && line.starts_with("compiled file")) lines_.emplace_back(line);
    });
    options_.threads = 1;
    options_.compiled = file().string();
  }
  void TearDown() override { set_log_handler({}); }

  fs::path model() const { return folder_ / "net.onnx"; }
  fs::path file() const { return folder_ / "net.compiled"; }

  struct Answer {
    std::vector<Tensor> outputs;
    bool was_loaded = false;
    bool operator==(const Answer& other) const {
      return std::equal(outputs.begin(), outputs.end(), other.outputs.begin(), other.outputs.end(),
                        [](const Tensor& a, const Tensor& b) {
                          return a.shape() == b.shape() && std::memcmp(a.data(), b.data(), a.byte_size()) == 0;
                        });
    }
  };

  Answer answer_of(const Model& model, std::int64_t rows = 3) const {
    Tensor x(DType::f32, {rows, 96}), at(DType::i64, {2});
    for (std::size_t i = 0; i < x.values<float>().size(); ++i) x.values<float>()[i] = static_cast<float>(i % 13) - 6;
    at.values<std::int64_t>()[1] = 199;
    const TensorView views[] = {x, at};
    Session session(model);
    Answer answer{session.run(views)};
    answer.was_loaded = model.impl()->compiled && model.impl()->compiled->is_loaded();
    return answer;
  }
  Answer answer(std::int64_t rows = 3) const { return answer_of(Model::load(model().string(), options_), rows); }
  Answer expected(std::int64_t rows = 3) const {
    Options options = options_;
    options.compiled.clear();
    return answer_of(Model::load(model().string(), options), rows);
  }
  /// The file does not fit: the answer is right, one line says why, and the next load uses what was written.
  void expect_rebuilt(const std::string& why) {
    lines_.clear();
    const Answer found = answer();
    EXPECT_EQ(found, expected()) << why;
    ASSERT_EQ(lines_.size(), 1u) << why;
    EXPECT_NE(lines_.front().find("is written anew: "), std::string::npos) << lines_.front();
    EXPECT_NE(lines_.front().find(why), std::string::npos) << lines_.front();
    lines_.clear();
    const Answer again = answer();
    EXPECT_TRUE(again.was_loaded) << why;
    EXPECT_EQ(again, expected()) << why;
    EXPECT_EQ(lines_.size(), 0u) << lines_.front();
  }

  test::TemporaryFolder temporary_;
  const fs::path& folder_ = temporary_.path();
  Options options_;
  std::vector<std::string> lines_;
};

TEST_F(CompiledTest, TheSecondLoadUsesTheFile) {
  const Answer first = answer();
  EXPECT_FALSE(first.was_loaded);
  ASSERT_EQ(lines_.size(), 1u);
  EXPECT_EQ(lines_.front(), "compiled file '" + file().string() + "' is written");
  const std::string written = contents(file());
  const Answer second = answer();
  EXPECT_TRUE(second.was_loaded);
  EXPECT_EQ(first, expected());
  EXPECT_EQ(second, expected());
  EXPECT_EQ(lines_.size(), 1u);
  EXPECT_EQ(contents(file()), written);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 2) << "temporary files are left";
}

/// Neither the graph nor weights are made of the model again: it is not even readable any more.
TEST_F(CompiledTest, ALoadReadsNoWeightsOfTheModel) {
  answer();
  const Answer right = expected();
  const Model loaded = Model::load(model().string(), options_);
  put(model(), "no model");  // the open file changes in place: whoever reads it fails
  EXPECT_EQ(answer_of(loaded), right);
  EXPECT_THROW(loaded.print(Stage::graph), Error);
}

TEST_F(CompiledTest, OtherShapesArePlannedAndKept) {
  answer(3);
  EXPECT_EQ(answer(5), expected(5));
  ASSERT_EQ(lines_.size(), 2u);
  EXPECT_NE(lines_.back().find("keeps one more plan"), std::string::npos) << lines_.back();
  for (const std::int64_t rows : {5, 3, 5}) {
    const Answer found = answer(rows);
    EXPECT_TRUE(found.was_loaded);
    EXPECT_EQ(found, expected(rows));
  }
  EXPECT_EQ(lines_.size(), 2u);
}

/// Weights of four bits, and bytes of three axes, whose rows may be rounded to bytes are such weights in the file too:
/// a shape that is planned by it has the same bits.
TEST_F(CompiledTest, NarrowWeightsKeepWhatTheyAllow) {
  ModelBuilder net;
  net.import("com.microsoft", 1).input("x", {-1, 96}).input("at", {-1}, onnx::TensorProto::INT64);
  std::vector<std::uint8_t> numbers(128 * 3 * 16);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<std::uint8_t>(i * 37 % 256);
  net.constant(onnx_import::testing::raw_tensor("w", onnx::TensorProto::UINT8, {128, 3, 16}, numbers));
  net.constant(tensor_proto("scale", {128, 3}, 0.01f)).constant(tensor_proto("table", {200, 64}, 0.01f));
  const auto attribute = [](const char* name, std::int64_t value) {
    return onnx_import::testing::attribute(name, value);
  };
  net.node("MatMulNBits", {"x", "w", "scale"}, {"y"},
           {attribute("K", 96), attribute("N", 128), attribute("block_size", 32), attribute("accuracy_level", 4)},
           "com.microsoft");
  net.node("Gather", {"table", "at"}, {"z"});
  const auto gates = [&](const char* name, std::int64_t inputs) {
    const std::span bytes = std::span(numbers).first(static_cast<std::size_t>(inputs * 256));
    net.constant(onnx_import::testing::raw_tensor<std::uint8_t>(name, onnx::TensorProto::UINT8, {1, inputs, 256},
                                                                {bytes.begin(), bytes.end()}));
  };
  numbers.resize(96 * 256, 77);
  gates("input_gates", 96);
  gates("state_gates", 64);
  net.constant(onnx_import::testing::float_tensor("gate_scale", {1}, {0.002f}));
  net.constant(onnx_import::testing::int_tensor("axis", {1}, {1}));
  net.node("Unsqueeze", {"x", "axis"}, {"steps"});
  net.node("DynamicQuantizeLSTM",
           {"steps", "input_gates", "state_gates", "", "", "", "", "", "gate_scale", "", "gate_scale", ""}, {"states"},
           {attribute("hidden_size", 64)}, "com.microsoft");
  put(model(), net.output("y").output("z").output("states").bytes());
  answer(3);
  const Answer planned = answer(5);
  EXPECT_TRUE(planned.was_loaded);
  EXPECT_EQ(planned, expected(5));
}

TEST_F(CompiledTest, KeepsOnlySoManyPlans) {
  for (std::int64_t rows = 1; rows <= 12; ++rows) answer(rows);
  EXPECT_EQ(lines_.size(), 8u);
  EXPECT_EQ(answer(12), expected(12));
}

/// A weight that the file lost is made of the model, whose graphs number their constants as the file does.
TEST_F(CompiledTest, PlansOfAllShapesFindTheirConstantsInTheModel) {
  answer(3);
  answer(5);
  const Model loaded = Model::load(model().string(), options_);
  const auto& constants = loaded.impl()->optimized->values;
  int large = 0;
  for (const Value& value : constants) {
    if (!value.constant || value.constant->byte_size() <= Constant::kSmallBytes) continue;
    ++large;
    std::vector<float> part(4);
    value.constant->read(2, std::as_writable_bytes(std::span(part)));
    const auto whole = value.constant->tensor();
    EXPECT_EQ(std::memcmp(part.data(), whole->values<float>().data() + 2, sizeof(float) * part.size()), 0);
  }
  EXPECT_EQ(large, 3);
}

TEST_F(CompiledTest, EveryFlippedByteIsNoticed) {
  answer();
  const std::string good = contents(file());
  const Answer right = expected();
  for (std::size_t at = 0; at < good.size(); at += good.size() / 150 + 1) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x10);
    put(file(), bad);
    lines_.clear();
    EXPECT_EQ(answer(), right) << "byte " << at;
    const bool repaired = lines_.size() == 1 && lines_.front().find("is written anew: ") != std::string::npos;
    EXPECT_TRUE(repaired || (lines_.empty() && contents(file()) == bad)) << "byte " << at;  // zeros between blobs
  }
}

TEST_F(CompiledTest, ACutFileIsWrittenAnew) {
  answer();
  const std::string good = contents(file());
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{63}, std::size_t{64}, good.size() / 2, good.size() - 1}) {
    put(file(), good.substr(0, size));
    expect_rebuilt("it is ");
  }
  put(file(), good + "x");
  expect_rebuilt("it is cut off");
  put(file(), "something else that is much longer than the header of a compiled file, which takes 48 bytes");
  expect_rebuilt("it is no compiled file of this version");
}

/// The file is cut while the model is in use: weights that were not read yet are packed again.
TEST_F(CompiledTest, CuttingTheFileOfALoadedModelDoesNoHarm) {
  answer();
  const Model loaded = Model::load(model().string(), options_);
  ASSERT_EQ(::truncate(file().c_str(), 100), 0);
  lines_.clear();
  const Answer found = answer_of(loaded);
  EXPECT_TRUE(found.was_loaded);
  EXPECT_EQ(found, expected());
  ASSERT_EQ(lines_.size(), 1u);
  EXPECT_NE(lines_.front().find("it is damaged"), std::string::npos) << lines_.front();
  EXPECT_TRUE(answer().was_loaded);
}

TEST_F(CompiledTest, AnotherModelIsNoticed) {
  answer();
  const auto time = fs::last_write_time(model());
  put(model(), two_layers(0.02f).bytes());
  fs::last_write_time(model(), time);  // same size and time: the content tells
  expect_rebuilt("it was made for another model");
}

TEST_F(CompiledTest, TheSameModelElsewhereIsTheSame) {
  answer();
  fs::copy_file(model(), folder_ / "copy.onnx");
  const Model copy = Model::load((folder_ / "copy.onnx").string(), options_);
  EXPECT_TRUE(copy.impl()->compiled->is_loaded());
  const std::string bytes = contents(model());
  const Model memory = Model::from_bytes(std::as_bytes(std::span(bytes)), options_);
  EXPECT_TRUE(answer_of(memory).was_loaded);
  EXPECT_EQ(answer_of(memory), expected());
}

TEST_F(CompiledTest, OtherOptionsAreNoticed) {
  answer();
  options_.math = Math::exact;
  expect_rebuilt("other options");
  options_.schedule = Schedule::layers;
  expect_rebuilt("other options");
  options_.memory_limit_bytes = 1 << 28;
  expect_rebuilt("other options");
  options_.threads = 2;
  expect_rebuilt("it was made for threads: 1, now 2");
  const std::string own = Model::load(model().string(), options_).impl()->topology.blocking;
  options_.blocking = own == "2m-far" ? "1m-far" : "2m-far";
  expect_rebuilt("other options");
  options_.isa = "baseline";
  expect_rebuilt("it was made for ISA");
}

TEST_F(CompiledTest, RunsOfFewerThreadsHavePlansOfTheirOwn) {
  options_.threads = 2;
  const ShapeMap shapes = {{"x", {3, 96}}, {"at", {2}}};
  for (const bool is_again : {false, true}) {
    const Model model = Model::load(this->model().string(), options_);
    Session session(model);
    const auto is_kept = [&](int threads) {
      return model.impl()->compiled->find(model.resolve_shapes(shapes), {}, threads).has_value();
    };
    EXPECT_EQ(is_kept(1), is_again);
    EXPECT_EQ(is_kept(2), is_again);
    session.prepare(shapes, 1);
    EXPECT_TRUE(is_kept(1));
    EXPECT_EQ(is_kept(2), is_again);
    session.prepare(shapes);
    EXPECT_TRUE(is_kept(1) && is_kept(2));
  }
}

TEST_F(CompiledTest, ExternalDataBelongToTheModel) {
  onnx::TensorProto tensor = tensor_proto("w", {96, 128}, 0.01f);
  put(folder_ / "w.bin", tensor.raw_data());
  tensor.clear_raw_data();
  tensor.set_data_location(onnx::TensorProto::EXTERNAL);
  auto* entry = tensor.add_external_data();
  entry->set_key("location");
  entry->set_value("w.bin");
  ModelBuilder builder;
  builder.input("x", {-1, 96}).input("at", {-1}, onnx::TensorProto::INT64).constant(tensor);
  builder.node("MatMul", {"x", "w"}, {"y"}).node("Identity", {"at"}, {"z"});
  put(model(), builder.output("y").output("z", onnx::TensorProto::INT64).bytes());
  answer();
  EXPECT_TRUE(answer().was_loaded);
  const Model loaded = Model::load(model().string(), options_);
  put(folder_ / "w.bin", tensor_proto("w", {96, 128}, 0.02f).raw_data());
  expect_rebuilt("it was made for another model");
  fs::remove(folder_ / "w.bin");
  EXPECT_THROW(Model::load(model().string(), options_), Error);
}

TEST_F(CompiledTest, APlaceThatCannotBeWrittenIsNoFailure) {
  const auto expect_refused = [&](const fs::path& place) {
    lines_.clear();
    options_.compiled = place.string();
    EXPECT_EQ(answer(), expected());
    ASSERT_EQ(lines_.size(), 1u) << place;
    EXPECT_NE(lines_.front().find("cannot be written: "), std::string::npos) << lines_.front();
  };
  expect_refused(folder_ / "nowhere" / "net.compiled");
  expect_refused(folder_);
  const fs::path pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  expect_refused(pipe);
  EXPECT_TRUE(fs::is_fifo(pipe));
}

TEST_F(CompiledTest, ManyWritersLeaveAGoodFile) {
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([&] { EXPECT_EQ(answer(), expected()); });
  threads.clear();
  EXPECT_TRUE(answer().was_loaded);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 2);
}

TEST_F(CompiledTest, WeightsAreInMemoryOnce) {
  answer();
  const Model loaded = Model::load(model().string(), options_);
  Session first(loaded), second(loaded);
  first.prepare({{"x", {3, 96}}, {"at", {2}}});
  const std::size_t weights = first.stats().weights_bytes;
  second.prepare({{"x", {7, 96}}, {"at", {2}}});  // a plan of its own: the same packed weights
  EXPECT_EQ(second.stats().weights_bytes, weights);
  const auto& values = loaded.impl()->optimized->values;
  EXPECT_TRUE(std::none_of(values.begin(), values.end(), [](const Value& value) {
    return value.constant && value.constant->byte_size() > Constant::kSmallBytes && value.constant->is_kept();
  }));
}

/// A definition that is not listed could not be read from a file again. Operators of a program are not written to one.
TEST(Definitions, AreAllFoundByTheirNames) {
  const std::regex pattern(R"re(Definition k\w+\{\s*"(\w+)")re");
  std::size_t count = 0;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(COLONNADE_SOURCE_DIR) / "src/reference/onnx")) {
    if (entry.path().extension() != ".cpp") continue;
    const std::string text = contents(entry.path());
    for (std::sregex_iterator match(text.begin(), text.end(), pattern), end; match != end; ++match, ++count) {
      const std::string name = (*match)[1];
      if (name == "Custom") continue;
      const Definition* found = reference::find_definition(name);
      ASSERT_NE(found, nullptr) << name;
      EXPECT_EQ(found->name, name);
    }
  }
  EXPECT_GT(count, 40u);
}

}  // namespace
}  // namespace colonnade
