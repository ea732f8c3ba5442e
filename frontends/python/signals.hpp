// SPDX-License-Identifier: Apache-2.0
// Ctrl-C and other signals while the engine works. Python handles signals in the main thread of the main interpreter,
// when that runs Python: while it runs a network instead, it looks now and then whether one has come.
#pragma once

#include <nanobind/nanobind.h>

namespace colonnade::python {

namespace nb = nanobind;

/// Notes which thread is the main one. With the GIL, once.
void find_main_thread();
/// The calling thread is the one that handles signals.
bool handles_signals();

/// A run, or something else that may take long: made before it and destroyed after it with the GIL, by any thread.
/// Costs nothing unless poll_signals() is called.
class Signals {
 public:
  Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  ~Signals();

  struct Watch {
    int polls = 0;
    bool is_on = false;
    int before = -1;  ///< the file that Python wrote signals to; -1: none
  };

 private:
  bool is_main_;
  Watch outer_;  ///< of the run that a handler's run interrupts
};

/// Calls Python's handlers of the signals that have come, whose exceptions are thrown as nb::python_error. Takes the
/// GIL once some polls after the beginning, then only when a signal has come. By the thread that handles signals,
/// within a Signals.
void poll_signals();

}  // namespace colonnade::python
