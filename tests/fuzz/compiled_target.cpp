// SPDX-License-Identifier: Apache-2.0
// Damaged compiled files. As files: whatever is in them, the model answers as it does without. As archives, beyond the
// hashes that would notice: what is read is refused or is some value.
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>

#include "api/impl.hpp"
#include "fuzz/fuzz.hpp"
#include "onnx/builder.hpp"
#include "support/folder.hpp"

namespace colonnade::fuzz {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostModels = 40;
constexpr std::size_t kMostFileBytes = std::size_t{1} << 20;
constexpr std::int64_t kMostArenaBytes = std::int64_t{1} << 20;
constexpr double kMostFlop = 1e7;
constexpr char kAsFile = 0, kAsArchive = 1;

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

onnx::TensorProto weights(const std::string& name, const Shape& shape) {
  onnx::TensorProto tensor;
  tensor.set_name(name);
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  for (const std::int64_t dim : shape) tensor.add_dims(dim);
  for (std::int64_t i = 0; i < element_count(shape); ++i) tensor.add_float_data(static_cast<float>(i % 31) * 0.1f);
  return tensor;
}

/// Large weights, packed and as they are: convolutions, products, a table.
std::string network() {
  onnx_import::testing::ModelBuilder model;
  model.input("x", {1, 8, 12, 12}).input("at", {3}, onnx::TensorProto::INT64);
  model.constant(weights("k", {64, 8, 3, 3})).constant(weights("w", {64, 80})).constant(weights("table", {100, 80}));
  model.node("Conv", {"x", "k"}, {"c"}).node("Relu", {"c"}, {"r"}).node("GlobalAveragePool", {"r"}, {"p"});
  model.node("Flatten", {"p"}, {"f"}).node("MatMul", {"f", "w"}, {"y"}).node("Gather", {"table", "at"}, {"z"});
  return model.output("y").output("z").bytes();
}

/// A body, an opaque operator, a shape that depends on data.
std::string control_flow() {
  using onnx_import::testing::ModelBuilder;
  ModelBuilder body;
  body.input("i", {}, onnx::TensorProto::INT64).input("go", {}, onnx::TensorProto::BOOL).input("s", {70, 70});
  body.node("Identity", {"go"}, {"still"}).node("MatMul", {"s", "w"}, {"t"});
  body.output("still", onnx::TensorProto::BOOL).output("t");
  onnx::AttributeProto attribute;
  attribute.set_name("body");
  attribute.set_type(onnx::AttributeProto::GRAPH);
  *attribute.mutable_g() = body.proto.graph();
  ModelBuilder model;
  model.input("x", {70, 70}).input("trips", {}, onnx::TensorProto::INT64).constant(weights("w", {70, 70}));
  model.node("Loop", {"trips", "", "x"}, {"l"}, {attribute}).node("NonZero", {"l"}, {"n"}).node("Det", {"x"}, {"d"});
  return model.output("l").output("n", onnx::TensorProto::INT64).output("d").bytes();
}

struct Sample {
  std::string model;
  std::string file;     ///< compiled
  std::string archive;  ///< of it
  std::vector<Tensor> inputs, outputs;
};

Options options_with(const std::string& compiled) {
  Options options;
  options.threads = 1;
  options.compiled = compiled;
  return options;
}

Model load(const std::string& bytes, const std::string& compiled) {
  return Model::from_bytes(std::as_bytes(std::span(bytes)), options_with(compiled));
}

std::vector<Tensor> run(const Model& model, const std::vector<Tensor>& inputs) {
  const std::vector<TensorView> views(inputs.begin(), inputs.end());
  return Session(model).run(views);
}

/// Models of ours and small ones of the corpus that run on zeros, with the files made of them.
class Samples {
 public:
  explicit Samples(const Corpus& corpus) {
    add(network());
    add(control_flow());
    if (samples_.size() != 2) throw std::logic_error("a model cannot be compiled");
    for (const std::string& bytes : corpus.models) {
      if (samples_.size() < kMostModels) add(bytes);
    }
  }

  /// The first byte says what the case is, the second one the model.
  std::string make(Random& random) const {
    const std::size_t at = random.below(samples_.size());
    const Sample &sample = samples_[at], &other = samples_[random.below(samples_.size())];
    const bool as_file = random.one_in(3);
    std::string bytes = as_file ? sample.file : sample.archive;
    for (std::size_t count = 1 + random.below(3); count > 0; --count)
      bytes = damage(std::move(bytes), as_file ? other.file : other.archive, random);
    return std::string{as_file ? kAsFile : kAsArchive, static_cast<char>(at)} + bytes;
  }

