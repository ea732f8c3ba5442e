// SPDX-License-Identifier: Apache-2.0
// ai.onnx.ml operators that look things up: LabelEncoder, CategoryMapper, OneHotEncoder, and those of maps:
// DictVectorizer, CastMap, ZipMap.
#include <algorithm>
#include <bit>
#include <cmath>
#include <unordered_map>

#include "base/lists.hpp"
#include "base/printable.hpp"
#include "base/tensor_memory.hpp"
#include "graph/shape_rules.hpp"
#include "reference/call.hpp"
#include "reference/elements.hpp"
#include "reference/onnx/definitions.hpp"

namespace colonnade::reference {
namespace {

using Strings = std::vector<std::string>;

constexpr std::int64_t kMissing = -1;

/// Positions by key: strings, or numbers. Of equal keys the last one counts.
class Positions {
 public:
  explicit Positions(const Tensor& keys) : kind_(kind_of(keys.dtype())) {
    std::int64_t position = 0;
    if (kind_ == Kind::text) {
      for (const std::string& key : keys.strings()) texts_[key] = position++;
    } else {
      for (const std::uint64_t key : numbers_of(keys, kind_)) numbers_[key] = position++;
      fill_dense();
    }
  }

  bool fits(DType dtype) const { return dtype == DType::undefined || kind_of(dtype) == kind_; }

  /// Where each element is; kMissing where it is not.
  Ints find(const Tensor& x) const {
    Ints found;
    found.reserve(static_cast<std::size_t>(x.size()));
    const auto add = [&](const auto& keys, const auto& key) {
      const auto position = keys.find(key);
      found.push_back(position == keys.end() ? kMissing : position->second);
    };
    if (kind_ == Kind::text) {
      for (const std::string& key : x.strings()) add(texts_, key);
    } else if (!dense_.empty() && x.dtype() == DType::i64) {
      for (const std::int64_t key : x.values<std::int64_t>()) {
        const std::uint64_t place = static_cast<std::uint64_t>(key) - first_;
        found.push_back(place < dense_.size() ? dense_[place] : kMissing);
      }
    } else {
      for (const std::uint64_t key : numbers_of(x, kind_)) add(numbers_, key);
    }
    return found;
  }

 private:
  enum class Kind : std::uint8_t { text, real, whole };

  static Kind kind_of(DType dtype) {
    return dtype == DType::string ? Kind::text : (is_real(dtype) ? Kind::real : Kind::whole);
  }

  /// Equal numbers have equal bits: one zero, one NaN.
  static std::vector<std::uint64_t> numbers_of(const Tensor& tensor, Kind kind) {
    if (kind == Kind::whole) return load_all<std::uint64_t>(tensor);
    std::vector<std::uint64_t> bits;
    for (const double value : load_all<double>(tensor)) {
      const double plain = std::isnan(value) ? std::nan("") : value + 0.0;
      bits.push_back(std::bit_cast<std::uint64_t>(plain));
    }
    return bits;
  }

  /// Whole numbers close to each other, as codes and classes are, stand in a table.
  void fill_dense() {
    constexpr std::uint64_t kApart = 4;
    if (kind_ != Kind::whole || numbers_.empty()) return;
    const auto signed_less = [](const auto& a, const auto& b) {
      return static_cast<std::int64_t>(a.first) < static_cast<std::int64_t>(b.first);
    };
    const auto [least, most] = std::ranges::minmax_element(numbers_, signed_less);
    const std::uint64_t span = most->first - least->first;
    if (span / kApart >= numbers_.size()) return;
    first_ = least->first;
    dense_.assign(span + 1, kMissing);
    for (const auto& [key, position] : numbers_) dense_[key - first_] = position;
  }

