// SPDX-License-Identifier: Apache-2.0
// Values as bytes, field by field: graphs, plans and what is left of them. One visitor for all types. Large constants
// are numbers of a table that the caller keeps; choices of families are left out of plans.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "api/split.hpp"
#include "base/fields.hpp"
#include "graph/graph.hpp"
#include "plan/plan.hpp"

namespace colonnade {

/// Constants in the order in which they were first met.
class ConstantTable {
 public:
  std::uint32_t number_of(const std::shared_ptr<const Constant>& constant);
  /// Nothing where the table does not hold it.
  std::optional<std::uint32_t> find(const Constant& constant) const;
  const std::vector<std::shared_ptr<const Constant>>& all() const { return all_; }
  void add(std::shared_ptr<const Constant> constant) { number_of(constant); }

 private:
  std::vector<std::shared_ptr<const Constant>> all_;
  std::unordered_map<const Constant*, std::uint32_t> numbers_;
};

namespace archive {

template <class T, template <class...> class Template>
inline constexpr bool is_a = false;
template <template <class...> class Template, class... Args>
inline constexpr bool is_a<Template<Args...>, Template> = true;
template <class T>
inline constexpr bool is_array = false;
template <class T, std::size_t N>
inline constexpr bool is_array<std::array<T, N>> = true;
template <class T>
inline constexpr bool is_number = (std::is_arithmetic_v<T> || std::is_enum_v<T>)&&!std::is_same_v<T, bool>;

}  // namespace archive

class ArchiveWriter {
 public:
  explicit ArchiveWriter(ConstantTable& constants) : constants_(constants) {}

  std::string take() { return std::move(bytes_); }

  template <class T>
  void write(const T& value) {
    if constexpr (std::is_same_v<T, std::vector<Choice>>) {
      // follow from the graph
    } else if constexpr (archive::is_number<T>) {
      append(&value, sizeof value);
    } else if constexpr (std::is_same_v<T, bool>) {
      bytes_.push_back(value ? 1 : 0);
    } else if constexpr (std::is_same_v<T, std::string>) {
      write_size(value.size());
      append(value.data(), value.size());
    } else if constexpr (archive::is_a<T, std::vector>) {
      write_vector(value);
    } else if constexpr (archive::is_array<T>) {
      for (const auto& element : value) write(element);
    } else if constexpr (archive::is_a<T, std::map>) {
      write_size(value.size());
      for (const auto& [key, element] : value) {
        write(key);
        write(element);
      }
    } else if constexpr (archive::is_a<T, std::pair>) {
      write(value.first);
      write(value.second);
    } else if constexpr (std::is_same_v<T, Operator>) {
      write(static_cast<const AnyOperator&>(value));
    } else if constexpr (archive::is_a<T, std::variant>) {
      bytes_.push_back(static_cast<char>(value.index()));
      std::visit([this](const auto& alternative) { this->write(alternative); }, value);
    } else if constexpr (std::is_same_v<T, std::shared_ptr<const Constant>>) {
      write(value == nullptr);
      if (value) write(constants_.number_of(value));
    } else if constexpr (archive::is_a<T, std::optional> || archive::is_a<T, std::shared_ptr> ||
                         archive::is_a<T, std::unique_ptr>) {
      write(!value);
      if (value) write(*value);
    } else {
      write_struct(value);
    }
  }

 private:
  void write_size(std::size_t size) { write(static_cast<std::uint64_t>(size)); }

  void append(const void* data, std::size_t bytes) {
    if (bytes > 0) bytes_.append(static_cast<const char*>(data), bytes);
  }

  template <class T>
  void write_vector(const std::vector<T>& values) {
    write_size(values.size());
    if constexpr (archive::is_number<T>) {
      append(values.data(), values.size() * sizeof(T));
    } else {
      for (const T& value : values) write(value);
    }
  }

  template <class T>
  void write_struct(const T& value) {
    with_fields(value, [this](const auto&... fields) { (this->write(fields), ...); });
  }
  void write_struct(const Tensor& tensor);
  void write_struct(const Opaque& op);
  void write_struct(const kernels::Features& features);

