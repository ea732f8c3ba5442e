// SPDX-License-Identifier: Apache-2.0
#include "frontends/python/options.hpp"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>

#include <filesystem>

#include "frontends/python/python.hpp"

namespace colonnade::python {
namespace {

std::string repr_of(nb::handle value) { return nb::cast<std::string>(nb::repr(value)); }

template <class T>
T number(nb::handle value, const char* name) {
  T result{};
  if (PyBool_Check(value.ptr()) || !nb::try_cast(nb::borrow(value), result))
    throw Error(ErrorCode::invalid_argument,
                std::string(name) + ": expected a number of at least 0, found " + repr_of(value));
  return result;
}

bool truth(nb::handle value) {
  const int result = PyObject_IsTrue(value.ptr());
  if (result < 0) throw nb::python_error();
  return result != 0;
}

template <class Value>
struct Choice {
  const char* name;
  Value value;
};

constexpr Choice<Schedule> kSchedules[] = {
    {"automatic", Schedule::automatic}, {"columns", Schedule::columns}, {"layers", Schedule::layers}};
constexpr Choice<Math> kMaths[] = {{"fast", Math::fast}, {"exact", Math::exact}, {"bf16", Math::bf16}};
constexpr Choice<DynamicScale> kDynamicScales[] = {
    {"tensor", DynamicScale::tensor}, {"sequence", DynamicScale::sequence}, {"row", DynamicScale::row}};
constexpr Choice<Padding> kPaddings[] = {{"zeros", Padding::zeros}, {"compute", Padding::compute}};

template <class Choices>
auto choose(const char* what, nb::handle value, const Choices& choices) {
  const std::string text = to_text(value, what);
  std::string names;
  for (const auto& choice : choices) {
    if (text == choice.name) return choice.value;
    names += (names.empty() ? "'" : ", '") + std::string(choice.name) + "'";
  }
  throw Error(ErrorCode::invalid_argument, std::string(what) + ": expected one of " + names + ", found '" + text + "'");
}

template <class Value, class Choices>
const char* name_in(const Choices& choices, Value value) {
  for (const auto& choice : choices)
    if (choice.value == value) return choice.name;
  return "";
}

/// One keyword argument.
struct Keyword {
  const char* name;
  void (*set)(Options&, nb::handle);
  nb::object (*get)(const Options&);
};

constexpr Keyword kKeywords[] = {
    {"threads", [](Options& o, nb::handle v) { o.threads = number<int>(v, "threads"); },
     [](const Options& o) { return nb::cast(o.threads); }},
    {"schedule", [](Options& o, nb::handle v) { o.schedule = choose("schedule", v, kSchedules); },
     [](const Options& o) { return to_str(name_in(kSchedules, o.schedule)); }},
    {"math", [](Options& o, nb::handle v) { o.math = choose("math", v, kMaths); },
     [](const Options& o) { return to_str(name_in(kMaths, o.math)); }},
    {"strict", [](Options& o, nb::handle v) { o.strict = truth(v); },
     [](const Options& o) { return nb::cast(o.strict); }},
    {"memory_limit_bytes",
     [](Options& o, nb::handle v) { o.memory_limit_bytes = number<std::size_t>(v, "memory_limit_bytes"); },
     [](const Options& o) { return nb::cast(o.memory_limit_bytes); }},
    {"plan_cache_bytes",
     [](Options& o, nb::handle v) { o.plan_cache_bytes = number<std::size_t>(v, "plan_cache_bytes"); },
     [](const Options& o) { return nb::cast(o.plan_cache_bytes); }},
    {"isa", [](Options& o, nb::handle v) { o.isa = to_text(v, "isa"); },
     [](const Options& o) { return to_str(o.isa); }},
    {"blocking", [](Options& o, nb::handle v) { o.blocking = to_text(v, "blocking"); },
     [](const Options& o) { return to_str(o.blocking); }},
    {"dimensions",
     [](Options& o, nb::handle v) {
       if (!nb::try_cast(nb::borrow(v), o.dimensions))
         throw Error(ErrorCode::invalid_argument,
                     "dimensions: expected a dict of numbers by symbol, found " + repr_of(v));
     },
     [](const Options& o) { return nb::cast(o.dimensions); }},
    {"compiled", [](Options& o, nb::handle v) { o.compiled = path_of(v, "compiled"); },
     [](const Options& o) { return to_str(o.compiled); }},
    {"numa", [](Options& o, nb::handle v) { o.numa = to_text(v, "numa"); },
     [](const Options& o) { return to_str(o.numa); }},
    {"duel", [](Options& o, nb::handle v) { o.duel = truth(v); }, [](const Options& o) { return nb::cast(o.duel); }},
    {"padding", [](Options& o, nb::handle v) { o.padding = choose("padding", v, kPaddings); },
     [](const Options& o) { return to_str(name_in(kPaddings, o.padding)); }},
    {"dynamic_scale", [](Options& o, nb::handle v) { o.dynamic_scale = choose("dynamic_scale", v, kDynamicScales); },
     [](const Options& o) { return to_str(name_in(kDynamicScales, o.dynamic_scale)); }},
    {"schema", [](Options& o, nb::handle v) { o.schema = truth(v); },
     [](const Options& o) { return nb::cast(o.schema); }},
};

}  // namespace

std::string path_of(nb::handle path, const char* what) {
  std::filesystem::path result;
  if (!nb::try_cast(nb::borrow(path), result))
    throw Error(ErrorCode::invalid_argument, std::string(what) + ": expected a path, found " + type_of(path));
  return result.string();
}

Options to_options(const nb::kwargs& keywords) {
  Options options;
  for (const auto& [key, value] : keywords) {
    const std::string name = nb::cast<std::string>(key);
    std::string names;
    const Keyword* found = nullptr;
    for (const Keyword& keyword : kKeywords) {
      if (name == keyword.name) found = &keyword;
      names += (names.empty() ? "" : ", ") + std::string(keyword.name);
    }
    if (found == nullptr) throw Error(ErrorCode::invalid_argument, "no option '" + name + "'; there are: " + names);
    found->set(options, value);
  }
  return options;
}

nb::dict to_dict(const Options& options) {
  nb::dict result;
  for (const Keyword& keyword : kKeywords) result[keyword.name] = keyword.get(options);
  return result;
}

}  // namespace colonnade::python
