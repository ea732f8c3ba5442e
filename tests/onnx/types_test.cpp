// SPDX-License-Identifier: Apache-2.0
// Element types in every storage form, and operators that only move them.
#include <bit>

#include "evaluate.hpp"
#include "frontends/onnx/packing.hpp"
#include "reference/elements.hpp"

namespace colonnade::onnx_import::testing {
namespace {

constexpr DType kTypes[] = {
    DType::f32,      DType::f64,        DType::f16,    DType::bf16,       DType::i8,     DType::i16,     DType::i32,
    DType::i64,      DType::u8,         DType::u16,    DType::u32,        DType::u64,    DType::boolean, DType::string,
    DType::f8e4m3fn, DType::f8e4m3fnuz, DType::f8e5m2, DType::f8e5m2fnuz, DType::f8e8m0, DType::f4e2m1,  DType::i4,
    DType::u4,       DType::i2,         DType::u2,     DType::c64,        DType::c128,   DType::f6e2m3,  DType::f6e3m2};

/// A tensor whose elements differ as far as the type can tell them apart.
Tensor varied(DType dtype, const Shape& shape) {
  Tensor tensor(dtype, shape);
  for (std::size_t i = 0; i < tensor.strings().size(); ++i) tensor.strings()[i] = "text " + std::to_string(i);
  auto* bytes = static_cast<std::uint8_t*>(tensor.data());
  for (std::size_t i = 0; i < tensor.byte_size(); ++i) {
    const auto byte = static_cast<std::uint8_t>(7 * i + 3 + i / 256);
    bytes[i] = size_of(dtype) == 1 ? element_of_bits(dtype, byte) : static_cast<std::uint8_t>(byte & 0x3f);
  }
  return tensor;
}

bool same(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape() || a.strings() != b.strings()) return false;
  return a.byte_size() == 0 || std::memcmp(a.data(), b.data(), a.byte_size()) == 0;
}

onnx::TensorProto proto_of(const Tensor& tensor, const std::string& name) {
  onnx::TensorProto proto;
  EXPECT_TRUE(proto.ParseFromString(serialize_tensor(tensor, name)));
  return proto;
}

TEST(Types, EveryTypeHasItsOwnNumber) {
  std::set<int> numbers;
  for (const DType dtype : kTypes) {
    const int number = data_type_of(dtype);
    EXPECT_EQ(dtype_of(number, "test"), dtype);
    numbers.insert(number);
  }
  EXPECT_EQ(numbers.size(), std::size(kTypes));
  EXPECT_EQ(*numbers.begin(), 1);
  EXPECT_EQ(*numbers.rbegin(), 28);
}

TEST(Types, SerialisedTensorsParseAgain) {
  for (const DType dtype : kTypes) {
    for (const Shape& shape : {Shape{}, Shape{0, 3}, Shape{1}, Shape{2}, Shape{3}, Shape{5}, Shape{7}, Shape{11, 13}}) {
      const Tensor tensor = varied(dtype, shape);
      const std::string bytes = serialize_tensor(tensor, "t");
      EXPECT_TRUE(same(parse_tensor(as_bytes(bytes)), tensor)) << name_of(dtype) << ' ' << tensor.size();
    }
  }
}

Tensor parsed(const onnx::TensorProto& proto) {
  const std::string bytes = proto.SerializeAsString();
  return parse_tensor(as_bytes(bytes));
}

onnx::TensorProto empty_proto(DType dtype, std::int64_t count) {
  onnx::TensorProto proto;
  proto.set_name("t");
  proto.set_data_type(data_type_of(dtype));
  proto.add_dims(count);
  return proto;
}

TEST(Types, IntegerFieldsHoldPackedBytesOrOneElementEach) {
  for (const DType dtype : kTypes) {
    if (size_of(dtype) != 1 || dtype == DType::i8 || dtype == DType::boolean) continue;
    const Tensor tensor = varied(dtype, {13});
    onnx::TensorProto proto = empty_proto(dtype, 13);
    const std::string raw = proto_of(tensor, "t").raw_data();
    const bool is_packed_field = bits_of(dtype) < 6;
    const auto elements = tensor.values<std::uint8_t>();
    for (std::size_t i = 0; i < (is_packed_field ? raw.size() : elements.size()); ++i) {
      proto.add_int32_data(is_packed_field ? static_cast<std::uint8_t>(raw[i]) : elements[i]);
    }
    EXPECT_TRUE(same(parsed(proto), tensor)) << name_of(dtype);
    proto.add_int32_data(0);
    EXPECT_THROW(parsed(proto), Error) << name_of(dtype);
    proto.mutable_int32_data()->Truncate(proto.int32_data_size() - 2);
    EXPECT_THROW(parsed(proto), Error) << name_of(dtype);
  }
}

TEST(Types, ComplexNumbersLieInFloatsAndDoubles) {
  const Tensor narrow = varied(DType::c64, {3}), wide = varied(DType::c128, {3});
  onnx::TensorProto floats_proto = empty_proto(DType::c64, 3), doubles_proto = empty_proto(DType::c128, 3);
  for (std::size_t i = 0; i < 6; ++i) {
    floats_proto.add_float_data(static_cast<const float*>(narrow.data())[i]);
    doubles_proto.add_double_data(static_cast<const double*>(wide.data())[i]);
  }
  EXPECT_TRUE(same(parsed(floats_proto), narrow));
  EXPECT_TRUE(same(parsed(doubles_proto), wide));
  floats_proto.add_float_data(1);
  EXPECT_THROW(parsed(floats_proto), Error);
}

TEST(Types, RawDataOfAnotherLengthIsRefused) {
  for (const DType dtype : kTypes) {
    if (size_of(dtype) == 0) continue;
    onnx::TensorProto proto = proto_of(varied(dtype, {9}), "t");
    proto.mutable_raw_data()->push_back('\0');
    EXPECT_THROW(parsed(proto), Error) << name_of(dtype);
    proto.mutable_raw_data()->resize(proto.raw_data().size() - 2);
    EXPECT_THROW(parsed(proto), Error) << name_of(dtype);
  }
}

TEST(Types, PackedElementsBeginAnywhere) {
  for (const DType dtype : {DType::u2, DType::i4, DType::f6e3m2}) {
    const Tensor tensor = varied(dtype, {41});
    const std::string raw = proto_of(tensor, "t").raw_data();
    for (std::int64_t first = 0; first < 41; ++first) {
      std::vector<std::byte> rest(static_cast<std::size_t>(41 - first));
      unpack(dtype, as_bytes(raw), first, rest);
      EXPECT_EQ(std::memcmp(rest.data(), tensor.values<std::uint8_t>().data() + first, rest.size()), 0) << first;
    }
  }
}

TEST(Types, LargePackedDataStaysInTheFile) {
  for (const DType dtype : {DType::u2, DType::i4, DType::f6e2m3, DType::f8e5m2, DType::c128}) {
    const Tensor tensor = varied(dtype, {200001});
    ModelBuilder model(25);
    model.output("y", data_type_of(dtype)).constant(proto_of(tensor, "w")).node("Identity", {"w"}, {"y"});
    TemporaryFolder folder;
    const std::string path = (folder.path() / "net.onnx").string();
    const std::string bytes = model.bytes();
    FILE* file = std::fopen(path.c_str(), "wb");
    ASSERT_EQ(std::fwrite(bytes.data(), 1, bytes.size(), file), bytes.size());
    std::fclose(file);
    const Graph graph = import_file(path);
    const auto& constant = graph.value(graph.nodes.front().inputs.front()).constant;
    ASSERT_NE(constant, nullptr);
    EXPECT_FALSE(constant->is_kept());
    EXPECT_TRUE(same(*constant->tensor(), tensor)) << name_of(dtype);
    std::vector<std::byte> some(1001 * size_of(dtype));
    constant->read(777, some);
    EXPECT_EQ(
        std::memcmp(some.data(), static_cast<const std::byte*>(tensor.data()) + 777 * size_of(dtype), some.size()), 0)
        << name_of(dtype);
  }
}

/// y = the operators applied to x, of any type.
Tensor moved(DType dtype, const Tensor& x) {
  ModelBuilder model(25);
  const int number = data_type_of(dtype);
  model.input("x", x.shape(), number).output("y", number);
  model.constant(int_tensor("order", {3}, {2, 0, 1})).constant(int_tensor("pads", {4}, {0, 1, 0, 0}));
  model.constant(int_tensor("first", {1}, {1})).constant(int_tensor("last", {1}, {4}));
  model.constant(int_tensor("shape", {2}, {4, 3}));
  model.node("Transpose", {"x"}, {"t"}, {attribute("perm", Ints{1, 0})});
  model.node("Concat", {"t", "t"}, {"c"}, {attribute("axis", 1)});
  model.node("Gather", {"t", "order"}, {"g"}, {attribute("axis", 0)});
  model.node("Reshape", {"c", "shape"}, {"r"});
  model.node("Slice", {"r", "first", "last"}, {"s"});
  model.node("Pad", {"g", "pads"}, {"g2"});
  model.node("Concat", {"s", "g2"}, {"y"}, {attribute("axis", 0)});
  const std::vector<Tensor> inputs = {x};
  return std::move(evaluate(model, inputs).front());
}

TEST(Types, MovementKeepsEveryType) {
  for (const DType dtype : kTypes) {
    const Tensor x = varied(dtype, {2, 3});
    const Tensor y = moved(dtype, x);
    ASSERT_EQ(y.dtype(), dtype);
    ASSERT_EQ(y.shape(), (Shape{6, 3}));
    // positions of x that a tensor of numbers finds in the same places; Pad fills with zeros
    const Tensor expected = moved(DType::i64, integers({2, 3}, {1, 2, 3, 4, 5, 6}));
    for (std::size_t i = 0; i < 18; ++i) {
      const auto position = static_cast<std::size_t>(expected.values<std::int64_t>()[i]);
      if (dtype == DType::string) {
        EXPECT_EQ(y.strings()[i], position == 0 ? std::string() : x.strings()[position - 1]);
        continue;
      }
      const std::size_t size = size_of(dtype);
      const std::string found(static_cast<const char*>(y.data()) + i * size, size);
      const std::string wanted = position == 0
                                     ? std::string(size, '\0')
                                     : std::string(static_cast<const char*>(x.data()) + (position - 1) * size, size);
      EXPECT_EQ(found, wanted) << name_of(dtype) << " at " << i;
    }
  }
}

Tensor cast_to(const Tensor& x, DType to, const std::vector<onnx::AttributeProto>& more = {}) {
  ModelBuilder model(25);
  model.input("x", x.shape(), data_type_of(x.dtype())).output("y", data_type_of(to));
  std::vector<onnx::AttributeProto> attributes = {attribute("to", data_type_of(to))};
  attributes.insert(attributes.end(), more.begin(), more.end());
  model.node("Cast", {"x"}, {"y"}, attributes);
  return std::move(evaluate(model, {x}).front());
}

TEST(Types, EveryByteCastsToFloatAndBack) {
  for (const DType dtype : kTypes) {
    if (size_of(dtype) != 1) continue;
    Tensor all(dtype, {256});
    for (unsigned i = 0; i < 256; ++i) all.values<std::uint8_t>()[i] = element_of_bits(dtype, i);
    for (const DType wide : {DType::f32, DType::f64}) {
      const Tensor there = cast_to(all, wide), back = cast_to(there, dtype);
      const auto numbers = reference::load_all<double>(all), found = reference::load_all<double>(back);
      for (std::size_t i = 0; i < 256; ++i) {
        if (std::isinf(numbers[i])) continue;  // saturates
        EXPECT_TRUE(numbers[i] == found[i] || (std::isnan(numbers[i]) && std::isnan(found[i]))) << name_of(dtype) << i;
      }
    }
  }
}

TEST(Types, CastRoundsOnceAndSaturatesAsAsked) {
  const Tensor x = floats({4}, {464, 465, 1e6f, -1e6f});
  const auto numbers = [](const Tensor& tensor) { return reference::load_all<double>(tensor); };
  EXPECT_EQ(numbers(cast_to(x, DType::f8e4m3fn)), (std::vector<double>{448, 448, 448, -448}));
  const auto open = numbers(cast_to(x, DType::f8e4m3fn, {attribute("saturate", 0)}));
  EXPECT_EQ(open[0], 448);
  for (std::size_t i = 1; i < 4; ++i) EXPECT_TRUE(std::isnan(open[i]));
  const Tensor powers = floats({3}, {1.5f, 1.4f, 3});
  EXPECT_EQ(numbers(cast_to(powers, DType::f8e8m0)), (std::vector<double>{2, 2, 4}));
  EXPECT_EQ(numbers(cast_to(powers, DType::f8e8m0, {attribute("round_mode", "down")})), (std::vector<double>{1, 1, 2}));
  EXPECT_EQ(numbers(cast_to(powers, DType::f8e8m0, {attribute("round_mode", "nearest")})),
            (std::vector<double>{2, 1, 4}));
  EXPECT_THROW(cast_to(powers, DType::f8e8m0, {attribute("round_mode", "sideways")}), Error);
  EXPECT_THROW(cast_to(powers, DType::c64), Error);
}

TEST(Types, StringsKeepIntegersExact) {
  Tensor texts(DType::string, {3});
  texts.strings() = {"9223372036854775807", " -42 ", "+7"};
  EXPECT_EQ(cast_to(texts, DType::i64).values<std::int64_t>()[0], 9223372036854775807);
  EXPECT_EQ(cast_to(texts, DType::i64).values<std::int64_t>()[1], -42);
  EXPECT_EQ(cast_to(texts, DType::f32).values<float>()[2], 7);
  texts.strings() = {"3.75", "INF", "-inf"};
  EXPECT_EQ(cast_to(texts, DType::i64).values<std::int64_t>()[0], 3);
  EXPECT_TRUE(std::isinf(cast_to(texts, DType::f64).values<double>()[2]));
  texts.strings() = {"", "1", "1"};
  EXPECT_THROW(cast_to(texts, DType::f32), Error);
}

Tensor bit_cast(const Tensor& x, DType to) {
  ModelBuilder model(26);
  model.input("x", x.shape(), data_type_of(x.dtype())).output("y", data_type_of(to));
  model.node("BitCast", {"x"}, {"y"}, {attribute("to", data_type_of(to))});
  return std::move(evaluate(model, {x}).front());
}

TEST(Types, BitCastKeepsTheBits) {
  for (const DType from : kTypes) {
    for (const DType to : kTypes) {
      const Tensor x = varied(from, {2, 5});
      if (bits_of(from) != bits_of(to) || bits_of(from) == 0) {
        EXPECT_THROW(bit_cast(x, to), Error) << name_of(from) << " to " << name_of(to);
      } else if (to != DType::boolean) {
        EXPECT_TRUE(same(bit_cast(bit_cast(x, to), from), x)) << name_of(from) << " to " << name_of(to);
        EXPECT_EQ(proto_of(bit_cast(x, to), "").raw_data(), proto_of(x, "").raw_data());
      }
    }
  }
}

}  // namespace
}  // namespace colonnade::onnx_import::testing
