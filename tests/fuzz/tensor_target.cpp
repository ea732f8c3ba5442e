// SPDX-License-Identifier: Apache-2.0
// Mutated tensor files: ONNX's TensorProto, NumPy's npy and npz. What is read survives being written and read again.
#include <cstring>
#include <memory>

#include "frontends/onnx/proto.hpp"
#include "fuzz/fuzz.hpp"
#include "fuzz/mutate.hpp"
#include "npy.hpp"

namespace colonnade::fuzz {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

Tensor random_tensor(Random& random) {
  static constexpr DType kTypes[] = {DType::f32, DType::f64, DType::f16,     DType::i8,    DType::i32,
                                     DType::i64, DType::u8,  DType::boolean, DType::string};
  Shape shape;
  for (std::size_t rank = random.below(4); rank > 0; --rank)
    shape.push_back(static_cast<std::int64_t>(random.below(5)));
  Tensor tensor(random.one_of(kTypes), shape);
  auto* bytes = static_cast<unsigned char*>(tensor.data());
  for (std::size_t i = 0; i < tensor.byte_size(); ++i) bytes[i] = static_cast<unsigned char>(random.below(2));
  for (std::string& text : tensor.strings()) text = std::string(random.below(6), 'a');
  return tensor;
}

/// A well-formed file of one of the three formats.
std::string file(Random& random) {
  const Tensor tensor = random_tensor(random), other = random_tensor(random);
  switch (random.below(3)) {
    case 0: return tensor.to_onnx("t");
    case 1: return cli::format_npy(tensor);
    default: return cli::format_npz(std::vector<cli::TensorReference>{{"a", &tensor}, {"b", &other}});
  }
}

bool equal(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() && a.strings() == b.strings() &&
         (a.byte_size() == 0 || std::memcmp(a.data(), b.data(), a.byte_size()) == 0);
}

/// Runs a parser and what else `use` does with its result.
template <class Parse, class Use>
void parse_with(Parse&& parse, Use&& use) {
  try {
    use(parse());
  } catch (const Error& error) {
    check_refusal(error);
  }
}

void check_npy(const Tensor& tensor) {
  const std::string again = cli::format_npy(tensor);
  const Tensor read = cli::parse_npy(bytes_of(again), "again");
  if (tensor.dtype() != DType::string && !equal(read, tensor)) throw Failure("another tensor after npy");
}

void check(std::string_view bytes) {
  parse_with([&] { return Tensor::from_onnx(bytes_of(bytes)); },
             [](const Tensor& tensor) {
               const std::string again = tensor.to_onnx("t");
               if (!equal(Tensor::from_onnx(bytes_of(again)), tensor)) throw Failure("another tensor after ONNX");
             });
  parse_with([&] { return cli::parse_npy(bytes_of(bytes), "file"); }, check_npy);
  parse_with([&] { return cli::parse_npz(bytes_of(bytes), "file"); },
             [](const std::vector<cli::NamedTensor>& tensors) {
               for (const auto& each : tensors) check_npy(each.tensor);
             });
}

std::string mutated(std::string bytes, const std::string& donor, Random& random) {
  onnx::TensorProto proto, other;
  if (random.one_in(2) || !proto.ParseFromString(bytes)) return damage(std::move(bytes), donor, random);
  if (!other.ParseFromString(donor)) other = proto;
  for (std::size_t count = 1 + random.below(3); count > 0; --count) mutate(proto, other, {}, random);
  return proto.SerializeAsString();
}

}  // namespace

Target tensor_target(Corpus corpus) {
  const auto files = std::make_shared<const std::vector<std::string>>(std::move(corpus.tensors));
  const auto any = [files](Random& random) {
    return files->empty() || random.one_in(2) ? file(random) : random.one_of(*files);
  };
  return {"tensor",
          [any](Random& random) {
            std::string bytes = any(random);
            return mutated(std::move(bytes), any(random), random);
          },
          check};
}

}  // namespace colonnade::fuzz
