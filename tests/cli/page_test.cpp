// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "frontends/cli/explain_html.hpp"
#include "frontends/picture/picture.hpp"
#include "markup.hpp"

namespace colonnade::cli {
namespace {

Json operator_of(int index, int rows, int ring_rows) {
  return {{"node", "block/" + std::to_string(index) + "<&\"'>"},
          {"op", "Conv"},
          {"output", "t" + std::to_string(index)},
          {"shape", {1, 16, rows, rows}},
          {"ring_rows", ring_rows},
          {"rows", rows},
          {"bytes", 64.0 * rows * rows},
          {"flop", 1e6}};
}

/// Segments of ten operators: columns, then one layer, then one island, and again.
Json plan_of(int operators) {
  Json plan = {{"model", "net"}, {"threads", 2},          {"schedule", "auto"}, {"isa", "avx2"},
               {"flop", 1e9},    {"weights_bytes", 1000}, {"arena_bytes", 2000}};
  const char* kinds[] = {"columns", "layer", "island"};
  plan["segments"] = Json::array();
  plan["islands"] = Json::array();
  for (int i = 0; i < operators; ++i) {
    if (i % 10 == 0)
      plan["segments"].push_back({{"index", i / 10},
                                  {"kind", kinds[i / 10 % 3]},
                                  {"operators", Json::array()},
                                  {"ends_because", "'x' < all rows"},
                                  {"ring_bytes", 5000}});
    plan["segments"].back()["operators"].push_back(operator_of(i, std::max(1, 256 >> (i / 20)), 3));
  }
  return plan;
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(Page, IsWellFormedForFewAndManyOperators) {
  for (const int operators : {0, 1, 5, 37, 200}) {
    const std::string page = columns_page(plan_of(operators), "net.onnx");
    EXPECT_EQ(test::markup_fault(page), "") << operators;
    EXPECT_EQ(count_of(page, "<g class=\"bar\">"), static_cast<std::size_t>(operators));
    EXPECT_EQ(count_of(page, "<svg "), 1u);
  }
}

TEST(Page, FetchesNothingAndRunsNothing) {
  const std::string page = columns_page(plan_of(30), "net.onnx");
  for (const char* banned : {"http://", "https://", "<script", "<link", "<img", "@import", "src="})
    EXPECT_EQ(page.find(banned), std::string::npos) << banned;
}

TEST(Page, EscapesNames) {
  Json plan = plan_of(2);
  plan["model"] = "</title><script>alert(1)</script>";
  const std::string page = columns_page(plan, "x");
  EXPECT_EQ(page.find("<script"), std::string::npos);
  EXPECT_EQ(test::markup_fault(page), "");
}

TEST(Page, PictureStandsAlone) {
  for (const int operators : {0, 1, 37}) {
    const std::string document = picture::columns_document(plan_of(operators));
    EXPECT_EQ(test::markup_fault(document), "") << operators;
    EXPECT_TRUE(document.starts_with("<svg class=\"colonnade\" xmlns=\"http://www.w3.org/2000/svg\"")) << document;
    EXPECT_NE(document.find("<style>svg.colonnade { --ink"), std::string::npos);
    EXPECT_EQ(document.find("\nsvg "), std::string::npos) << "a rule that would reach other pictures of a page";
  }
}

TEST(Page, DrawsLiveRowsInProportion) {
  Json plan = plan_of(1);
  plan["segments"][0]["operators"][0] = operator_of(0, 100, 50);
  const std::string picture = picture::columns_picture(plan);
  const auto height_behind = [&](const std::string& style) {
    const std::size_t at = picture.find("height=\"", picture.find("<rect class=\"" + style));
    return std::stod(picture.substr(at + 8));
  };
  EXPECT_NEAR(height_behind("live") / height_behind("ghost"), 0.5, 0.01);
}

TEST(Page, WholeTensorsAndIslandsLookDifferent) {
  const std::string picture = picture::columns_picture(plan_of(30));
  EXPECT_EQ(count_of(picture, "<rect class=\"live\""), 10u);
  EXPECT_EQ(count_of(picture, "<rect class=\"whole\""), 10u);
  EXPECT_EQ(count_of(picture, "<rect class=\"island\""), 10u);
}

TEST(Page, ToleratesMissingAndMistypedMembers) {
  for (const char* text :
       {"{}", "[]", "null", R"({"segments":[{}]})", R"({"segments":[{"operators":[{}]}],"islands":[{}]})",
        R"({"segments":[7,"x",{"kind":3,"operators":{},"columns":null,"index":"a"}],"flop":"many"})",
        R"({"segments":[{"operators":[{"shape":"?","rows":-4,"ring_rows":1e300,"bytes":-1}]}],"inputs":{}})"})
    EXPECT_EQ(test::markup_fault(columns_page(parse_json(text), "net.onnx")), "") << text;
}

}  // namespace
}  // namespace colonnade::cli
