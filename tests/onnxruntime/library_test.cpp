// SPDX-License-Identifier: Apache-2.0
// The library as a file: its names and versions, its table, and what the documents say of it.
#include "onnxruntime/library.hpp"

#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "support/process.hpp"

namespace colonnade::test::ort {
namespace {

struct Row {
  std::string name;
  int since = 0;
  bool is_offered = true;
};

/// The table's rows.
std::vector<Row> rows() {
  std::vector<Row> found;
  [[maybe_unused]] int version = 0;
#define SINCE(number) version = number;
#define STATUS(name, ...) found.push_back({#name, version, true});
#define REFUSED(name, ...) found.push_back({#name, version, false});
#define VALUE(type, name, ...) found.push_back({#name, version, true});
#define RELEASE(type) found.push_back({"Release" #type, version, true});
#include "frontends/onnxruntime/functions/all.def"
#undef SINCE
#undef STATUS
#undef REFUSED
#undef VALUE
#undef RELEASE
  return found;
}

std::string symbols(const std::string& options, const std::string& file) {
  const auto result = run_process("nm " + options + " " + shell_word(file));
  EXPECT_EQ(result.status, 0) << result.output;
  return result.output;
}

/// Names without version nodes.
std::set<std::string> exported(const std::string& file) {
  std::set<std::string> names;
  std::istringstream lines(symbols("-D --defined-only --format=posix", file));
  for (std::string line; std::getline(lines, line);) {
    const std::string name = line.substr(0, line.find_first_of("@ "));
    if (line.find(" A ") == std::string::npos) names.insert(name);
  }
  return names;
}

TEST(OrtLibrary, FirstProgramRuns) {
  const auto result = run_process(shell_word(COLONNADE_ONNXRUNTIME_FIRST) + " " + shell_word(kOurs) + " " +
                                  shell_word(COLONNADE_SOURCE_DIR "/models/embedded/digits.onnx"));
  EXPECT_EQ(result.status, 0) << result.output;
  EXPECT_TRUE(result.output.starts_with("digit 1 0.81")) << result.output;
}

TEST(OrtLibrary, AnswersEveryVersion) {
  const Library library(kOurs);
  for (std::uint32_t version = 1; version <= 32; ++version) EXPECT_NE(library.base().GetApi(version), nullptr);
  EXPECT_EQ(library.base().GetApi(0), nullptr);
  EXPECT_EQ(library.base().GetApi(33), nullptr);
  EXPECT_STREQ(library.base().GetVersionString(), "1.32.0");
}

TEST(OrtLibrary, HasNoNullInItsTable) {
  const Library library(kOurs);
  const auto all = rows();
  ASSERT_EQ(all.size() * sizeof(void*), sizeof(OrtApi));
  const auto* const functions = reinterpret_cast<void* const*>(&library.api());
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_NE(functions[i], nullptr) << all[i].name;
}

/// Places that are known from programs compiled for ONNX Runtime.
TEST(OrtLibrary, HasFunctionsInTheirPlaces) {
  const std::map<std::string, std::size_t> places = {{"CreateStatus", 0},
                                                     {"ReleaseCustomOpDomain", 101},
                                                     {"RegisterAllocator", 176},
                                                     {"CreateEnvWithOptions", 406},
                                                     {"Session_GetEpGraphAssignmentInfo", 407},
                                                     {"GetTensorElementTypeAndShapeDataReference", 414},
                                                     {"KernelContext_GetPreallocatedOutput", 425}};
  const auto all = rows();
  for (const auto& [name, place] : places) EXPECT_EQ(all.at(place).name, name);
}

TEST(OrtLibrary, RefusesByName) {
  const Library library(kOurs);
  const OrtApi& api = library.api();
  OrtStatus* const status = api.CreateLoraAdapter("file", nullptr, nullptr);
  ASSERT_NE(status, nullptr);
  EXPECT_EQ(api.GetErrorCode(status), ORT_NOT_IMPLEMENTED);
  EXPECT_NE(std::string(api.GetErrorMessage(status)).find("CreateLoraAdapter"), std::string::npos);
  api.ReleaseStatus(status);
}

TEST(OrtLibrary, OffersItsNamesUnderEveryRelease) {
  const std::string found = symbols("-D --defined-only --with-symbol-versions", kOurs);
  for (const char* release : {"1.14.0", "1.16.3", "1.22.1", "1.28.2"})
    for (const char* name : {"OrtGetApiBase", "OrtSessionOptionsAppendExecutionProvider_CPU"})
      EXPECT_NE(found.find(std::string(name) + "@VERS_" + release + "\n"), std::string::npos) << name << release;
  EXPECT_NE(found.find("OrtGetApiBase@@VERS_1.32.0\n"), std::string::npos);
  const auto soname = run_process("readelf -d " + shell_word(kOurs));
  EXPECT_NE(soname.output.find("[libonnxruntime.so.1]"), std::string::npos) << soname.output;
}

/// The third one is asked by Colonnade's module of Python.
TEST(OrtLibrary, ShowsItsFunctionsAlone) {
  EXPECT_EQ(exported(kOurs), (std::set<std::string>{"OrtGetApiBase", "OrtSessionOptionsAppendExecutionProvider_CPU",
                                                    "colonnade_ort_operators"}));
}

TEST(OrtLibrary, HasAllNamesOfTheRealOne) {
  const std::string real = real_library();
  if (real.empty()) GTEST_SKIP() << "ONNX Runtime is not installed: its symbols are not compared";
  const auto ours = exported(kOurs);
  for (const std::string& name : exported(real)) EXPECT_TRUE(ours.contains(name)) << name;
}

/// docs/onnxruntime.md names every function that is not offered, and no other.
TEST(OrtLibrary, DocumentsWhatIsNotOffered) {
  std::ifstream file(COLONNADE_SOURCE_DIR "/docs/onnxruntime.md");
  std::stringstream text;
  text << file.rdbuf();
  const std::string page = text.str();
  const auto begin = page.find("## The C interface");
  ASSERT_NE(begin, std::string::npos);
  const auto all = rows();
  static const std::regex word(R"(`([A-Za-z0-9_]+)(\*?)`)");
  std::vector<std::string> refused;
  const auto table = page.find("### Not offered", begin);
  ASSERT_NE(table, std::string::npos);
  for (std::sregex_iterator at(page.begin() + static_cast<std::ptrdiff_t>(table), page.end(), word), end; at != end;
       ++at)
    refused.push_back((*at)[1].str() + (*at)[2].str());
  const auto matches = [](const std::string& pattern, const std::string& name) {
    return pattern.ends_with('*') ? name.starts_with(pattern.substr(0, pattern.size() - 1)) : name == pattern;
  };
  for (const Row& row : all) {
    const bool named = std::any_of(refused.begin(), refused.end(),
                                   [&](const std::string& pattern) { return matches(pattern, row.name); });
    EXPECT_EQ(named, !row.is_offered) << row.name;
  }
  for (const std::string& pattern : refused)
    EXPECT_TRUE(std::any_of(all.begin(), all.end(), [&](const Row& row) { return matches(pattern, row.name); }))
        << pattern;
}

}  // namespace
}  // namespace colonnade::test::ort
