// SPDX-License-Identifier: Apache-2.0
#include "explain_html.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "frontends/picture/picture.hpp"

namespace colonnade::cli {
namespace {

constexpr const char* kStyle = R"(
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 15px/1.5 system-ui, -apple-system, "Segoe UI", sans-serif; }
main { max-width: 1180px; margin: 0 auto; padding: 36px 24px 64px; }
h1 { font-size: 26px; line-height: 1.25; margin: 0 0 4px; letter-spacing: -0.01em; overflow-wrap: anywhere; }
h2 { font-size: 17px; margin: 36px 0 10px; }
p { margin: 0 0 10px; color: var(--soft); max-width: 76ch; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(130px, 1fr)); gap: 12px; margin: 22px 0 8px; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 12px 14px; }
.card b { display: block; font-size: 20px; font-weight: 600; font-variant-numeric: tabular-nums; }
.card span { color: var(--soft); font-size: 13px; }
.scroll { overflow-x: auto; background: var(--card); border: 1px solid var(--line); border-radius: 10px; }
.picture { padding: 8px; }
svg { display: block; margin: 0 auto; }
.legend { display: flex; flex-wrap: wrap; gap: 6px 20px; margin: 12px 2px 0; color: var(--soft); font-size: 13px; }
.legend i { display: inline-block; width: 12px; height: 12px; border-radius: 3px; margin-right: 7px; vertical-align: -1px; }
table { border-collapse: collapse; width: 100%; font-size: 13px; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: 6px 12px; border-top: 1px solid var(--line); white-space: nowrap; }
th { color: var(--soft); font-weight: 500; border-top: 0; }
th.l, td.l { text-align: left; }
td.why { white-space: normal; min-width: 200px; }
details { background: var(--card); border: 1px solid var(--line); border-radius: 10px; margin: 8px 0; overflow-x: auto; }
summary { cursor: pointer; padding: 9px 14px; font-weight: 500; }
summary small { color: var(--soft); font-weight: 400; font-size: 13px; }
)";

std::string page_colours() {
  return fmt::format(
      ":root {{ color-scheme: light dark; --page: #fbfaf8; --card: #ffffff; {} }}\n"
      "@media (prefers-color-scheme: dark) {{ :root {{ --page: #14161b; --card: #1c1f26; {} }} }}",
      picture::colours(false), picture::colours(true));
}

std::string bytes_or_dash(const Json& object, const char* key) {
  const double bytes = number_in(object, key, -1);
  return bytes < 0 ? "-" : human_bytes(bytes);
}

std::string card(const std::string& value, const std::string& what) {
  return fmt::format("<div class=\"card\"><b>{}</b><span>{}</span></div>\n", escaped(value), escaped(what));
}

/// Bytes of the tensors inside column segments: as whole tensors, and of their rings.
struct Saved {
  double whole_bytes = 0;
  double ring_bytes = 0;
};

Saved saved_bytes(const Json& plan) {
  Saved saved;
  for (const Json& segment : array_in(plan, "segments")) {
    if (text_in(segment, "kind") != "columns") continue;
    saved.ring_bytes += number_in(segment, "ring_bytes");
    for (const Json& item : array_in(segment, "operators"))
      if (number_in(item, "ring_rows") > 0) saved.whole_bytes += number_in(item, "bytes");
  }
  return saved;
}

std::string cards(const Json& plan) {
  std::size_t operators = 0;
  for (const Json& segment : array_in(plan, "segments")) operators += array_in(segment, "operators").size();
  const Saved saved = saved_bytes(plan);
  std::string out = "<div class=\"cards\">\n";
  out += card(std::to_string(array_in(plan, "segments").size()), "segments");
  out += card(std::to_string(operators), "operators");
  out += card(std::to_string(array_in(plan, "islands").size()), "islands");
  out += card(human_count(number_in(plan, "flop")) + "flop", "a run");
  out += card(bytes_or_dash(plan, "weights_bytes"), "weights");
  out += card(bytes_or_dash(plan, "arena_bytes"), "arena");
  if (saved.whole_bytes > 0)
    out +=
        card(human_bytes(saved.ring_bytes), fmt::format("in rings, for {} of tensors", human_bytes(saved.whole_bytes)));
  return out + "</div>\n";
}

std::string cell(const std::string& text, const char* style = "") {
  return *style == '\0' ? fmt::format("<td>{}</td>", escaped(text))
                        : fmt::format("<td class=\"{}\">{}</td>", style, escaped(text));
}

std::string segment_table(const Json& plan) {
  std::string out =
      "<div class=\"scroll\"><table>\n<tr><th>segment</th><th class=\"l\">kind</th><th>operators</th><th "
      "class=\"l\">columns</th>"
      "<th>rows a "
      "step</th><th>rings</th><th>weights</th><th>read</th><th>written</th><th>flop</th><th>predicted</"
      "th><th>measured</th>"
      "<th class=\"l\">ends because</th></tr>\n";
  for (const Json& segment : array_in(plan, "segments")) {
    const bool columns = text_in(segment, "kind") == "columns";
    out += "<tr>" + cell(text_in(segment, "index", "?")) + cell(text_in(segment, "kind", "?"), "l") +
           cell(std::to_string(array_in(segment, "operators").size())) +
           cell(columns ? columns_in(segment) : "-", "l") +
           cell(columns ? text_in(segment, "rows_per_step", "-") : "-") + cell(bytes_or_dash(segment, "ring_bytes")) +
           cell(bytes_or_dash(segment, "weights_bytes")) + cell(bytes_or_dash(segment, "read_bytes")) +
           cell(bytes_or_dash(segment, "written_bytes")) + cell(human_count(number_in(segment, "flop"))) +
           cell(human_ms(number_in(segment, "predicted_ms"))) +
           cell(segment.contains("measured_ms") ? human_ms(number_in(segment, "measured_ms")) : "-") +
           cell(text_in(segment, "ends_because", "-"), "l why") + "</tr>\n";
  }
  return out + "</table></div>\n";
}

