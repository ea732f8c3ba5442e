// SPDX-License-Identifier: Apache-2.0
#include "frontends/picture/picture.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace colonnade::picture {
namespace {

constexpr const char* kRules = R"(
svg .frame { stroke: var(--line); fill: var(--layer); }
svg .columns .frame { fill: var(--columns); }
svg .island .frame { fill: var(--isles); }
svg .ghost { fill: var(--ghost); }
svg .live { fill: var(--live); }
svg .whole { fill: var(--whole); }
svg rect.island { fill: url(#hatch); }
svg .hatch-back { fill: var(--island-soft); }
svg .hatch-line { fill: var(--island); }
svg .flow { fill: var(--flow); opacity: 0.38; }
svg .bar:hover rect { stroke: var(--ink); stroke-width: 1.5; }
svg text { font: 11px system-ui, -apple-system, "Segoe UI", sans-serif; fill: var(--soft); }
svg .name { font-size: 12px; font-weight: 600; fill: var(--ink); }
svg .rows { text-anchor: middle; font-size: 10px; }
)";

constexpr const char* kLight =
    "--ink: #1d2430; --soft: #667085; --line: #e3e0da; --live: #c2410c; --flow: #fb923c; --whole: #47638a; "
    "--ghost: #dcd8d0; --island: #9d174d; --island-soft: #f5c2d7; --columns: #fff4e8; --layer: #eef2f8; "
    "--isles: #fdeef4;";
constexpr const char* kDark =
    "--ink: #e8e6e1; --soft: #98a2b3; --line: #30343d; --live: #fb923c; --flow: #9a4a12; --whole: #7d9cc9; "
    "--ghost: #333842; --island: #f472b6; --island-soft: #5b2140; --columns: #2a2119; --layer: #1e2633; "
    "--isles: #2d1a24;";

constexpr double kTop = 64;      ///< room for segment titles
constexpr double kHeight = 280;  ///< of the tallest tensor
constexpr double kLeft = 16;
constexpr double kTarget = 1096;  ///< width that few operators are stretched to
constexpr double kMostStretch = 4;
constexpr double kMinBar = 7;
constexpr double kMaxBar = 30;
constexpr double kGap = 9;
constexpr std::size_t kLongestLabel = 22;
constexpr double kLabelSlope = 5.4;  ///< height of one slanted character
constexpr double kSegmentPadding = 14;
constexpr double kSegmentGap = 12;
constexpr double kNarrowestTitle = 90;

/// One tensor: the output of one operator.
struct Bar {
  const Json* item = nullptr;
  double x = 0;
  double width = 0;
  double height = 0;
  double live = 1;  ///< share of the rows that exist at a time
};

struct Group {
  const Json* segment = nullptr;
  std::string kind;
  std::vector<Bar> bars;
  double x = 0;
  double width = 0;
};

/// Numbers that turn bytes and rows into pixels.
struct Scale {
  double smallest_bytes = 1;
  double largest_bytes = 1;
  double most_rows = 1;

  double bar_width(double bytes) const {
    if (largest_bytes <= smallest_bytes) return (kMinBar + kMaxBar) / 2;
    const double position =
        std::log2(std::max(bytes, smallest_bytes) / smallest_bytes) / std::log2(largest_bytes / smallest_bytes);
    return kMinBar + position * (kMaxBar - kMinBar);
  }
  double bar_height(double rows) const { return std::max(12.0, kHeight * std::sqrt(std::max(rows, 1.0) / most_rows)); }
};

double rows_of(const Json& item) { return std::max(1.0, number_in(item, "rows", 1)); }

double bytes_of(const Json& item) { return std::max(1.0, number_in(item, "bytes", 1)); }

Scale measure(const Json& plan) {
  Scale scale;
  scale.smallest_bytes = HUGE_VAL;
  for (const Json& segment : array_in(plan, "segments"))
    for (const Json& item : array_in(segment, "operators")) {
      scale.smallest_bytes = std::min(scale.smallest_bytes, bytes_of(item));
      scale.largest_bytes = std::max(scale.largest_bytes, bytes_of(item));
      scale.most_rows = std::max(scale.most_rows, rows_of(item));
    }
  return scale;
}

double live_share(const Json& item, const std::string& kind) {
  const double ring = number_in(item, "ring_rows");
  return kind == "columns" && ring > 0 ? std::min(1.0, ring / rows_of(item)) : 1.0;
}

std::vector<Group> place(const Json& plan, const Scale& scale) {
  std::vector<Group> groups;
  double x = kLeft;
  for (const Json& segment : array_in(plan, "segments")) {
    Group group{&segment, text_in(segment, "kind", "layer"), {}, x, 0};
    x += kSegmentPadding;
    for (const Json& item : array_in(segment, "operators")) {
      const double width = scale.bar_width(bytes_of(item));
      group.bars.push_back({&item, x, width, scale.bar_height(rows_of(item)), live_share(item, group.kind)});
      x += width + kGap;
    }
    x += kSegmentPadding - (group.bars.empty() ? 0 : kGap);
    group.width = x - group.x;
    x += kSegmentGap;
    groups.push_back(std::move(group));
  }
  return groups;
}

/// Widens a picture that would leave the page empty.
void stretch(std::vector<Group>& groups) {
  if (groups.empty()) return;
  const double used = groups.back().x + groups.back().width - kLeft;
  const double factor = std::clamp((kTarget - kLeft) / used, 1.0, kMostStretch);
  const auto moved = [&](double x) { return kLeft + (x - kLeft) * factor; };
  for (Group& group : groups) {
    group.x = moved(group.x);
    group.width *= factor;
    for (Bar& bar : group.bars) {
      bar.x = moved(bar.x);
      bar.width *= factor;
    }
  }
}

std::string label_of(const Bar& bar) { return shortened(text_in(*bar.item, "op", "?"), kLongestLabel); }

double label_room(const std::vector<Group>& groups) {
  std::size_t longest = 4;
  for (const Group& group : groups)
    for (const Bar& bar : group.bars) longest = std::max(longest, label_of(bar).size());
  return 30 + kLabelSlope * static_cast<double>(longest);
}

double middle() { return kTop + kHeight / 2; }

/// Top and height of the live rows: a third of the way down the tensor, so that columns are seen to line up.
std::pair<double, double> live_band(const Bar& bar) {
  const double top = middle() - bar.height / 2;
  const double band = std::max(3.0, bar.height * bar.live);
  return {top + (bar.height - band) * 0.38, band};
}

std::string bar_title(const Bar& bar, const std::string& kind) {
  const Json& item = *bar.item;
  std::string text =
      fmt::format("{}\n{}  {}", text_in(item, "node", "(unnamed)"), text_in(item, "op", "?"), shape_in(item));
  if (bar.live < 1)
    text += fmt::format("\nlive rows {} of {} ({:.1f} %)", text_in(item, "ring_rows"), text_in(item, "rows"),
                        100 * bar.live);
  else
    text += fmt::format("\nwhole: {} rows", text_in(item, "rows", "?"));
  text += fmt::format("\n{} as a whole tensor", human_bytes(number_in(item, "bytes")));
  if (bar.live < 1) text += fmt::format(", {} live", human_bytes(number_in(item, "bytes") * bar.live));
  if (number_in(item, "flop") > 0) text += fmt::format("\n{}flop", human_count(number_in(item, "flop")));
  return kind == "island" ? text + "\nisland" : text;
}

std::string flow(const Bar& from, const Bar& to) {
  const auto [from_top, from_band] = live_band(from);
  const auto [to_top, to_band] = live_band(to);
  return fmt::format("<path class=\"flow\" d=\"M{:.1f} {:.1f} L{:.1f} {:.1f} L{:.1f} {:.1f} L{:.1f} {:.1f} Z\"/>\n",
                     from.x + from.width, from_top, to.x, to_top, to.x, to_top + to_band, from.x + from.width,
                     from_top + from_band);
}

std::string draw_bar(const Bar& bar, const std::string& kind) {
  const double top = middle() - bar.height / 2;
  const auto [band_top, band] = live_band(bar);
  std::string out = fmt::format("<g class=\"bar\"><title>{}</title>\n", escaped(bar_title(bar, kind)));
  out += fmt::format("<rect class=\"ghost\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"2\"/>\n",
                     bar.x, top, bar.width, bar.height);
  const char* style = kind == "island" ? "island" : bar.live < 1 ? "live" : "whole";
  out += fmt::format("<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"2\"/>\n",
                     style, bar.x, band_top, bar.width, band);
  const double anchor_x = bar.x + bar.width / 2;
  const double anchor_y = kTop + kHeight + 18;
  out += fmt::format("<text class=\"op\" transform=\"translate({:.1f} {:.1f}) rotate(60)\">{}</text></g>\n",
                     anchor_x - 3, anchor_y, escaped(label_of(bar)));
  return out;
}

/// Row counts where they change, above the bars that have room.
std::string row_labels(const Group& group) {
  std::string out;
  std::string previous;
  for (const Bar& bar : group.bars) {
    const std::string rows = text_in(*bar.item, "rows");
    if (rows == previous || rows.empty()) continue;
    previous = rows;
    out += fmt::format("<text class=\"rows\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", bar.x + bar.width / 2,
                       middle() - bar.height / 2 - 5, escaped(rows));
  }
  return out;
}

std::string group_title(const Group& group) {
  const Json& segment = *group.segment;
  std::string text =
      fmt::format("segment {}: {}, {} operators", text_in(segment, "index", "?"), group.kind, group.bars.size());
  if (group.kind == "columns")
    text += fmt::format("\n{}, {} rows a step", columns_in(segment), text_in(segment, "rows_per_step", "?"));
  text += fmt::format("\nrings {}, weights {}", human_bytes(number_in(segment, "ring_bytes")),
                      human_bytes(number_in(segment, "weights_bytes")));
  const std::string reason = text_in(segment, "ends_because");
  return reason.empty() ? text : text + "\nends because " + reason;
}

std::string draw_group(const Group& group) {
  const std::string kind = group.kind == "columns" || group.kind == "island" ? group.kind : "layer";
  std::string out = fmt::format("<g class=\"segment {}\"><title>{}</title>\n", kind, escaped(group_title(group)));
  out += fmt::format("<rect class=\"frame\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"8\"/>\n",
                     group.x, kTop - 44, group.width, kHeight + 44 + 12);
  const std::string index = text_in(*group.segment, "index", "?");
  const std::string label = group.width >= kNarrowestTitle ? fmt::format("{} \xC2\xB7 {}", index, group.kind) : index;
  out +=
      fmt::format("<text class=\"name\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", group.x + 9, kTop - 26, escaped(label));
  if (group.kind == "columns")
    for (std::size_t i = 0; i + 1 < group.bars.size(); ++i) out += flow(group.bars[i], group.bars[i + 1]);
  for (const Bar& bar : group.bars) out += draw_bar(bar, kind);
  return out + row_labels(group) + "</g>\n";
}

/// The picture, with attributes and content that its element has besides.
std::string draw(const Json& plan, std::string_view attributes, std::string_view style) {
  std::vector<Group> groups = place(plan, measure(plan));
  stretch(groups);
  const double labels = label_room(groups);
  const double width =
      groups.empty() ? kTarget : groups.back().x + groups.back().width + std::max(kLeft, labels * 0.5 - 30);
  const double height = kTop + kHeight + labels;
  std::string out = fmt::format(
      "<svg{2} viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" height=\"{1:.0f}\" role=\"img\" "
      "aria-label=\"Tensors of the plan, segment by segment\">\n{3}",
      width, height, attributes, style);
  out +=
      "<defs><pattern id=\"hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
      "patternTransform=\"rotate(45)\">"
      "<rect class=\"hatch-back\" width=\"6\" height=\"6\"/><rect class=\"hatch-line\" width=\"2.5\" "
      "height=\"6\"/></pattern></defs>\n";
  for (const Group& group : groups) out += draw_group(group);
  return out + "</svg>\n";
}

}  // namespace

std::string_view rules() { return kRules; }
std::string_view colours(bool dark) { return dark ? kDark : kLight; }

std::string columns_picture(const Json& plan) { return draw(plan, "", ""); }

std::string columns_document(const Json& plan) {
  // The rules nest in the picture's class: in a notebook the style would else reach other pictures.
  std::string scoped = kRules;
  for (std::size_t at = 0; (at = scoped.find("\nsvg ", at)) != std::string::npos; ++at)
    scoped.replace(at + 1, 3, "svg.colonnade");
  return draw(
      plan, " class=\"colonnade\" xmlns=\"http://www.w3.org/2000/svg\"",
      fmt::format("<style>svg.colonnade {{ {} }} @media (prefers-color-scheme: dark) {{ svg.colonnade {{ {} }} }}"
                  "{}</style>\n",
                  kLight, kDark, scoped));
}

}  // namespace colonnade::picture
