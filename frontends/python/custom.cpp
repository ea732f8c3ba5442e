// SPDX-License-Identifier: Apache-2.0
// Operators that Python programs bring.
#include "frontends/python/custom.hpp"

#include <dlfcn.h>
#include <nanobind/stl/string.h>

#include <memory>
#include <vector>

#include "frontends/python/arrays.hpp"
#include "frontends/python/numpy.hpp"
#include "frontends/python/python.hpp"

namespace colonnade::python {
namespace {

/// An object of Python that threads without the GIL hold.
using Held = std::shared_ptr<PyObject>;

Held hold(nb::object object) {
  return {object.release().ptr(), [](PyObject* held) {
            if (Py_IsInitialized() == 0) return;
            const nb::gil_scoped_acquire acquire;
            Py_DECREF(held);
          }};
}

/// What Python raises ends the run as the error of the node.
template <class Action>
auto called(const Action& action) {
  try {
    return action();
  } catch (const nb::python_error& error) {
    throw Error(ErrorCode::invalid_input, type_of(error.value()) + ": " + message_of(error));
  }
}

nb::object to_python_value(const CustomAttribute& attribute) {
  if (const auto* integer = std::get_if<std::int64_t>(&attribute)) return nb::cast(*integer);
  if (const auto* number = std::get_if<float>(&attribute)) return nb::cast(static_cast<double>(*number));
  if (const auto* text = std::get_if<std::string>(&attribute)) return to_str(*text);
  if (const auto* tensor = std::get_if<std::shared_ptr<const Tensor>>(&attribute)) return to_array(Tensor(**tensor));
  nb::list list;
  if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&attribute))
    for (const std::int64_t value : *integers) list.append(value);
  if (const auto* numbers = std::get_if<std::vector<float>>(&attribute))
    for (const float value : *numbers) list.append(static_cast<double>(value));
  if (const auto* texts = std::get_if<std::vector<std::string>>(&attribute))
    for (const std::string& value : *texts) list.append(to_str(value));
  return list;
}

nb::list names_of(const std::vector<std::string>& names) {
  nb::list list;
  for (const std::string& name : names) list.append(to_str(name));
  return list;
}

/// The node as a types.SimpleNamespace.
nb::object node_of(const CustomNode& node) {
  nb::dict fields, attributes;
  for (const auto& [name, value] : node.attributes) attributes[to_str(name)] = to_python_value(value);
  nb::list constants;
  for (const auto& constant : node.constants)
    constants.append(constant ? to_array(Tensor(*constant)) : nb::object(nb::none()));
  fields["name"] = to_str(node.name);
  fields["domain"] = to_str(node.domain);
  fields["type"] = to_str(node.type);
  fields["opset"] = node.opset;
  fields["inputs"] = names_of(node.input_names);
  fields["outputs"] = names_of(node.output_names);
  fields["attributes"] = attributes;
  fields["constants"] = constants;
  return nb::module_::import_("types").attr("SimpleNamespace")(**fields);
}

nb::object to_python_type(const CustomType& type) {
  nb::object shape = nb::none();
  if (type.shape) {
    nb::list sizes;
    for (const std::int64_t size : *type.shape)
      sizes.append(size < 0 ? nb::object(nb::none()) : nb::object(nb::cast(size)));
    shape = nb::tuple(sizes);
  }
  return nb::make_tuple(type.dtype == DType::undefined ? nb::object(nb::none()) : to_str(name_of(type.dtype)), shape);
}

/// (type, shape): the type as a name or as numpy has it, the shape with None for what is not known, or None.
CustomType to_type(nb::handle answer) {
  if (!PyTuple_Check(answer.ptr()) || size_of_sequence(answer.ptr()) != 2)
    throw Error(ErrorCode::invalid_argument, "infer: expected (type, shape) for each output, found " + type_of(answer));
  nb::handle type = element_of_sequence(answer.ptr(), 0), shape = element_of_sequence(answer.ptr(), 1);
  const nb::object name = PyUnicode_Check(type.ptr()) ? nb::borrow(type) : Numpy::get().dtype(type).attr("name");
  CustomType result{dtype_named(nb::cast<std::string>(name)), std::nullopt};
  if (shape.is_none()) return result;
  result.shape.emplace();
  for (const nb::handle size : nb::iter(shape))
    result.shape->push_back(size.is_none() ? -1 : nb::cast<std::int64_t>(size));
  return result;
}

Tensor to_output(nb::handle object, DType expected) {
  Loan loan;
  TensorView view;
  loan.read(as_array(object, "the result"), expected, "the result", view);
  return copy_of(view);
}