  Kind kind_;
  std::unordered_map<std::string, std::int64_t> texts_;
  std::unordered_map<std::uint64_t, std::int64_t> numbers_;
  Ints dense_;  ///< of the keys from `first_` on, where that is no large table; else empty
  std::uint64_t first_ = 0;
};

Tensor strings_tensor(Strings strings) {
  Tensor tensor(DType::string, {static_cast<std::int64_t>(strings.size())});
  tensor.strings() = std::move(strings);
  return tensor;
}

/// The attribute as a vector; nothing where it is not given. Lists are of int64, float and string.
std::optional<Tensor> list_of(const Opaque& op, std::string_view name) {
  const auto found = op.attributes.find(name);
  if (found == op.attributes.end()) return std::nullopt;
  if (name.ends_with("_tensor")) {
    const auto tensor = op.tensor(name);
    if (tensor->shape().size() > 1) fail(ErrorCode::invalid_model, "attribute '{}': expected a vector", name);
    return Tensor(*tensor).reshaped({tensor->size()});
  }
  if (name.ends_with("strings")) return strings_tensor(op.strings_or(name));
  if (name.ends_with("int64s")) return ints_tensor(op.ints_or(name));
  const std::vector<float> values = op.floats_or(name);
  return floats_tensor(values, {static_cast<std::int64_t>(values.size())});
}

/// The one list that is given of those that start with the prefix.
Tensor only_list(const Opaque& op, const std::string& prefix) {
  std::optional<Tensor> only;
  for (const auto* kind : {"int64s", "floats", "strings", "tensor"}) {
    auto list = list_of(op, prefix + kind);
    if (!list) continue;
    if (only) fail(ErrorCode::invalid_model, "expected one attribute '{}*', found two", prefix);
    only = std::move(list);
  }
  if (!only) fail(ErrorCode::invalid_model, "expected an attribute '{}*'", prefix);
  return *std::move(only);
}

// LabelEncoder

struct Encoding {
  Positions keys;
  Tensor values;
  Tensor fallback;  // one element of the values' type
};

Tensor fallback_of(const Opaque& op, DType dtype) {
  if (const auto tensor = op.tensor("default_tensor")) {
    if (tensor->dtype() != dtype || tensor->size() != 1) {
      fail(ErrorCode::invalid_model, "attribute 'default_tensor': expected one {}, found {} of {}", name_of(dtype),
           tensor->size(), name_of(tensor->dtype()));
    }
    return *tensor;
  }
  if (dtype == DType::string) return strings_tensor({op.string_or("default_string", "_Unused")});
  if (!is_real(dtype)) return tensor_of(dtype, {1}, Ints{op.int_or("default_int64", -1)});
  return tensor_of(dtype, {1}, std::vector<double>{static_cast<double>(op.float_or("default_float", -0.0f))});
}

std::shared_ptr<const void> prepare_encoder(const Opaque& op) {
  const Tensor keys = only_list(op, "keys_");
  Tensor values = only_list(op, "values_");
  if (keys.size() != values.size()) {
    fail(ErrorCode::invalid_model, "expected as many values as keys, found {} and {}", values.size(), keys.size());
  }
  Tensor fallback = fallback_of(op, values.dtype());
  return std::make_shared<Encoding>(Encoding{Positions(keys), std::move(values), std::move(fallback)});
}

Types infer_encoder(const Opaque& op, const RuleContext& ctx) {
  ctx.inputs(1, 1);
  const auto& encoding = op.prepared_as<Encoding>();
  if (!encoding.keys.fits(ctx.dtype(0))) ctx.fail("its keys are of another type than {}", name_of(ctx.dtype(0)));
  return {{encoding.values.dtype(), ctx.shape(0)}};
}

Data evaluate_encoder(const Opaque& op, const Call& call) {
  const auto& encoding = op.prepared_as<Encoding>();
  const Ints found = encoding.keys.find(call.input(0));
  Tensor y(encoding.values.dtype(), call.shape());
  visit_storage(y.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* values = elements<T>(encoding.values);
    const T* fallback = elements<T>(encoding.fallback);
    std::transform(found.begin(), found.end(), elements<T>(y),
                   [&](std::int64_t at) { return at == kMissing ? *fallback : values[at]; });
  });
  return {std::move(y)};
}

// OneHotEncoder

struct Categories {
  Positions positions;
  std::int64_t count = 0;
  bool of_strings = false, passes_unknown = true;
};

std::shared_ptr<const void> prepare_categories(const Opaque& op) {
  const Tensor keys = only_list(op, "cats_");
  const bool strings = keys.dtype() == DType::string;
  return std::make_shared<Categories>(Categories{Positions(keys), keys.size(), strings, op.int_or("zeros", 1) != 0});
}

Types infer_one_hot(const Opaque& op, const RuleContext& ctx) {
  ctx.inputs(1, 1);
  const auto& categories = op.prepared_as<Categories>();
  const DType dtype = ctx.dtype(0);
  if (dtype != DType::undefined && (dtype == DType::string) != categories.of_strings) {
    ctx.fail("its categories are of another type than {}", name_of(dtype));
  }
  ValueType type{DType::f32, ctx.shape(0)};
  if (type.shape) type.shape->push_back(categories.count);
  return {type};
}

Data evaluate_one_hot(const Opaque& op, const Call& call) {
  const auto& categories = op.prepared_as<Categories>();
  const Tensor& x = call.input(0);
  const bool whole = x.dtype() == DType::string || x.dtype() == DType::i64;
  const Ints found = categories.positions.find(whole ? x : tensor_of(DType::i64, x.shape(), load_all<std::int64_t>(x)));
  Tensor y(DType::f32, call.shape());
  float* row = y.values<float>().data();
  for (std::size_t i = 0; i < found.size(); ++i, row += categories.count) {
    if (found[i] != kMissing) row[found[i]] = 1;
    if (found[i] == kMissing && !categories.passes_unknown) call.invalid("element {} is of no known category", i);
  }
  return {std::move(y)};
}

// DictVectorizer, CastMap, ZipMap

/// The input is a map; what it holds.
const Datum& map_input(const Call& call) {
  const Datum& datum = call.datum(0);
  if (datum.kind() != Datum::Kind::map) call.invalid("expected a map, found another kind of input");
  if (datum.keys().size() != datum.tensor().size()) call.invalid("expected one number or string a key");
  return datum;
}

void check_map(const RuleContext& ctx) {
  ctx.inputs(1, 1);
  const ValueType& type = ctx.type(0);
  const bool is_map = type.containers.size() == 1 &&
                      (type.containers[0] == Container::map_of_int64 || type.containers[0] == Container::map_of_string);
  if (!is_map) ctx.fail("expected a map, found {}", to_text(type));
}

struct Vocabulary {
  Positions positions;
  std::int64_t count = 0;
};

std::shared_ptr<const void> prepare_vocabulary(const Opaque& op) {
  const bool strings = op.has("string_vocabulary");
  if (strings == op.has("int64_vocabulary")) fail(ErrorCode::invalid_model, "expected one vocabulary");
  const Tensor keys =
      strings ? strings_tensor(op.strings_or("string_vocabulary")) : ints_tensor(op.ints_or("int64_vocabulary"));
  return std::make_shared<Vocabulary>(Vocabulary{Positions(keys), keys.size()});
}

Types infer_vectorizer(const Opaque& op, const RuleContext& ctx) {
  check_map(ctx);
  return {{ctx.dtype(0), Shape{1, op.prepared_as<Vocabulary>().count}}};
}

Data evaluate_vectorizer(const Opaque& op, const Call& call) {
  const auto& vocabulary = op.prepared_as<Vocabulary>();
  const Datum& map = map_input(call);
  if (!vocabulary.positions.fits(map.keys().dtype())) call.invalid("the vocabulary is of another type than the keys");
  const Ints found = vocabulary.positions.find(map.keys());
  Tensor y(map.tensor().dtype(), {1, vocabulary.count});
  visit_storage(y.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* values = elements<T>(map.tensor());
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (found[i] != kMissing) elements<T>(y)[found[i]] = values[i];
    }
  });
  return {std::move(y)};
}

