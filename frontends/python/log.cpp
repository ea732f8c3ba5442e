// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "frontends/python/python.hpp"

namespace colonnade::python {
namespace {

constexpr const char* kLevels[] = {"debug", "info", "warning", "error"};

void set_handler(nb::handle handler) {
  LogHandler function;
  if (!handler.is_none()) {
    const auto release = [](PyObject* object) {
      if (Py_IsInitialized() == 0) return;
      const nb::gil_scoped_acquire acquire;
      Py_DECREF(object);
    };
    const std::shared_ptr<PyObject> callable(nb::borrow(handler).release().ptr(), release);
    function = [callable](LogLevel level, std::string_view line) {
      const nb::gil_scoped_acquire acquire;
      try {
        nb::handle(callable.get())(to_str(kLevels[static_cast<std::size_t>(level)]), to_str(line));
      } catch (nb::python_error& raised) {
        raised.discard_as_unraisable("a handler of log lines");
      }
    };
  }
  const nb::gil_scoped_release release;
  set_log_handler(std::move(function));
}

}  // namespace

void bind_log(nb::module_& module) {
  module.def(
      "set_log_handler", &set_handler, nb::arg("handler").none(),
      "Called with a level (\"debug\", \"info\", \"warning\", \"error\") and one line, by any thread, one at a time. "
      "None: warnings and errors go to stderr. For the whole process.");
}

}  // namespace colonnade::python