class PythonKernel final : public CustomKernel {
 public:
  PythonKernel(Held operation, const CustomNode& node)
      : operation_(std::move(operation)), node_(hold(node_of(node))), outputs_(node.output_names.size()) {}

  std::vector<CustomType> infer(std::span<const CustomType> inputs) const override {
    const nb::gil_scoped_acquire acquire;
    const nb::handle operation(operation_.get());
    if (!nb::hasattr(operation, "infer"))
      return std::vector<CustomType>(outputs_, {inputs.empty() ? DType::undefined : inputs.front().dtype});
    return called([&] {
      nb::list types;
      for (const CustomType& input : inputs) types.append(to_python_type(input));
      const nb::object answers = operation.attr("infer")(nb::handle(node_.get()), types);
      std::vector<CustomType> result;
      for (const nb::handle answer : nb::iter(answers)) result.push_back(to_type(answer));
      return result;
    });
  }

  std::vector<Tensor> run(std::span<const Tensor* const> inputs) const override {
    const nb::gil_scoped_acquire acquire;
    return called([&] {
      nb::list arguments;
      arguments.append(nb::handle(node_.get()));
      std::vector<CustomType> given;
      for (const Tensor* input : inputs) {
        arguments.append(input == nullptr ? nb::object(nb::none()) : to_array(Tensor(*input)));
        given.push_back(input == nullptr ? CustomType{} : CustomType{input->dtype(), input->shape()});
      }
      const nb::object answer = nb::handle(operation_.get()).attr("compute")(*arguments);
      const std::vector<CustomType> types = infer(given);
      std::vector<Tensor> results;
      const auto add = [&](nb::handle object) {
        results.push_back(
            to_output(object, results.size() < types.size() ? types[results.size()].dtype : DType::undefined));
      };
      if (PyTuple_Check(answer.ptr()) || PyList_Check(answer.ptr()))
        for (Py_ssize_t i = 0; i < size_of_sequence(answer.ptr()); ++i) add(element_of_sequence(answer.ptr(), i));
      else
        add(answer);
      return results;
    });
  }

 private:
  Held operation_, node_;
  std::size_t outputs_;
};

/// Operators that come from elsewhere than Python.
struct OperatorLibrary {
  std::vector<CustomOperator> operators;
};

using Lend = int (*)(const char* version, const char* path, std::vector<CustomOperator>* operators,
                     std::string* message);

/// (code of ONNX Runtime, message, library). Raises OSError where the library with its C interface is none of ours.
nb::tuple operators_of_library(const std::string& interface, const std::string& path) {
  void* const library = ::dlopen(interface.c_str(), RTLD_NOW | RTLD_LOCAL);  // stays
  const auto lend = library == nullptr ? nullptr : reinterpret_cast<Lend>(::dlsym(library, "colonnade_ort_operators"));
  if (lend == nullptr) {
    PyErr_SetString(PyExc_OSError, ::dlerror());
    throw nb::python_error();
  }
  OperatorLibrary made;
  std::string message;
  const int code = lend(std::string(version()).c_str(), path.c_str(), &made.operators, &message);
  return nb::make_tuple(code, message, nb::cast(std::move(made)));
}

std::string text_in(nb::handle object, const char* name) {
  const nb::object text = nb::getattr(object, name, nb::none());
  if (!PyUnicode_Check(text.ptr()))
    throw Error(ErrorCode::invalid_argument,
                std::string("operators: ") + type_of(object) + " has no '" + name + "', which is a str");
  return nb::cast<std::string>(text);
}

}  // namespace

std::vector<CustomOperator> to_operators(nb::handle objects) {
  std::vector<CustomOperator> result;
  if (!objects.is_valid()) return result;
  for (const nb::handle object : nb::iter(objects)) {
    if (nb::isinstance<OperatorLibrary>(object)) {
      const auto& lent = nb::cast<const OperatorLibrary&>(object).operators;
      result.insert(result.end(), lent.begin(), lent.end());
      continue;
    }
    CustomOperator made;
    made.domain = text_in(object, "domain");
    made.type = text_in(object, "name");
    if (!nb::hasattr(object, "compute"))
      throw Error(ErrorCode::invalid_argument, "operators: " + type_of(object) + " has no 'compute'");
    made.make = [held = hold(nb::borrow(object))](const CustomNode& node) {
      const nb::gil_scoped_acquire acquire;
      return called([&] { return std::make_shared<const PythonKernel>(held, node); });
    };
    result.push_back(std::move(made));
  }
  return result;
}

void bind_operators(nb::module_& module) {
  nb::class_<OperatorLibrary>(module, "OperatorLibrary", "Operators of a library that was made for ONNX Runtime.");
  module.def("operators_of_library", operators_of_library, nb::arg("interface"), nb::arg("path"));
}

}  // namespace colonnade::python