std::string operator_tables(const Json& plan) {
  std::string out;
  for (const Json& segment : array_in(plan, "segments")) {
    out += fmt::format("<details><summary>Segment {} <small>{}, {} operators</small></summary>\n<table>\n",
                       escaped(text_in(segment, "index", "?")), escaped(text_in(segment, "kind", "?")),
                       array_in(segment, "operators").size());
    out +=
        "<tr><th class=\"l\">operator</th><th class=\"l\">type</th><th class=\"l\">output</th><th "
        "class=\"l\">shape</th>"
        "<th>live rows</th><th>rows</th><th>bytes</th><th>flop</th></tr>\n";
    for (const Json& item : array_in(segment, "operators")) {
      const std::string ring = text_in(item, "ring_rows", "-");
      out += "<tr>" + cell(shortened(text_in(item, "node"), 48), "l") + cell(text_in(item, "op"), "l") +
             cell(shortened(text_in(item, "output"), 40), "l") + cell(shape_in(item), "l") +
             cell(ring == "0" ? "-" : ring) + cell(text_in(item, "rows", "-")) + cell(bytes_or_dash(item, "bytes")) +
             cell(human_count(number_in(item, "flop"))) + "</tr>\n";
    }
    out += "</table></details>\n";
  }
  return out;
}

std::string island_table(const Json& plan) {
  if (array_in(plan, "islands").empty()) return "";
  std::string out =
      "<h2>Islands</h2>\n<p>Operators that run on whole tensors, outside the engine's own kernels.</p>\n<div "
      "class=\"scroll\"><table>\n"
      "<tr><th class=\"l\">operator</th><th class=\"l\">type</th><th class=\"l\">engine</th><th "
      "class=\"l\">reason</th></tr>\n";
  for (const Json& item : array_in(plan, "islands"))
    out += "<tr>" + cell(text_in(item, "node"), "l") + cell(text_in(item, "op"), "l") +
           cell(text_in(item, "engine"), "l") + cell(text_in(item, "reason"), "l why") + "</tr>\n";
  return out + "</table></div>\n";
}

std::string interface_line(const Json& plan) {
  std::string text;
  for (const char* side : {"inputs", "outputs"})
    for (const Json& item : array_in(plan, side))
      text += fmt::format("{}{} {} {}",
                          text.empty()                          ? ""
                          : std::string_view(side) == "outputs" ? " \xE2\x86\x92 "
                                                                : ", ",
                          text_in(item, "name"), text_in(item, "dtype"), shape_in(item));
  return text;
}

constexpr const char* kLegend =
    "<div class=\"legend\"><span><i style=\"background:var(--live)\"></i>rows alive in a ring while a column walks "
    "down</span>"
    "<span><i style=\"background:var(--ghost)\"></i>rows that never exist at the same time</span>"
    "<span><i style=\"background:var(--whole)\"></i>whole tensor in memory</span>"
    "<span><i style=\"background:var(--island)\"></i>island</span></div>\n";

}  // namespace

std::string columns_page(const Json& plan, const std::string& model) {
  const std::string name = escaped(text_in(plan, "model", model));
  std::string out = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n<meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\"/>\n<title>{} \xC2\xB7 "
      "columns</title>\n<style>{}{}{}</style>\n</head>\n<body>\n<main>\n",
      name, page_colours(), kStyle, picture::rules());
  out += fmt::format("<h1>{}</h1>\n<p>{}<br/>schedule {}, {} threads, {}, blocking {}</p>\n", name,
                     escaped(interface_line(plan)), escaped(text_in(plan, "schedule", "unknown")),
                     escaped(text_in(plan, "threads", "?")), escaped(text_in(plan, "isa", "unknown isa")),
                     escaped(text_in(plan, "blocking", "unknown")));
  out += cards(plan);
  out +=
      "<h2>Columns</h2>\n<p>Every bar is the output of one operator, from the first layer at the left to the last at "
      "the right. "
      "Height follows its rows (square root), width its bytes (logarithm). Hover for numbers; a long plan scrolls "
      "sideways.</p>\n";
  out += "<div class=\"scroll picture\">\n" + picture::columns_picture(plan) + "</div>\n" + kLegend;
  out += "<h2>Segments</h2>\n" + segment_table(plan) + island_table(plan);
  out += "<h2>Operators</h2>\n" + operator_tables(plan);
  out += fmt::format("<p style=\"margin-top:32px;font-size:13px\">colonnade {}</p>\n</main>\n</body>\n</html>\n",
                     escaped(version()));
  return out;
}

}  // namespace colonnade::cli
