// SPDX-License-Identifier: Apache-2.0
#include "frontends/server/load_version.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <new>

#include "frontends/server/config.hpp"
#include "frontends/server/log.hpp"
#include "frontends/server/policy.hpp"
#include "frontends/server/warm_up.hpp"

namespace colonnade::serve {
namespace {

constexpr std::size_t kMostLabelBytes = std::size_t{16} << 20;

/// The host's folders are none of a client's business.
std::string without_folder(std::string message, const std::filesystem::path& path) {
  const std::string folder = path.parent_path().string() + "/";
  if (folder.size() <= 1) return message;
  for (auto at = message.find(folder); at != std::string::npos; at = message.find(folder))
    message.erase(at, folder.size());
  return message;
}

Model load_model(const std::filesystem::path& path, const std::string* bytes, const Options& options) {
  if (bytes != nullptr) return Model::from_bytes(std::as_bytes(std::span(*bytes)), options);
  const std::string text = path.string();
  if (text.starts_with(kEmbedded)) return Model::embedded(text.substr(kEmbedded.size()), options);
  return Model::load(text, options);
}

/// Of runs with the sizes that a model itself says, else of the smallest; nothing where these make no plan.
MemoryNeed need_of(const Model& model) {
  try {
    return memory_need(model);
  } catch (const Error& error) {
    log(LogLevel::info, "memory of the model is not known", {{"reason", std::string_view(error.what())}});
    MemoryNeed none;
    none.is_known = none.is_steady = none.is_repeatable = false;
    return none;
  }
}

/// Whether values cannot make a run longer than others of the same shapes.
bool is_steady(const Model& model, const MemoryNeed& need) {
  const auto inputs = model.inputs();
  return need.is_steady && std::none_of(inputs.begin(), inputs.end(),
                                        [](const TensorInfo& input) { return input.dtype == DType::string; });
}

/// Where the configuration asks for it and it can be; else says why not.
void keep_responses(ServedModel& served, ResponseCache& cache) {
  const Card& card = *served.card();
  if (!card.config.response_cache().enable()) return;
  const char* why = nullptr;
  if (!cache.is_on()) why = "the server keeps none without --response-cache BYTES";
  if (!card.need.is_repeatable) why = "equal requests may have different answers";
  if (card.config.dynamic_batching().preserve_ordering()) why = "preserve_ordering: answers would overtake others";
  if (why == nullptr) return served.keep_responses(cache);
  log(LogLevel::warning, "responses are not kept", {{"reason", why}});
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    if (!lines.back().empty() && lines.back().back() == '\r') lines.back().pop_back();
    begin = end + 1;
  }
  return lines;
}

std::map<std::string, std::vector<std::string>> labels_of(const FoundModel& found,
                                                          const inference::ModelConfig& config) {
  std::map<std::string, std::vector<std::string>> labels;
  for (const inference::ModelOutput& output : config.output())
    if (!output.label_filename().empty())
      labels[output.name()] = lines_of(read_model_file(found, output.label_filename(), kMostLabelBytes));
  return labels;
}

/// `config` is complete.
CardPtr card_of(const FoundModel& found, std::int64_t number, const inference::ModelConfig& config, const Model& model,
                std::shared_ptr<Statistics> statistics, int instances) {
  Signature signature = Signature::of(config, model);
  auto labels = labels_of(found, config);
  for (Port& port : signature.outputs)
    if (const auto its = labels.find(port.name); its != labels.end()) port.labels = std::move(its->second);
  return std::make_shared<const Card>(
      Card{number, config, std::move(signature), std::move(statistics), need_of(model), instances});
}

/// What `work` throws, as a Failure whose message is fit for clients.
template <class Work>
auto with_failures(const std::filesystem::path& path, const Work& work) -> decltype(work()) {
  try {
    return work();
  } catch (const Failure&) {
    throw;
  } catch (const Error& error) {
    const bool mine = error.code() == ErrorCode::internal || error.code() == ErrorCode::resource_limit;
    throw Failure(mine ? Code::internal : Code::invalid_argument, without_folder(error.what(), path));
  } catch (const std::bad_alloc&) {
    throw Failure(Code::resource_exhausted, "out of memory");
  } catch (const std::exception& error) {
    throw Failure(Code::internal, without_folder(error.what(), path));
  }
}

}  // namespace

std::shared_ptr<ServedModel> load_version(const ServiceOptions& options, Scheduler& scheduler, ResponseCache& cache,
                                          const FoundModel& found, std::int64_t number, inference::ModelConfig config,
                                          const LoadParameters& parameters, std::shared_ptr<Statistics> statistics,
                                          const Admit& admit) {
  const auto file = parameters.files.find(number);
  const std::string* bytes = file == parameters.files.end() ? nullptr : &file->second;
  const std::filesystem::path path = bytes != nullptr ? std::filesystem::path() : found.versions.at(number);
  const LogAbout about(found.name, number);
  return with_failures(path, [&] {
    Options engine = model_options(config, options.model);
    const RequestLimits limits = request_limits(config, options.limits);
    engine.memory_limit_bytes = limits.memory_bytes;
    if (!options.compiled_folder.empty() && bytes == nullptr)
      engine.compiled = options.compiled_folder / fmt::format("{}.{}.compiled", found.name, number);
    Model model = load_model(path, bytes, engine);
    const bool asked_for_batches = config.has_dynamic_batching();
    complete_config(config, found.name, model.inputs(), model.outputs(), options.default_max_batch);
    const QueuePolicy policy = queue_policy_of(config, asked_for_batches, options, scheduler.streams());
    const CardPtr card = card_of(found, number, config, model, std::move(statistics), policy.instances);
    MemoryShare share = admit(card);
    auto served = std::make_shared<ServedModel>(scheduler, card, policy, std::move(model), limits, std::move(share));
    if (options.warm_up) warm_up(*served, found);
    if (!is_steady(served->model(), card->need)) served->never_brief();
    keep_responses(*served, cache);
    return served;
  });
}

}  // namespace colonnade::serve
