// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "frontends/python/python.hpp"
#include "frontends/python/session.hpp"
#include "frontends/python/signed.hpp"

namespace colonnade::python {
namespace {

/// A dict by name, any other mapping made one in `made`, or a list or tuple.
Feeds feeds_of(nb::handle feeds, nb::object& made) {
  if (PyDict_Check(feeds.ptr())) return {{}, feeds};
  if (PyList_Check(feeds.ptr()) || PyTuple_Check(feeds.ptr())) return {feeds, {}};
  if (!nb::hasattr(feeds, "keys"))
    throw Error(ErrorCode::invalid_argument,
                "feeds: expected a dict by name or a list in the order of the inputs, found " + type_of(feeds));
  made = nb::steal(PyDict_New());
  if (PyDict_Update(made.ptr(), feeds.ptr()) != 0) throw nb::python_error();
  return {{}, made};
}

Model model_of(nb::handle source, const nb::kwargs& options) {
  if (!nb::isinstance<Model>(source)) return nb::cast<Model>(nb::type<Model>()(source, **options));
  if (options.size() > 0)
    throw Error(ErrorCode::invalid_argument, "options belong to the model, which is loaded already");
  return nb::cast<Model>(source);
}

nb::object run(SharedSession& session, nb::handle feeds, nb::handle outputs, nb::handle out,
               const std::stop_source* stop, std::optional<double> timeout, std::int64_t loop_limit, Form form) {
  nb::object made;
  return session.run(feeds_of(feeds, made), outputs, out, {stop, timeout, loop_limit}, form);
}

nb::dict output_shapes(SharedSession& session, const ShapeMap& shapes) {
  const std::vector<Shape> inputs = session.model().resolve_shapes(shapes);
  const RunOptions options = Limits().options();
  const std::vector<Shape> outputs =
      session.with(options, [&](Session& engine, const RunOptions& own) { return engine.output_shapes(inputs, own); });
  nb::dict result;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    nb::list dimensions;
    for (const std::int64_t size : outputs[i]) dimensions.append(size < 0 ? nb::none() : nb::cast(size));
    result[to_str(session.model().outputs()[i].name)] = nb::tuple(dimensions);
  }
  return result;
}

nb::dict stats(SharedSession& session) {
  const Session::Stats stats = session.with([](Session& engine) { return engine.stats(); });
  nb::dict result;
  result["plan_ms"] = stats.plan_ms;
  result["weights_bytes"] = stats.weights_bytes;
  result["arena_bytes"] = stats.arena_bytes;
  result["cached_plans"] = stats.cached_plans;
  result["cached_bytes"] = stats.cached_bytes;
  result["threads"] = stats.threads;
  return result;
}

nb::dict memory_stats(SharedSession& session) {
  Session::MemoryStats stats;
  session.with_pool([&](SessionPool& pool, const RunOptions& options) {
    pool.each(options, [&](Session& engine) {
      const Session::MemoryStats own = engine.memory_stats();
      stats.weights_bytes = own.weights_bytes;
      stats.arena_bytes += own.arena_bytes;
      stats.plan_bytes += own.plan_bytes;
      stats.plans += own.plans;
    });
  });
  nb::dict result;
  result["weights_bytes"] = stats.weights_bytes;
  result["arena_bytes"] = stats.arena_bytes;
  result["plan_bytes"] = stats.plan_bytes;
  result["plans"] = stats.plans;
  return result;
}

constexpr const char* kRun =
    "run($self, feeds, outputs=None, *, out=None, stop=None, timeout=None, loop_limit=0)\n--\n\n"
    "Runs with inputs by name, or in the model's order, and returns outputs by name: new arrays, or those of `out` (a "
    "dict by name or a sequence in the model's order). `outputs` names those wanted. `stop` is a StopSource, `timeout` "
    "in seconds, `loop_limit` the iterations of all loops together. Signals such as Ctrl-C end it like `stop`, in the "
    "main thread.";
constexpr const char* kRunList =
    "run_list($self, feeds, outputs=None, *, out=None, stop=None, timeout=None, loop_limit=0)\n--\n\n"
    "As run, but returns a list in the order of `outputs`.";

}  // namespace

