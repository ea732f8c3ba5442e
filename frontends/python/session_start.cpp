// SPDX-License-Identifier: Apache-2.0
// Runs that go on while Python does something else.
#include <condition_variable>
#include <thread>
#include <utility>

#include "frontends/python/python.hpp"
#include "frontends/python/session.hpp"

namespace colonnade::python {
namespace {

/// Runs that were started and are not over: the interpreter must not end before them.
struct Started {
  std::mutex mutex;
  std::condition_variable changed;
  std::size_t count = 0;

  static Started& get() {
    static Started& started = *new Started;  // threads may outlive what is destroyed at exit
    return started;
  }
  void add(std::ptrdiff_t change) {
    const std::scoped_lock lock(mutex);
    count += static_cast<std::size_t>(change);
    changed.notify_all();
  }
};

/// Lets a session go that a run of its own may be the last to hold: its destructor waits for the run, and must not do
/// so within it.
void let_go(nb::object session) {
  if (Py_REFCNT(session.ptr()) > 1) return;
  Started::get().add(1);
  std::thread([last = session.release().ptr()] {
    {
      const nb::gil_scoped_acquire acquire;
      Py_DECREF(last);
    }
    Started::get().add(-1);
  }).detach();
}

nb::object exception_of(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Error& error) {
    return to_exception(error);
  } catch (const std::exception& error) {
    return to_exception(Error(ErrorCode::internal, error.what()));
  }
}

}  // namespace

struct SharedSession::Pending {
  nb::object self, done;
  SharedSession* session = nullptr;
  std::vector<std::size_t> chosen;
  std::unique_ptr<Call> call;
  SessionPool::Lease lease;
};

/// By a thread of the library.
void SharedSession::finish(Pending& pending, const std::exception_ptr& error) {
  {
    const nb::gil_scoped_acquire acquire;
    Pending own = std::exchange(pending, {});
    try {
      SharedSession& session = *own.session;
      const nb::object result = error ? nb::none() : session.collect(*own.call, own.chosen, Form::dict);
      own.call->give_back();
      session.spare_ = std::move(own.call);
      own.lease = {};
      own.done(result, error ? exception_of(error) : nb::none());
    } catch (nb::python_error& raised) {
      raised.discard_as_unraisable("a function that a run was to call when it is over");
    }
    let_go(std::move(own.self));
  }
  Started::get().add(-1);
}

bool SharedSession::start(nb::object self, const Feeds& feeds, nb::handle chosen, nb::handle out, const Limits& limits,
                          nb::object done) {
  if (!tensors_only_) return false;
  RunOptions options = limits.options();
  options.poll = nullptr;  // a thread of the library runs
  const auto pending = std::make_shared<Pending>();
  *pending = {std::move(self), std::move(done), this, outputs_chosen(chosen), take_call(), {}};
  Call& call = *pending->call;
  lend_inputs(feeds, call);
  if (!are_known(call)) return false;
  lend_outputs(out, call);
  allocate_outputs(*known_, call);
  const nb::gil_scoped_release release;
  pending->lease = pool_.try_take();
  if (!pending->lease) return false;
  pending->lease.leave_thread();
  Started::get().add(1);
  try {
    const RunOptions own = pending->lease.is_alone() ? options : pending->lease.shared(options);
    pending->lease.session().run_async(
        call.inputs, call.outputs, [pending](const std::exception_ptr& error) { finish(*pending, error); }, own);
  } catch (...) {
    Started::get().add(-1);
    throw;
  }
  return true;
}

void wait_for_started_runs() {
  const nb::gil_scoped_release release;
  Started& started = Started::get();
  std::unique_lock lock(started.mutex);
  started.changed.wait(lock, [&] { return started.count == 0; });
}

}  // namespace colonnade::python
