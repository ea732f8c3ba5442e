// SPDX-License-Identifier: Apache-2.0
// Real models, where they exist beside the checkout: each loads, plans and runs through the command line, matches its
// stored outputs or else the reference, and gives the same bits under every schedule and number of threads.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "support/process.hpp"
#include "support/shared.hpp"

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

#if defined(COLONNADE_ASAN) || defined(COLONNADE_TSAN)
constexpr double kLargestMacs = 3e8;  // sanitizers slow the reference too much for more
#else
constexpr double kLargestMacs = 1e12;
#endif

using colonnade::test::shared_folder;

colonnade::test::ProcessResult run(const std::string& arguments) {
  return colonnade::test::run_process(std::string(COLONNADE_CLI) + " " + arguments);
}

std::string shell_quoted(const fs::path& path) { return colonnade::test::shell_word(path.string()); }

json manifest() {
  std::ifstream file(shared_folder() / "models" / "manifest.json");
  return file ? json::parse(file) : json::array();
}

std::vector<std::string> model_files() {
  std::vector<std::string> files;
  for (const json& entry : manifest()) files.push_back(entry["file"]);
  return files;
}

std::string test_name(const testing::TestParamInfo<std::string>& info) {
  std::string name = fs::path(info.param).stem().string();
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return !std::isalnum(c); }, '_');
  return name;
}

std::string npy_header(const std::string& type, const std::vector<std::int64_t>& shape) {
  std::string dims;
  for (const std::int64_t dim : shape) dims += std::to_string(dim) + ", ";
  std::string header = "{'descr': '" + type + "', 'fortran_order': False, 'shape': (" + dims + "), }";
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  const auto length = static_cast<unsigned>(header.size());
  std::string start = "\x93NUMPY";
  start += {'\x01', '\0', static_cast<char>(length & 255), static_cast<char>(length >> 8)};
  return start + header;
}

/// Writes a float32 .npy whose element i is value(i).
template <class Value>
void write_npy(const fs::path& path, const std::vector<std::int64_t>& shape, Value value) {
  const std::int64_t count = std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
  std::ofstream file(path, std::ios::binary);
  file << npy_header("<f4", shape);
  for (std::int64_t i = 0; i < count; ++i) {
    const float element = value(i);
    file.write(reinterpret_cast<const char*>(&element), sizeof element);
  }
}

fs::path temporary(const std::string& name) {
  return fs::temp_directory_path() / ("colonnade_" + std::to_string(getpid()) + "_" + name);
}

/// Writes an integer .npy of type '<i4', '<i8', '|i1' or '|u1' whose elements count up from 0 below `limit`, or are all
/// `constant`.
void write_integers(const fs::path& path, const std::string& type, const std::vector<std::int64_t>& shape,
                    std::int64_t limit, std::int64_t constant) {
  const std::int64_t count = std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
  std::ofstream file(path, std::ios::binary);
  file << npy_header(type, shape);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t element = limit > 0 ? (i * 7 + i / 5) % limit : constant;
    file.write(reinterpret_cast<const char*>(&element), type.back() - '0');
  }
}

/// Sizes of open dimensions by name, and what integer inputs hold: models want tokens, lengths, rates.
struct Variant {
  std::map<std::string, std::vector<std::int64_t>> shapes;
  std::map<std::string, std::int64_t> limits;     ///< elements in [0, limit)
  std::map<std::string, std::int64_t> constants;  ///< all elements
};

using Shapes = std::map<std::string, std::vector<std::int64_t>>;

Shapes past(const std::string& prefix, int count, const std::vector<std::int64_t>& shape, Shapes shapes) {
  for (int i = 0; i < count; ++i) shapes[prefix + std::to_string(i)] = shape;
  return shapes;
}