void bind_session(nb::module_& module) {
  nb::class_<std::stop_source>(module, "StopSource", "Ends runs that were given it, from any thread.")
      .def(nb::init<>())
      .def("request_stop", [](std::stop_source& source) { source.request_stop(); })
      .def_prop_ro("stop_requested", [](const std::stop_source& source) { return source.stop_requested(); });

  nb::class_<SharedSession>(module, "Session",
                            "Runs a model. Threads may share it: their runs go on at the same time, each with memory "
                            "and a part of the model's threads for itself. Where the model has a memory limit, they "
                            "follow each other.")
      .def(
          "__init__",
          [](SharedSession* self, nb::handle model, const nb::kwargs& options) {
            new (self) SharedSession(model_of(model, options));
          },
          nb::arg("model"), nb::arg("options"), "Of a Model, or of what a Model is made of, with its options.")
      .def_prop_ro("model", [](const SharedSession& session) { return session.model(); })
      .def_prop_ro("inputs", [](const SharedSession& session) { return list_of(session.model().inputs()); })
      .def_prop_ro("outputs", [](const SharedSession& session) { return list_of(session.model().outputs()); })
      .def("__repr__",
           [](const SharedSession& session) { return "<colonnade.Session of " + text_of(session.model()) + ">"; })
      .def("close", &SharedSession::close, "Waits for its runs and gives its memory back; later calls raise.")
      .def("__enter__", [](nb::handle self) { return nb::borrow(self); })
      .def(
          "__exit__", [](SharedSession& session, nb::handle, nb::handle, nb::handle) { session.close(); },
          nb::arg("type").none(), nb::arg("value").none(), nb::arg("traceback").none())
      .def(
          "run",
          [](SharedSession& session, nb::handle feeds, nb::handle outputs, nb::handle out, const std::stop_source* stop,
             std::optional<double> timeout, std::int64_t loop_limit) {
            return run(session, feeds, outputs, out, stop, timeout, loop_limit, Form::dict);
          },
          nb::arg("feeds"), nb::arg("outputs") = nb::none(), nb::kw_only(), nb::arg("out") = nb::none(),
          nb::arg("stop") = nb::none(), nb::arg("timeout") = nb::none(), nb::arg("loop_limit") = 0)
      .def(
          "run_list",
          [](SharedSession& session, nb::handle feeds, nb::handle outputs, nb::handle out, const std::stop_source* stop,
             std::optional<double> timeout, std::int64_t loop_limit) {
            return run(session, feeds, outputs, out, stop, timeout, loop_limit, Form::list);
          },
          nb::arg("feeds"), nb::arg("outputs") = nb::none(), nb::kw_only(), nb::arg("out") = nb::none(),
          nb::arg("stop") = nb::none(), nb::arg("timeout") = nb::none(), nb::arg("loop_limit") = 0)
      .def(
          "_start",
          [](nb::handle self, nb::handle feeds, nb::handle outputs, nb::handle out, const std::stop_source* stop,
             std::optional<double> timeout, std::int64_t loop_limit, nb::object done) {
            nb::object made;
            return nb::cast<SharedSession&>(self).start(nb::borrow(self), feeds_of(feeds, made), outputs, out,
                                                        {stop, timeout, loop_limit}, std::move(done));
          },
          nb::arg("feeds"), nb::arg("outputs").none(), nb::arg("out").none(), nb::arg("stop").none(),
          nb::arg("timeout").none(), nb::arg("loop_limit"), nb::arg("done"))
      .def(
          "__call__",
          [](SharedSession& session, const nb::args& places, const nb::kwargs& names) {
            return session.run({places, names}, {}, {}, {}, Form::single);
          },
          nb::arg("places"), nb::arg("names"),
          "Runs with inputs in the model's order or by name; returns the output, a tuple where there are several.")
      .def(
          "prepare",
          [](SharedSession& session, const ShapeMap& shapes) {
            const RunOptions options = Limits().options();
            session.with(options, [&](Session& engine, const RunOptions& own) { engine.prepare(shapes, own); });
          },
          nb::arg("shapes") = ShapeMap(), "Plans for these shapes now, so that the next run does not.")
      .def("output_shapes", &output_shapes, nb::arg("shapes") = ShapeMap(),
           "Shapes of the outputs by name; None for dimensions that depend on data.")
      .def(
          "shrink",
          [](SharedSession& session) {
            session.with_pool([](SessionPool& pool, const RunOptions& options) {
              pool.trim(options);
              pool.each(options, [](Session& engine) { engine.shrink(); });
            });
          },
          "Gives back all memory that the next run can make anew.")
      .def("stats", &stats,
           "Of the plan used last: plan_ms, weights_bytes, arena_bytes, threads; of all: cached_plans, "
           "cached_bytes.")
      .def("memory_stats", &memory_stats, "weights_bytes, arena_bytes, plan_bytes and the number of plans.")
      .def(
          "set_profiling",
          [](SharedSession& session, bool on) {
            session.with_pool([&](SessionPool& pool, const RunOptions& options) {
              pool.limit(on ? 1 : 0, options);
              pool.each(options, [&](Session& engine) { engine.set_profiling(on); });
            });
          },
          nb::arg("on"), "Collect the time of every step from the next run on. Meanwhile runs follow each other.")
      .def(
          "profile",
          [](SharedSession& session) {
            return from_json(session.with([](Session& engine) { return engine.profile(); }));
          },
          "Milliseconds a run by segment and operator, since profiling was turned on.")
      .def(
          "trace",
          [](SharedSession& session) {
            return from_json(session.with([](Session& engine) { return engine.trace(); }));
          },
          "The last profiled run in the trace-event format of Chrome and Perfetto; json.dump writes it.");

  const nb::handle type = nb::type<SharedSession>();
  Signed<0>::put(type, "run", kRun);
  Signed<1>::put(type, "run_list", kRunList);

  module.def("_wait_for_started_runs", &wait_for_started_runs);
}

}  // namespace colonnade::python
