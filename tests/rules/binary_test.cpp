// SPDX-License-Identifier: Apache-2.0
// What the built library shows and what the objects of one tier hold. Needs nm and c++filt.
#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <sstream>

#include "rules/source_tree.hpp"
#include "support/process.hpp"

namespace colonnade {
namespace {

using test::run_process;
using test::shell_word;

struct Symbol {
  char type = '?';
  std::string name;
};

/// Symbols as nm lists them, demangled.
std::vector<Symbol> symbols_of(const std::string& options, const std::string& file) {
  const auto result = run_process("nm -C " + options + " " + shell_word(file));
  EXPECT_EQ(result.status, 0) << result.output;
  static const std::regex regex(R"(^(?:[0-9a-f]+)? +([A-Za-z]) (.*)$)");
  std::vector<Symbol> symbols;
  std::istringstream lines(result.output);
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (std::regex_match(line, match, regex)) symbols.push_back({match.str(1)[0], match[2]});
  }
  return symbols;
}

std::set<std::string> words_of_public_headers() {
  std::set<std::string> words;
  static const std::regex regex(R"([A-Za-z_][A-Za-z_0-9]*)");
  for (const auto& file : test::source_files({"include"}, test::is_cpp)) {
    for (const std::string& line : file.lines) {
      for (std::sregex_iterator word(line.begin(), line.end(), regex), end; word != end; ++word)
        words.insert(word->str());
    }
  }
  return words;
}

/// The qualified name without arguments and tags: "colonnade::Model::load".
std::string qualified_name(const std::string& demangled) {
  std::string name = demangled;
  for (const char* prefix : {"typeinfo for ", "typeinfo name for ", "vtable for "}) {
    if (name.starts_with(prefix)) name.erase(0, std::string(prefix).size());
  }
  static const std::regex abi_tag(R"(\[abi:[^\]]*\])");
  return std::regex_replace(name.substr(0, name.find('(')), abi_tag, "");
}

bool declared(const std::string& demangled, const std::set<std::string>& words) {
  const std::string name = qualified_name(demangled);
  if (!name.starts_with("colonnade::") && !name.starts_with("colonnade_")) return false;
  if (name.find("::Impl") != std::string::npos) return false;
  static const std::regex regex(R"([A-Za-z_][A-Za-z_0-9]*)");
  for (std::sregex_iterator word(name.begin(), name.end(), regex), end; word != end; ++word) {
    if (!words.contains(word->str())) return false;
  }
  return true;
}

TEST(SharedLibrary, ShowsThePublicApiAlone) {
  const std::set<std::string> words = words_of_public_headers();
  const std::vector<Symbol> symbols = symbols_of("-D --defined-only", COLONNADE_LIBRARY_FILE);
  ASSERT_FALSE(symbols.empty());
  for (const Symbol& symbol : symbols) {
    EXPECT_TRUE(declared(symbol.name, words)) << "exported, but not declared in include/: " << symbol.name;
  }
}

TEST(SharedLibrary, ShowsWhatUsersNeed) {
  std::set<std::string> names;
  for (const Symbol& symbol : symbols_of("-D --defined-only", COLONNADE_LIBRARY_FILE)) {
    names.insert(qualified_name(symbol.name));
  }
  for (const char* name : {"colonnade::Model::load", "colonnade::Model::embedded", "colonnade::Session::run",
                           "colonnade::Tensor::Tensor", "colonnade::Error", "colonnade::version"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
}

TEST(SharedLibrary, RuleSeesInternals) {
  const std::set<std::string> words = words_of_public_headers();
  EXPECT_TRUE(declared("colonnade::Model::inputs() const", words));
  EXPECT_TRUE(declared("colonnade::Tensor::~Tensor()", words));
  EXPECT_TRUE(declared("colonnade::Model::embedded_names[abi:cxx11]()", words));
  EXPECT_TRUE(declared("vtable for colonnade::Error", words));
  EXPECT_FALSE(declared("colonnade::kernels::host_features()", words));
  EXPECT_FALSE(declared("colonnade::Model::Impl::Impl()", words));
  EXPECT_FALSE(declared("fmt::v9::vformat(int)", words));
}

/// Objects of a tier: a library of its own.
std::vector<std::filesystem::path> tier_objects(const std::string& tier) {
  std::vector<std::filesystem::path> objects;
  const auto folder =
      std::filesystem::path(COLONNADE_BINARY_DIR) / "CMakeFiles" / ("colonnade_kernels_" + tier + ".dir");
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.path().extension() == ".o") objects.push_back(entry.path());
  return objects;
}

std::string lower(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

/// Whether the linker may take one tier's function for another's. xsimd's namespace is named after the tier.
bool may_be_shared(const Symbol& symbol, const std::string& tier) {
  return std::string("WVuvw").find(symbol.type) != std::string::npos &&
         symbol.name.find("xsimd_" + tier + "::") == std::string::npos;
}

TEST(SharedLibrary, RuleSeesWhatTiersShare) {
  EXPECT_TRUE(may_be_shared({'W', "xsimd::batch<float, xsimd::sse2>::batch(float)"}, "avx2"));
  EXPECT_TRUE(may_be_shared({'V', "xsimd_avx2::constants::minuszero"}, "avx512"));
  EXPECT_FALSE(may_be_shared({'W', "xsimd_avx2::batch<float, xsimd_avx2::sse2>::batch(float)"}, "avx2"));
  EXPECT_FALSE(may_be_shared({'t', "colonnade::kernels::(anonymous namespace)::exp"}, "avx2"));
}

class TierObjects : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (std::string(COLONNADE_SANITIZERS) != "") GTEST_SKIP() << "sanitizers add symbols of their own";
#if !defined(__x86_64__)
    GTEST_SKIP() << "no such tier on this architecture";
#endif
  }
};

TEST_P(TierObjects, ShareNoFunctionWithAnotherTier) {
  const auto objects = tier_objects(GetParam());
  ASSERT_FALSE(objects.empty());
  for (const auto& object : objects) {
    std::size_t exported = 0;
    for (const Symbol& symbol : symbols_of("--defined-only", object.string())) {
      EXPECT_FALSE(may_be_shared(symbol, GetParam()))
          << object << ": weak " << symbol.name << ": the linker may take it for every tier";
      if (!(symbol.type >= 'A' && symbol.type <= 'Z')) continue;
      ++exported;
      EXPECT_NE(lower(symbol.name).find(GetParam()), std::string::npos)
          << object << ": " << symbol.name << " does not name its tier";
    }
    EXPECT_GE(exported, 1u) << object;
  }
}

TEST_P(TierObjects, RunNothingBeforeMain) {
  for (const auto& object : tier_objects(GetParam())) {
    const auto result = run_process("readelf -SW " + shell_word(object.string()));
    ASSERT_EQ(result.status, 0) << result.output;
    EXPECT_EQ(result.output.find(".init_array"), std::string::npos) << object;
  }
}

TEST_P(TierObjects, NeitherAllocateNorThrowNorStartThreads) {
  static const std::regex regex(
      "^(operator (new|delete)|(m|c|re)alloc|free|aligned_alloc|posix_memalign|"
      "pthread_|omp_|GOMP_|__kmpc|__cxa_|std::)");
  for (const auto& object : tier_objects(GetParam())) {
    for (const Symbol& symbol : symbols_of("--undefined-only", object.string())) {
      EXPECT_FALSE(std::regex_search(symbol.name, regex)) << object << ": " << symbol.name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Tiers, TierObjects, testing::Values("avx2", "avxvnni", "avx512", "vnni", "bf16", "amx"),
                         [](const auto& parameter) { return std::string(parameter.param); });

}  // namespace
}  // namespace colonnade