/// Two or more shapes for models with open dimensions; models with an open batch run one and three.
std::vector<Variant> variants_of(const std::string& name) {
  static const std::map<std::string, std::vector<Variant>> table = {
      {"silero_vad_v6",
       {{{{"input", {1, 576}}, {"state", {2, 1, 128}}}, {}, {{"sr", 16000}}},
        {{{"input", {3, 288}}, {"state", {2, 3, 128}}}, {}, {{"sr", 8000}}}}},
      {"silero_vad_op18_ifless",
       {{{{"input", {1, 576}}, {"state", {2, 1, 128}}}, {}, {{"sr", 16000}}},
        {{{"input", {3, 576}}, {"state", {2, 3, 128}}}, {}, {{"sr", 16000}}}}},
      {"oww_speech_embedding", {{{{"input_1", {1, 76, 32, 1}}}, {}, {}}, {{{"input_1", {3, 76, 32, 1}}}, {}, {}}}},
      {"oww_melspectrogram", {{{{"input", {1, 16000}}}, {}, {}}, {{{"input", {3, 8000}}}, {}, {}}}},
      {"dnsmos_sig_bak_ovr", {{{{"input_1", {1, 144160}}}, {}, {}}}},
      {"magika_v3_3", {{{{"bytes", {1, 2048}}}, {{"bytes", 256}}, {}}, {{{"bytes", {3, 2048}}}, {{"bytes", 256}}, {}}}},
      {"magika_v1", {{{{"bytes", {1, 1536}}}, {}, {}}, {{{"bytes", {3, 1536}}}, {}, {}}}},
      {"byte_bilstm_tokenizer",
       {{{{"input", {1, 100}}}, {{"input", 256}}, {}}, {{{"input", {3, 37}}}, {{"input", 256}}, {}}}},
      {"nanogpt_char_64", {{{{"input", {1, 64}}}, {{"input", 60}}, {}}, {{{"input", {3, 64}}}, {{"input", 60}}, {}}}},
      {"multihead_attention", {{{{"input", {1, 1, 16, 128}}}, {}, {}}, {{{"input", {3, 1, 16, 128}}}, {}, {}}}},
      {"tiny_gpt2_past_contrib",
       {{past("past_", 5, {2, 1, 4, 16, 8},
              {{"input_ids", {1, 8}}, {"position_ids", {1, 8}}, {"attention_mask", {1, 24}}}),
         {{"input_ids", 50}, {"position_ids", 20}},
         {{"attention_mask", 1}}},
        {past("past_", 5, {2, 3, 4, 0, 8},
              {{"input_ids", {3, 5}}, {"position_ids", {3, 5}}, {"attention_mask", {3, 5}}}),
         {{"input_ids", 50}, {"position_ids", 5}},
         {{"attention_mask", 1}}}}},
      {"bert_toy_pt_opset10",
       {{{{"input_ids", {1, 64}}, {"token_type_ids", {1, 64}}, {"input_mask", {1, 64}}},
         {{"input_ids", 50}, {"token_type_ids", 2}},
         {{"input_mask", 1}}},
        {{{"input_ids", {3, 17}}, {"token_type_ids", {3, 17}}, {"input_mask", {3, 17}}},
         {{"input_ids", 50}, {"token_type_ids", 2}},
         {{"input_mask", 1}}}}},
      {"gpt2_past_pt_opset11",
       {{past("past_", 12, {2, 1, 2, 4, 2}, {{"input_ids", {1, 1}}}), {{"input_ids", 5}}, {}},
        {past("past_", 12, {2, 3, 2, 7, 2}, {{"input_ids", {3, 1}}}), {{"input_ids", 5}}, {}}}},
      {"lstm_loop_nuphar", {{{{"input", {20, 1, 10}}}, {}, {}}, {{{"input", {7, 1, 10}}}, {}, {}}}},
      {"cntk_scan_lstm", {{{{"Input13165", {8, 1, 3}}}, {}, {}}, {{{"Input13165", {3, 1, 3}}}, {}, {}}}},
      {"tashkeel_conformer_int8",
       {{{{"char_inputs", {1, 128}}, {"input_lengths", {1}}}, {{"char_inputs", 40}}, {{"input_lengths", 128}}},
        {{{"char_inputs", {3, 40}}, {"input_lengths", {3}}}, {{"char_inputs", 40}}, {{"input_lengths", 40}}}}},
      {"tract_qlstm_scan", {{{{"input", {3, 3}}}, {}, {}}, {{{"input", {9, 3}}}, {}, {}}}},
      {"tract_qtdnn", {{{{"input", {10, 10}}}, {}, {}}, {{{"input", {23, 10}}}, {}, {}}}},
      {"attention_past_matmulinteger_u8s8",
       {{{{"input", {1, 8, 768}}, {"past", {2, 1, 12, 16, 64}}}, {}, {}},
        {{{"input", {3, 5, 768}}, {"past", {2, 3, 12, 9, 64}}}, {}, {}}}},
      {"prisma_portrait_256", {{{{"input_3", {1, 3, 256, 256}}}, {}, {}}, {{{"input_3", {3, 3, 256, 256}}}, {}, {}}}},
      {"retinaface_mnet025_dyn", {{{{"input", {1, 3, 480, 640}}}, {}, {}}, {{{"input", {3, 3, 128, 160}}}, {}, {}}}},
      {"ppocrv3_det_ch", {{{{"x", {1, 3, 320, 480}}}, {}, {}}, {{{"x", {3, 3, 96, 160}}}, {}, {}}}},
      {"ppocr_cls_mobile_v2", {{{{"x", {1, 3, 48, 192}}}, {}, {}}, {{{"x", {3, 3, 48, 192}}}, {}, {}}}},
      {"ppocr_rec_en_number_v2", {{{{"x", {1, 3, 32, 320}}}, {}, {}}, {{{"x", {3, 3, 32, 100}}}, {}, {}}}},
      {"espcn_x3_224", {{{{"input", {1, 1, 224, 224}}}, {}, {}}, {{{"input", {3, 1, 224, 224}}}, {}, {}}}},
      {"cifar10_pytorch_cnn", {{{{"input", {1, 3, 32, 32}}}, {}, {}}, {{{"input", {3, 3, 32, 32}}}, {}, {}}}},
      {"xfeat_gridsample_bicubic",
       {{{{"x", {1, 64, 64, 120}}, {"pos", {1, 4096, 2}}}, {}, {}},
        {{{"x", {1, 16, 30, 40}}, {"pos", {1, 100, 2}}}, {}, {}}}},
  };
  const auto found = table.find(name);
  return found == table.end() ? std::vector<Variant>(1) : found->second;
}