  ConstantTable& constants_;
  std::string bytes_;
};

/// Reads what a ArchiveWriter wrote. Whatever else the bytes are is refused by Error{io}; what is allocated stays in
/// proportion to them.
class ArchiveReader {
 public:
  ArchiveReader(std::string_view bytes, const ConstantTable& constants) : bytes_(bytes), constants_(constants) {}

  template <class T>
  T read() {
    T value{};
    read_into(value);
    return value;
  }
  /// Throws unless all bytes were read.
  void end() const;

 private:
  static constexpr int kDeepest = 200;  ///< structs within each other: bodies nest

  template <class T>
  void read_into(T& value) {
    if constexpr (std::is_same_v<T, std::vector<Choice>>) {
      // whoever has the graph makes them
    } else if constexpr (archive::is_number<T>) {
      copy(&value, sizeof value);
    } else if constexpr (std::is_same_v<T, bool>) {
      value = read_bool();
    } else if constexpr (std::is_same_v<T, std::string>) {
      value.resize(read_size(1));
      copy(value.data(), value.size());
    } else if constexpr (archive::is_a<T, std::vector>) {
      read_vector(value);
    } else if constexpr (archive::is_array<T>) {
      for (auto& element : value) read_into(element);
    } else if constexpr (archive::is_a<T, std::map>) {
      for (std::size_t count = read_size(1); count > 0; --count) {
        auto key = read<typename T::key_type>();
        value.emplace(std::move(key), read<typename T::mapped_type>());
      }
    } else if constexpr (archive::is_a<T, std::pair>) {
      read_into(value.first);
      read_into(value.second);
    } else if constexpr (std::is_same_v<T, Operator>) {
      read_into(static_cast<AnyOperator&>(value));
    } else if constexpr (archive::is_a<T, std::variant>) {
      read_variant(value, std::make_index_sequence<std::variant_size_v<T>>());
    } else if constexpr (std::is_same_v<T, std::shared_ptr<const Constant>>) {
      if (!read_bool()) value = constant(read<std::uint32_t>());
    } else if constexpr (archive::is_a<T, std::optional>) {
      if (!read_bool()) read_into(value.emplace());
    } else if constexpr (archive::is_a<T, std::shared_ptr> || archive::is_a<T, std::unique_ptr>) {
      if (!read_bool()) value = T(new auto(read<std::remove_const_t<typename T::element_type>>()));
    } else {
      if (++depth_ > kDeepest) refuse();
      read_struct(value);
      --depth_;
    }
  }

  [[noreturn]] static void refuse();
  /// A count of elements that take at least `bytes` each.
  std::size_t read_size(std::size_t bytes);
  bool read_bool();
  void copy(void* into, std::size_t bytes);
  std::shared_ptr<const Constant> constant(std::uint32_t number) const;

  template <class T>
  void read_vector(std::vector<T>& values) {
    if constexpr (archive::is_number<T>) {
      values.resize(read_size(sizeof(T)));
      copy(values.data(), values.size() * sizeof(T));
    } else {
      for (std::size_t count = read_size(1); count > 0; --count) values.push_back(read<T>());
    }
  }

  template <class Variant, std::size_t... I>
  void read_variant(Variant& value, std::index_sequence<I...>) {
    const auto index = static_cast<std::size_t>(read<std::uint8_t>());
    const bool known = ((index == I && (read_into(value.template emplace<I>()), true)) || ...);
    if (!known) refuse();
  }

  template <class T>
  void read_struct(T& value) {
    with_fields(value, [this](auto&... fields) { (this->read_into(fields), ...); });
  }
  void read_struct(Tensor& tensor);
  void read_struct(Opaque& op);

  std::string_view bytes_;
  const ConstantTable& constants_;
  int depth_ = 0;
};

// Made once: the code for all operators is large.
extern template void ArchiveWriter::write(const Graph&);
extern template void ArchiveWriter::write(const std::unique_ptr<const Rest>&);
extern template void ArchiveWriter::write(const Plan&);
extern template Graph ArchiveReader::read<Graph>();
extern template std::unique_ptr<const Rest> ArchiveReader::read<std::unique_ptr<const Rest>>();
extern template Plan ArchiveReader::read<Plan>();

}  // namespace colonnade