struct MapCast {
  DType to = DType::f32;
  std::int64_t width = -1;  ///< -1: as many as the map holds
};

MapCast map_cast(const Opaque& op) {
  const std::string to = op.string_or("cast_to", "TO_FLOAT"), form = op.string_or("map_form", "DENSE");
  if (to != "TO_FLOAT" && to != "TO_STRING" && to != "TO_INT64") {
    fail(ErrorCode::invalid_model, "attribute 'cast_to': '{}' does not exist", printable(to));
  }
  if (form != "DENSE" && form != "SPARSE") {
    fail(ErrorCode::invalid_model, "attribute 'map_form': '{}' does not exist", printable(form));
  }
  const std::int64_t width = form == "DENSE" ? -1 : op.int_or("max_map", 1);
  if (form == "SPARSE" && (width < 1 || width > kMaxDim)) {
    fail(ErrorCode::invalid_model, "attribute 'max_map': {} is out of range", width);
  }
  return {to == "TO_FLOAT" ? DType::f32 : (to == "TO_STRING" ? DType::string : DType::i64), width};
}

Types infer_cast_map(const Opaque& op, const RuleContext& ctx) {
  check_map(ctx);
  if (ctx.type(0).containers[0] != Container::map_of_int64) ctx.fail("expected integer keys");
  const MapCast cast = map_cast(op);
  return {{cast.to, Shape{1, cast.width}}};
}

