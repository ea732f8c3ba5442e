// SPDX-License-Identifier: Apache-2.0
// The C interface: stops and sessions.
#include <atomic>
#include <limits>
#include <memory>

#include "api/c_api.hpp"

struct colonnade_stop {
  std::stop_source source;
};

struct colonnade_session {
  explicit colonnade_session(const colonnade::Model& shared) : model(shared), session(shared) {}

  colonnade::Model model;
  colonnade::Session session;
  struct Views {
    std::vector<colonnade::TensorView> inputs;
    std::vector<colonnade::MutableTensorView> outputs;
  };
  std::atomic<Views*> spare = nullptr;  ///< of the last run: their memory is used again

  std::unique_ptr<Views> take_views() {
    std::unique_ptr<Views> views(spare.exchange(nullptr));
    return views ? std::move(views) : std::make_unique<Views>();
  }
  void keep(std::unique_ptr<Views> views) { const std::unique_ptr<Views> before(spare.exchange(views.release())); }
  ~colonnade_session() { delete spare.load(); }
};

namespace colonnade {
namespace {

using Clock = std::chrono::steady_clock;

RunOptions run_options_of(const colonnade_run_options* given) {
  const colonnade_run_options known = c::taken(given, "run options");
  if (known.timeout_ns < 0 || known.loop_limit < 0)
    fail(ErrorCode::invalid_argument, "run options: timeout_ns {} and loop_limit {} must not be negative",
         known.timeout_ns, known.loop_limit);
  RunOptions options;
  if (known.stop != nullptr) options.stop = known.stop->source.get_token();
  const Clock::time_point now = Clock::now();
  if (known.timeout_ns > 0 && known.timeout_ns < (Clock::time_point::max() - now).count())
    options.deadline = now + std::chrono::nanoseconds(known.timeout_ns);
  options.loop_limit = known.loop_limit;
  options.threads = known.threads;
  return options;
}

void set_views(std::span<colonnade_tensor* const> tensors, std::vector<TensorView>& views) {
  views.resize(tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const MutableTensorView& view = c::required(tensors[i], "an input").view;
    views[i].dtype = view.dtype;
    views[i].shape = view.shape;
    views[i].data = view.data;
    views[i].strides = view.strides;
  }
}

void set_views(std::span<colonnade_tensor* const> tensors, std::vector<MutableTensorView>& views) {
  views.resize(tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) views[i] = c::required(tensors[i], "an output").view;
}

void run_into_new(colonnade_session& handle, std::span<const TensorView> inputs, std::span<colonnade_tensor*> outputs,
                  const RunOptions& options) {
  const std::size_t expected = handle.model.outputs().size();
  if (outputs.size() != expected)
    fail(ErrorCode::invalid_argument, "expected {} outputs, found {}", expected, outputs.size());
  std::vector<std::unique_ptr<colonnade_tensor>> made;
  for (Tensor& tensor : handle.session.run(inputs, options)) {
    auto& output = made.emplace_back(std::make_unique<colonnade_tensor>());
    output->owned = std::move(tensor);
    output->view = MutableTensorView(output->owned);
  }
  for (std::size_t i = 0; i < made.size(); ++i) outputs[i] = made[i].release();
}

void give_shape(const Shape& shape, std::span<std::int64_t> sizes, std::size_t* rank) {
  c::required(rank, "rank") = shape.size();
  if (shape.size() > sizes.size())
    fail(ErrorCode::invalid_argument, "the output has {} dimensions, room for {}", shape.size(), sizes.size());
  std::copy(shape.begin(), shape.end(), sizes.begin());
}

template <class Describe>
colonnade_status* give_text(const colonnade_session* session, char** text, Describe&& describe) {
  return c::guarded([&] {
    char*& result = c::result_in(text, "json");
    result = c::new_text(describe(c::required(session, "session").session));
  });
}

}  // namespace
}  // namespace colonnade

using colonnade::c::array;
using colonnade::c::guarded;
using colonnade::c::required;
using colonnade::c::result_in;
using colonnade::c::shape_map;

colonnade_status* colonnade_stop_create(colonnade_stop** stop) {
  return guarded([&] { result_in(stop, "stop") = new colonnade_stop; });
}
void colonnade_stop_request(colonnade_stop* stop) {
  if (stop != nullptr) stop->source.request_stop();
}
void colonnade_stop_free(colonnade_stop* stop) { delete stop; }

