// SPDX-License-Identifier: Apache-2.0
#include "frontends/python/signals.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <utility>

namespace colonnade::python {
namespace {

constexpr int kPollsBeforeLooking = 3;  // shorter runs never wait for the GIL

/// Python writes a byte to `to` for each signal.
struct Pipe {
  int from = -1, to = -1;
};

std::atomic<std::uintptr_t> main_thread{0};
Pipe bytes;
Signals::Watch watch;  // of the main thread

std::uintptr_t this_thread() { return static_cast<std::uintptr_t>(pthread_self()); }

/// In the child of a fork its only thread is the main one; the pipe stays the parent's.
void start_anew() {
  main_thread = this_thread();
  bytes = {};
  watch = {};
}

bool open_pipe() {
  int ends[2];
  if (bytes.from < 0 && ::pipe2(ends, O_NONBLOCK | O_CLOEXEC) == 0) bytes = {ends[0], ends[1]};
  return bytes.from >= 0;
}

/// Takes the bytes out, hands them on to whoever reads them otherwise, and says whether there were any.
bool take_bytes() {
  char some[64];
  bool any = false;
  for (ssize_t count = 0; (count = ::read(bytes.from, some, sizeof some)) > 0; any = true) {
    // a full socket of an event loop has woken it already
    if (watch.before >= 0 && watch.before != bytes.to)
      static_cast<void>(!::write(watch.before, some, static_cast<std::size_t>(count)));
  }
  return any;
}

/// Python's signal.set_wakeup_fd: the file before.
int write_signals_to(int file) {
  const nb::object set = nb::module_::import_("signal").attr("set_wakeup_fd");
  return nb::cast<int>(set(file, nb::arg("warn_on_full_buffer") = false));
}

}  // namespace

void find_main_thread() {
  if (PyInterpreterState_GetID(PyInterpreterState_Get()) != 0) return;  // not the main one
  const nb::object thread = nb::module_::import_("threading").attr("main_thread")();
  main_thread = static_cast<std::uintptr_t>(nb::cast<unsigned long long>(thread.attr("ident")));
  pthread_atfork(nullptr, nullptr, start_anew);
}

bool handles_signals() { return this_thread() == main_thread.load(std::memory_order_relaxed); }

Signals::Signals() : is_main_(handles_signals()) {
  if (is_main_) outer_ = std::exchange(watch, {});
}

Signals::~Signals() {
  if (!is_main_) return;
  if (watch.is_on) {
    try {
      write_signals_to(watch.before);
    } catch (nb::python_error& error) {
      error.discard_as_unraisable("the file that signals are written to");
    }
    take_bytes();
  }
  watch = outer_;
}

void poll_signals() {
  if (watch.is_on && !take_bytes()) return;
  if (!watch.is_on && ++watch.polls < kPollsBeforeLooking) return;
  const nb::gil_scoped_acquire acquire;
  if (!watch.is_on && open_pipe()) {
    watch.before = write_signals_to(bytes.to);
    watch.is_on = true;
  }
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

}  // namespace colonnade::python
