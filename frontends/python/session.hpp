// SPDX-License-Identifier: Apache-2.0
// A session that several threads of Python may use: their runs go on at the same time.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <optional>
#include <vector>

#include "colonnade/colonnade.hpp"
#include "frontends/pool/pool.hpp"
#include "frontends/python/arrays.hpp"
#include "frontends/python/signals.hpp"

namespace colonnade::python {

/// What a run takes besides data.
struct Limits {
  const std::stop_source* stop = nullptr;
  std::optional<double> timeout;  ///< seconds from the call on
  std::int64_t loop_limit = 0;

  /// For a run by the calling thread, which signals end where it handles them.
  RunOptions options() const;
};

/// How results are handed over.
enum class Form { dict, list, single };

/// Arguments of a run by place or by name: either may be null.
struct Feeds {
  nb::handle places;  ///< a tuple or list
  nb::handle names;   ///< a dict
};

class SharedSession {
 public:
  explicit SharedSession(Model model);

  const Model& model() const { return model_; }

  /// `chosen` are names of outputs (None: all), `out` arrays to write to: a dict by name, a sequence in the order of
  /// the outputs, or None. Needs the GIL, which is free while the engine works.
  nb::object run(const Feeds& feeds, nb::handle chosen, nb::handle out, const Limits& limits, Form form);

  /// Starts a run whose end `done(result, error)` is told by a thread of the library, one of them None. False, and
  /// nothing is started, where the run has to wait for something: a plan, shapes that depend on data, another run.
  bool start(nb::object self, const Feeds& feeds, nb::handle chosen, nb::handle out, const Limits& limits,
             nb::object done);

  /// Calls `use` with a session that nobody else has and with the options that its run takes, without the GIL. Throws
  /// what `options` say while there is none.
  template <class Use>
  auto with(const RunOptions& options, Use use) {
    const Signals signals;
    const nb::gil_scoped_release release;
    const SessionPool::Lease lease = pool_.take(options);
    return lease.is_alone() ? use(lease.session(), options) : use(lease.session(), lease.shared(options));
  }
  /// The same for what needs no options.
  template <class Use>
  auto with(Use use) {
    return with(Limits().options(), [&](Session& session, const RunOptions&) { return use(session); });
  }
  /// Calls `use` with the pool, without the GIL.
  template <class Use>
  auto with_pool(Use use) {
    const RunOptions options = Limits().options();
    const Signals signals;
    const nb::gil_scoped_release release;
    return use(pool_, options);
  }

  /// Waits for the session's runs and gives its memory back; later calls throw.
  void close();

 private:
  struct Port {
    nb::object name;
    std::string role;  ///< "input 'x'"
    TensorInfo info;
  };
  /// Shapes of the outputs that follow from shapes of the inputs.
  struct Known {
    std::vector<Shape> inputs;
    bool complete = false;  ///< all are known and none has strings: outputs can be allocated before the run
    std::vector<Shape> outputs;
    std::vector<nb::object> tuples;
    bool are_large = false;  ///< some are: the session has memory for them that was used before
  };
  /// One run: what it reads and where it writes. Kept for the next one.
  struct Call {
    std::vector<Loan> loans, memory;
    std::vector<TensorView> inputs;
    std::vector<MutableTensorView> outputs;
    std::vector<nb::object> results;

    void give_back();
  };

  /// A run that goes on: what it holds is let go when it is over, with the GIL.
  struct Pending;

  std::unique_ptr<Call> take_call();
  nb::handle feed(const Feeds& feeds, std::size_t index, std::size_t& named) const;
  void check_names(const Feeds& feeds, std::size_t named) const;
  void lend_inputs(const Feeds& feeds, Call& call) const;
  void lend_outputs(nb::handle out, Call& call) const;
  bool are_known(const Call& call) const;
  std::shared_ptr<const Known> shapes_of(const Call& call, const RunOptions& options);
  void allocate_outputs(const Known& known, Call& call) const;
  void run_tensors(Call& call, const RunOptions& options);
  void run_arrays(Call& call, nb::handle out, const Limits& limits);
  void run_data(const Feeds& feeds, Call& call, const Limits& limits);
  std::size_t output_named(nb::handle name) const;
  std::vector<std::size_t> outputs_chosen(nb::handle chosen) const;
  nb::object collect(Call& call, const std::vector<std::size_t>& chosen, Form form) const;
  static void finish(Pending& pending, const std::exception_ptr& error);

  Model model_;
  SessionPool pool_;
  std::vector<Port> inputs_, outputs_;
  bool tensors_only_ = true;
  std::shared_ptr<const Known> known_;
  std::unique_ptr<Call> spare_;
};

/// Waits, without the GIL, until no run that was started goes on.
void wait_for_started_runs();

}  // namespace colonnade::python