colonnade_status* colonnade_session_create(const colonnade_model* model, colonnade_session** session) {
  return guarded([&] {
    auto*& result = result_in(session, "session");
    result = new colonnade_session(required(model, "model").model);
  });
}
void colonnade_session_free(colonnade_session* session) { delete session; }

colonnade_status* colonnade_session_prepare(colonnade_session* session, const colonnade_shape* shapes,
                                            std::size_t shape_count) {
  return guarded([&] { required(session, "session").session.prepare(shape_map(shapes, shape_count)); });
}

colonnade_status* colonnade_session_output_shape(colonnade_session* session, const colonnade_shape* shapes,
                                                 std::size_t shape_count, std::size_t index, std::int64_t* sizes,
                                                 std::size_t capacity, std::size_t* rank) {
  return guarded([&] {
    colonnade_session& known = required(session, "session");
    const auto all = known.session.output_shapes(known.model.resolve_shapes(shape_map(shapes, shape_count)));
    if (index >= all.size())
      colonnade::fail(colonnade::ErrorCode::invalid_argument, "output {} of {}", index, all.size());
    colonnade::give_shape(all[index], array(sizes, capacity, "sizes"), rank);
  });
}

colonnade_status* colonnade_session_run(colonnade_session* session, colonnade_tensor* const* inputs,
                                        std::size_t input_count, colonnade_tensor** outputs, std::size_t output_count,
                                        const colonnade_run_options* options) {
  return guarded([&] {
    colonnade_session& known = required(session, "session");
    const auto results = array(outputs, output_count, "outputs");
    const auto absent = static_cast<std::size_t>(std::count(results.begin(), results.end(), nullptr));
    if (absent > 0 && absent < results.size())
      colonnade::fail(colonnade::ErrorCode::invalid_argument, "{} of {} outputs are null, expected all or none", absent,
                      results.size());
    const colonnade::RunOptions limits = colonnade::run_options_of(options);
    auto views = known.take_views();
    colonnade::set_views(array(inputs, input_count, "inputs"), views->inputs);
    if (absent > 0) {
      colonnade::run_into_new(known, views->inputs, results, limits);
    } else {
      colonnade::set_views(results, views->outputs);
      known.session.run(views->inputs, views->outputs, limits);
    }
    known.keep(std::move(views));
  });
}

colonnade_status* colonnade_session_run_async(colonnade_session* session, colonnade_tensor* const* inputs,
                                              std::size_t input_count, colonnade_tensor* const* outputs,
                                              std::size_t output_count, const colonnade_run_options* options,
                                              colonnade_done done, void* user) {
  return guarded([&] {
    colonnade_session& known = required(session, "session");
    required(done, "done");
    std::vector<colonnade::TensorView> from;
    std::vector<colonnade::MutableTensorView> to;
    colonnade::set_views(array(inputs, input_count, "inputs"), from);
    colonnade::set_views(array(outputs, output_count, "outputs"), to);
    known.session.run_async(
        std::move(from), std::move(to),
        [done, user](const std::exception_ptr& error) {
          colonnade_status* const status = error ? colonnade::c::status_of(error) : nullptr;
          done(status, user);
          colonnade_status_free(status);
        },
        colonnade::run_options_of(options));
  });
}

colonnade_status* colonnade_session_memory_stats(const colonnade_session* session, colonnade_memory_stats* stats) {
  return guarded([&] {
    const auto found = required(session, "session").session.memory_stats();
    colonnade::c::give({0, found.weights_bytes, found.arena_bytes, found.plan_bytes, found.plans}, stats, "stats");
  });
}

colonnade_status* colonnade_session_shrink(colonnade_session* session) {
  return guarded([&] { required(session, "session").session.shrink(); });
}

colonnade_status* colonnade_session_set_profiling(colonnade_session* session, std::int32_t on) {
  return guarded([&] { required(session, "session").session.set_profiling(on != 0); });
}

colonnade_status* colonnade_session_profile(const colonnade_session* session, char** json) {
  return colonnade::give_text(session, json, [](const colonnade::Session& known) { return known.profile(); });
}

colonnade_status* colonnade_session_trace(const colonnade_session* session, char** json) {
  return colonnade::give_text(session, json, [](const colonnade::Session& known) { return known.trace(); });
}