  void check(std::string_view bytes) const {
    if (bytes.size() < 2) return;
    const Sample& sample = samples_[static_cast<unsigned char>(bytes[1]) % samples_.size()];
    if (bytes[0] == kAsFile) return check_file(sample, bytes.substr(2));
    try {
      read_all(bytes.substr(2));
    } catch (const Error& error) {
      check_refusal(error);
    }
  }

 private:
  void add(const std::string& bytes) {
    Sample sample;
    sample.model = bytes;
    const std::string path = folder_.file("sample");
    fs::remove(path);
    try {
      const Model model = load(bytes, path);
      for (const Shape& shape : model.resolve_shapes())
        sample.inputs.emplace_back(model.inputs()[sample.inputs.size()].dtype, shape);
      const auto prepared = model.impl()->prepare(model.resolve_shapes());
      if (prepared->plan.flop > kMostFlop || prepared->plan.arena_bytes > kMostArenaBytes) return;
      sample.outputs = run(model, sample.inputs);
      if (!equal(run(model, sample.inputs), sample.outputs)) return;  // random numbers
    } catch (const Error&) {
      return;
    }
    if (!fs::exists(path) || fs::file_size(path) > kMostFileBytes) return;
    sample.file = contents(path);
    const onnx_import::MemoryBytes file(std::as_bytes(std::span(sample.file)));
    sample.archive = read_archive(file);
    samples_.push_back(std::move(sample));
  }

  static bool equal(const std::vector<Tensor>& found, const std::vector<Tensor>& expected) {
    return std::equal(found.begin(), found.end(), expected.begin(), expected.end(),
                      [](const Tensor& a, const Tensor& b) {
                        return a.dtype() == b.dtype() && a.shape() == b.shape() && a.strings() == b.strings() &&
                               (a.byte_size() == 0 || std::memcmp(a.data(), b.data(), a.byte_size()) == 0);
                      });
  }

  void check_file(const Sample& sample, std::string_view bytes) const {
    const std::string path = folder_.file("case" + std::to_string(::getpid()));
    std::ofstream(path, std::ios::binary) << bytes;
    const std::vector<Tensor> outputs = run(load(sample.model, path), sample.inputs);
    if (!equal(outputs, sample.outputs)) throw Failure("other outputs with a damaged compiled file");
    const std::string written = contents(path);
    if (written != bytes && written != sample.file) {  // what was good of it is kept: areas may lie in another order
      const Model again = load(sample.model, path);
      if (!again.impl()->compiled->is_loaded() || !equal(run(again, sample.inputs), sample.outputs))
        throw Failure("a compiled file that is written anew is of no use");
    }
    fs::remove(path);
  }

  /// Everything that a load may read of an archive.
  static void read_all(std::string_view archive) {
    ConstantTable constants;
    ArchiveReader reader(archive, constants);
    read_key(reader);
    const CompiledContent content = read_content(reader);
    for (const CompiledConstant& constant : content.constants) {
      static const auto kElement = std::make_shared<const Tensor>(DType::f32, Shape{});
      constants.add(std::make_shared<const Constant>(constant.elements ? constant.elements : kElement));
    }
    ArchiveReader(content.optimized, constants).read<Graph>();
    for (const CompiledPlan& plan : content.plans) {
      ArchiveReader parts(plan.bytes, constants);
      parts.read<Graph>();
      parts.read<std::unique_ptr<const Rest>>();
      parts.read<Plan>();
      parts.end();
    }
  }

  test::TemporaryFolder folder_;
  std::vector<Sample> samples_;
};

}  // namespace

Target compiled_target(const Corpus& corpus) {
  // A fixed machine instead of a look at this one for every model.
  ::setenv("HWLOC_SYNTHETIC", "numa:1 l3:1(size=33554432) l2:2(size=1048576) core:1 pu:1", 0);
  set_log_handler([](LogLevel, std::string_view) {});
  const auto samples = std::make_shared<const Samples>(corpus);
  return {"compiled", [samples](Random& random) { return samples->make(random); },
          [samples](std::string_view bytes) { samples->check(bytes); }};
}

}  // namespace colonnade::fuzz