/// The map's values in the order of their keys, by the casts of strings and numbers.
Tensor cast_values(const Tensor& values, DType to, const Call& call) {
  if (values.dtype() == to) return values;
  if (to == DType::string) {
    Strings texts;
    for (const double value : load_all<double>(values)) {
      texts.push_back(number_text(value, values.dtype()));
    }
    return strings_tensor(std::move(texts));
  }
  std::vector<double> numbers;
  if (values.dtype() != DType::string) numbers = load_all<double>(values);
  for (const std::string& text : values.strings()) {
    numbers.push_back(0);
    if (!parse_number(text, numbers.back())) call.invalid("'{}' is no number", printable(text));
  }
  return tensor_of(to, {values.size()}, numbers);
}

Data evaluate_cast_map(const Opaque& op, const Call& call) {
  const MapCast cast = map_cast(op);
  const Datum& map = map_input(call);
  const Ints keys = load_all<std::int64_t>(map.keys());
  const Tensor values = cast_values(map.tensor(), cast.to, call);
  std::vector<std::pair<std::int64_t, std::int64_t>> order;
  for (std::size_t i = 0; i < keys.size(); ++i) order.emplace_back(keys[i], static_cast<std::int64_t>(i));
  std::sort(order.begin(), order.end());
  const bool sparse = cast.width >= 0;
  Tensor y(cast.to, {1, sparse ? cast.width : values.size()});
  visit_storage(cast.to, [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::int64_t next = 0;
    for (const auto& [key, from] : order) {
      const std::int64_t place = sparse ? key : next++;
      if (place < 0 || place >= y.size()) call.invalid("key {} is out of range [0,{})", key, y.size());
      elements<T>(y)[place] = elements<T>(values)[from];
    }
  });
  return {std::move(y)};
}

std::shared_ptr<const void> prepare_zip(const Opaque& op) {
  return std::make_shared<Tensor>(only_list(op, "classlabels_"));
}

Types infer_zip(const Opaque& op, const RuleContext& ctx) {
  ctx.inputs(1, 1);
  ctx.dtype_is(0, DType::f32);
  const auto& keys = op.prepared_as<Tensor>();
  if (ctx.shape(0)) {
    const Shape& x = *ctx.shape(0);
    if (x.size() != 1 && x.size() != 2)
      ctx.fail("expected [classes] or [samples,classes], found {}", to_text(ctx.type(0)));
    ctx.dim(0, x.size() - 1, keys.size(), "the class labels");
  }
  const Container map = keys.dtype() == DType::string ? Container::map_of_string : Container::map_of_int64;
  return {{DType::f32, std::nullopt, {Container::sequence, map}}};
}

Data evaluate_zip(const Opaque& op, const Call& call) {
  const auto keys = std::static_pointer_cast<const Tensor>(op.prepared);
  const Tensor& x = call.input(0);
  const std::int64_t samples = x.shape().size() == 1 ? 1 : x.shape()[0], count = keys->size();
  std::vector<Datum> maps;
  maps.reserve(static_cast<std::size_t>(samples));
  const float* from = x.values<float>().data();
  for (std::int64_t sample = 0; sample < samples; ++sample, from += count) {
    Tensor values = TensorMemory::unset(DType::f32, {count});
    std::copy_n(from, count, values.values<float>().data());
    maps.push_back(Datum::map(keys, std::move(values)));
  }
  return {Datum::sequence(std::move(maps), DType::f32)};
}

}  // namespace

constexpr Definition kLabelEncoder{"LabelEncoder", infer_encoder, evaluate_encoder, false, prepare_encoder};
constexpr Definition kOneHotEncoder{"OneHotEncoder", infer_one_hot, evaluate_one_hot, false, prepare_categories};
constexpr Definition kDictVectorizer{"DictVectorizer", infer_vectorizer, evaluate_vectorizer, false,
                                     prepare_vocabulary};
constexpr Definition kCastMap{"CastMap", infer_cast_map, evaluate_cast_map};
constexpr Definition kZipMap{"ZipMap", infer_zip, evaluate_zip, false, prepare_zip};

}  // namespace colonnade::reference
