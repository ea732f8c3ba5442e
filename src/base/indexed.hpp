// SPDX-License-Identifier: Apache-2.0
// Vectors whose elements are found by what they belong to, without a cast at the use.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace colonnade {

/// The indices 0 to count - 1, or from the last one to 0.
template <typename Index>
class Indices {
 public:
  struct Iterator {
    std::ptrdiff_t at = 0, step = 1;
    Index operator*() const { return static_cast<Index>(at); }
    Iterator& operator++() {
      at += step;
      return *this;
    }
    bool operator==(const Iterator&) const = default;
  };

  explicit Indices(std::size_t count) : end_{static_cast<std::ptrdiff_t>(count), 1} {}
  Indices reversed() const { return {{end_.at - 1, -1}, {-1, -1}}; }
  Iterator begin() const { return begin_; }
  Iterator end() const { return end_; }

 private:
  Indices(Iterator begin, Iterator end) : begin_(begin), end_(end) {}

  Iterator begin_, end_;
};

/// A vector with an index type of its own. An index of another enumeration, or an enumeration where a number is asked
/// for, does not compile.
template <typename Index, typename T>
struct Indexed {
  std::vector<T> items = {};

  static Indexed of(std::size_t count, const T& value = {}) { return {std::vector<T>(count, value)}; }

  decltype(auto) operator[](Index index) { return items[static_cast<std::size_t>(index)]; }
  decltype(auto) operator[](Index index) const { return items[static_cast<std::size_t>(index)]; }
  Indices<Index> indices() const { return Indices<Index>(items.size()); }
  Index next_index() const { return static_cast<Index>(items.size()); }  ///< that push_back gives

  bool empty() const { return items.empty(); }
  std::size_t size() const { return items.size(); }
  auto begin() { return items.begin(); }
  auto end() { return items.end(); }
  auto begin() const { return items.begin(); }
  auto end() const { return items.end(); }
  const T& front() const { return items.front(); }
  const T& back() const { return items.back(); }
  T& back() { return items.back(); }
  void push_back(T value) { items.push_back(std::move(value)); }
  void reserve(std::size_t count) { items.reserve(count); }
  bool operator==(const Indexed&) const = default;
};

}  // namespace colonnade