std::string npy_type(const std::string& declared) {
  if (declared.starts_with("int32")) return "<i4";
  if (declared.starts_with("int64")) return "<i8";
  if (declared.starts_with("uint8")) return "|u1";
  return "|i1";
}

/// Options for a variant: files for integers that must mean something, shapes for the rest.
std::string variant_options(const json& entry, const Variant& variant, std::size_t number) {
  std::string options;
  for (const json& input : entry["inputs"]) {
    const std::string name = input[0];
    const auto shape = variant.shapes.find(name);
    const auto limit = variant.limits.find(name), constant = variant.constants.find(name);
    if (limit != variant.limits.end() || constant != variant.constants.end()) {
      const fs::path file = temporary(std::to_string(number) + name + ".npy");
      write_integers(file, npy_type(input[1]), shape == variant.shapes.end() ? Shapes::mapped_type() : shape->second,
                     limit == variant.limits.end() ? 0 : limit->second,
                     constant == variant.constants.end() ? 0 : constant->second);
      options += " --input " + shell_quoted(name + "=" + file.string());
    } else if (shape != variant.shapes.end()) {
      std::string text;
      for (const std::int64_t dim : shape->second) text += (text.empty() ? "" : "x") + std::to_string(dim);
      options += " --shape " + shell_quoted(name + ":" + text);
    }
  }
  return options;
}

/// What to feed a model: its stored tensors, pixels from 0 to 255 where it takes those (its normalisation is
/// ill-conditioned on anything smaller), else what its variants say and random numbers.
std::vector<std::string> input_options(const json& entry, const fs::path& model, const fs::path& stored) {
  const std::string name = model.stem().string();
  std::vector<std::string> runs;
  if (fs::exists(stored / "io.npz")) {
    // the arrays of the file by the model's outputs; what is not named is compared with the reference
    static const std::map<std::string, std::pair<std::string, std::string>> arrays = {
        {"xgboost_classifier_tree", {"probabilities", "probabilities"}},
        {"lgbm_classifier_tensor", {"probabilities", "probabilities"}},
        {"byte_bilstm_tokenizer", {"output", "Add_26"}},
        {"tract_qlstm_scan", {"output", "output"}}};
    const std::string archive = (stored / "io.npz").string();
    std::string options = " --input " + shell_quoted("input=" + archive + ":input");
    if (const auto array = arrays.find(name); array != arrays.end())
      options += " --expect " + shell_quoted(array->second.first + "=" + archive + ":" + array->second.second);
    runs.push_back(options);
  } else if (name == "autoencoder1d") {  // the file names its output otherwise than the model
    runs.push_back(
        " --input " + shell_quoted("input=" + (stored / "inputs.npz").string() + ":arr_0") + " --expect " +
        shell_quoted(entry["outputs"][0][0].get<std::string>() + "=" + (stored / "outputs.npz").string() + ":output"));
  } else if (fs::exists(stored)) {
    runs.push_back(" --data " + shell_quoted(stored));
  } else if (name == "fns_candy_720") {
    const fs::path pixels = temporary("pixels.npy");
    std::uint32_t state = 1;
    write_npy(pixels, {1, 3, 720, 720}, [&](std::int64_t) {
      state = state * 1664525 + 1013904223;
      return static_cast<float>(state >> 24);
    });
    runs.push_back(" --input " + shell_quoted(pixels));
  }
  if (!runs.empty() && variants_of(name).front().shapes.empty()) return runs;
  for (const Variant& variant : variants_of(name)) runs.push_back(variant_options(entry, variant, runs.size()));
  return runs;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

class SharedModel : public testing::TestWithParam<std::string> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SharedModel);

TEST_P(SharedModel, MatchesAndIsTheSameForEverySchedule) {
  const fs::path model = shared_folder() / "models" / GetParam();
  json entry;
  for (const json& candidate : manifest())
    if (candidate["file"] == GetParam()) entry = candidate;
  if (entry["macs"].is_number() && entry["macs"].get<double>() > kLargestMacs)
    GTEST_SKIP() << "too slow under a sanitizer";
  fs::path stored = model;
  stored.replace_filename(model.stem().string() + "_io");
  for (const std::string& options : input_options(entry, model, stored)) {
    const colonnade::test::ProcessResult outcome = run("check " + shell_quoted(model) + options + " --schedules");
    EXPECT_EQ(outcome.status, 0) << options << "\n" << outcome.output;
    std::printf("%-40s %s\n", GetParam().c_str(), first_line(outcome.output).c_str());
  }
}

INSTANTIATE_TEST_SUITE_P(Walk, SharedModel, testing::ValuesIn(model_files()), test_name);

}  // namespace
