# SPDX-License-Identifier: Apache-2.0
"""Turns rows into a table for the terminal, JSON, Markdown and an SVG picture."""
from __future__ import annotations

import json
import math
import pathlib
import statistics
from dataclasses import asdict
from html import escape

from rows import Row

ENGINE_NAMES = {"colonnade": "Colonnade", "onnxruntime": "ONNX Runtime", "openvino:f32": "OpenVINO f32", "ncnn": "ncnn",
                "mnn": "MNN", "openvino": "OpenVINO default", "deepsparse": "deepsparse",
                "colonnade:columns": "columns", "colonnade:layers": "layers", "colonnade:bf16": "bf16"}
PEERS = ("onnxruntime", "openvino:f32", "ncnn", "mnn")
GROUPS = {
    "3x3": ("dncnn_512", "srvgg_x4_256", "unet_256", "unet_720p", "six16_1080p", "fast_neural_style_720p", "vgg16",
            "espcn_1080p"),
    "mixed": ("resnet18", "resnet50", "yolov8n_640", "densenet121", "inception_v3", "squeezenet1_1"),
    "1x1 and depthwise": ("mobilenet_v2", "mobilenet_v2_720p", "mobilenet_v3_large", "efficientnet_b0", "regnet_y_800mf",
                          "shufflenet_v2", "convnext_tiny", "ssd_mobilenet", "deeplabv3_mobilenet_v2_513"),
}

DISTURBED = 0.05  # share of the cores' time from which on a run is called disturbed

Cases = dict[tuple[str, int], dict[str, Row]]


def cases(rows: list[Row]) -> Cases:
    """Rows by engine, for each model and number of threads, in the order of the rows."""
    result: Cases = {}
    for row in rows:
        result.setdefault((row.model, row.threads), {})[row.engine] = row
    return result


def good(rows: dict[str, Row], engine: str) -> Row | None:
    row = rows.get(engine)
    return row if row is not None and not row.failure else None


def best_peer(rows: dict[str, Row]) -> Row | None:
    """The fastest of the four whose answer was right."""
    peers = [row for row in (good(rows, engine) for engine in PEERS) if row is not None]
    return min(peers, key=lambda row: row.ms, default=None)


def speedup(rows: dict[str, Row], over: str | None = None) -> float:
    """How many times faster Colonnade is than the best peer, or than one engine: 0 where only Colonnade failed, NaN
    where there is nothing to compare."""
    own, other = rows.get("colonnade"), good(rows, over) if over else best_peer(rows)
    if own is None or other is None:
        return math.nan
    return 0.0 if own.failure else other.ms / own.ms


def bf16_speedup(rows: dict[str, Row]) -> float:
    """How many times faster Colonnade in bf16 is than OpenVINO in the precision it prefers; 0 and NaN as above."""
    own, other = rows.get("colonnade:bf16"), good(rows, "openvino")
    if own is None or other is None:
        return math.nan
    return 0.0 if own.failure else other.ms / own.ms


def memory_ratio(rows: dict[str, Row]) -> float:
    """Colonnade's peak memory over the leanest peer's."""
    own = good(rows, "colonnade")
    peaks = [row.peak_mb for row in (good(rows, engine) for engine in PEERS) if row is not None and row.peak_mb > 0]
    return own.peak_mb / min(peaks) if own is not None and peaks else math.nan


def typical_others(rows: list[Row]) -> float:
    """Median share of the cores that other processes took."""
    return statistics.median([row.others for row in rows if math.isfinite(row.others)] or [math.nan])


def geometric_mean(values: list[float]) -> float:
    """Of the finite values; 0 where one of them is: a failure is no reason for a better mean."""
    numbers = list(filter(math.isfinite, values))
    if not numbers:
        return math.nan
    return statistics.geometric_mean(numbers) if all(numbers) else 0.0


def number(value: float) -> str:
    """Three significant digits, a dash for what is missing."""
    if not math.isfinite(value):
        return "-"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def ratio(value: float) -> str:
    return f"{value:.2f}x" if math.isfinite(value) else "-"


def cell(row: Row | None, emphasis: bool = False) -> str:
    if row is None:
        return ""
    if row.failure:
        return "-"
    text = number(row.ms)
    return f"{'**' + text + '**' if emphasis else text} [{number(row.peak_mb)}] {number(row.load_ms)}"


def engines_of(rows: list[Row]) -> list[str]:
    present = {row.engine for row in rows}
    return [engine for engine in ENGINE_NAMES if engine in present]


def table(rows: list[Row], threads: int, emphasis: bool = False) -> list[list[str]]:
    """Head and lines: a model's engines, the ratios, the memory ratio."""
    engines = engines_of(rows)
    has_bf16 = "colonnade:bf16" in engines
    lines = [["model", *(ENGINE_NAMES[engine] for engine in engines), "vs best peer", "vs deepsparse",
              *(["bf16 vs default"] if has_bf16 else []), "memory"]]
    for (model, count), by_engine in cases(rows).items():
        if count != threads:
            continue
        best = best_peer(by_engine)
        cells = [cell(by_engine.get(engine), emphasis and best is not None and engine == best.engine) for engine in engines]
        lines.append([model, *cells, ratio(speedup(by_engine)), ratio(speedup(by_engine, "deepsparse")),
                      *([ratio(bf16_speedup(by_engine))] if has_bf16 else []), ratio(memory_ratio(by_engine))])
    return lines


def means(rows: list[Row], threads: int) -> dict[str, float]:
    """Geometric mean of the speed-up over the best peer: all models, and each group that has one."""
    values = {model: speedup(by_engine) for (model, count), by_engine in cases(rows).items() if count == threads}
    result = {}
    for group, members in GROUPS.items():
        if any(model in values for model in members):
            result[group] = geometric_mean([values[model] for model in members if model in values])
    result["all"] = geometric_mean(list(values.values()))
    in_bf16 = [bf16_speedup(by_engine) for (_, count), by_engine in cases(rows).items() if count == threads]
    if any(map(math.isfinite, in_bf16)):
        result["bf16 vs OpenVINO default"] = geometric_mean(in_bf16)
    return result


def thread_counts(rows: list[Row]) -> list[int]:
    return sorted({row.threads for row in rows})


def threads_text(threads: int) -> str:
    return f"{threads} thread" + ("s" if threads > 1 else "")


def terminal(rows: list[Row], statistic: str = "median") -> str:
    """Aligned columns; a cell is latency [peak memory] load time."""
    parts = []
    for threads in thread_counts(rows):
        lines = table(rows, threads)
        widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
        parts.append(f"\n{threads_text(threads)}: {statistic} ms [peak MB above idle] load ms")
        parts += ["  ".join(text.ljust(width) for text, width in zip(line, widths)).rstrip() for line in lines]
        parts.append("geometric mean vs best peer: " +
                     ", ".join(f"{group} {ratio(value)}" for group, value in means(rows, threads).items()))
    disturbed = max((row.others for row in rows if math.isfinite(row.others)), default=0.0)
    if disturbed > DISTURBED:
        parts.append(f"The machine was busy: other processes took up to {disturbed:.0%} of the cores in a slice.")
    failures = [f"  {row.model} {row.threads} {row.engine}: {row.failure}" for row in rows if row.failure]
    return "\n".join(parts + (["failed:"] + failures if failures else []))


def markdown(rows: list[Row], machine: dict) -> str:
    """A page with a table a number of threads, the picture and what was measured on what."""
    engines = engines_of(rows)
    versions = ", ".join(f"{ENGINE_NAMES[engine]} {next(row.version for row in rows if row.engine == engine)}"
                         for engine in engines if not engine.startswith("colonnade:"))
    text = ["# Colonnade and its peers", "",
            f"{machine['date']}, {machine['cpu']} ({machine['isa']}; {machine['caches']}), {machine['cores']} of "
            f"{machine['processors']} processors, Linux. {versions}.",
            f"Other processes took {number(100 * typical_others(rows))} % of the cores in the median.", "",
            f"A cell is the {machine.get('statistic', 'median')} latency in ms, [peak memory in MB above the idle process, inputs excluded], load time in ms;",
            "the fastest of the four peers is bold. A dash is a failure; the reason is in report.json. Ratios above 1 mean",
            "that Colonnade is faster; memory is Colonnade's over the leanest peer's.", "", "![speed-up](report.svg)"]
    for threads in thread_counts(rows):
        lines = table(rows, threads, emphasis=True)
        text += ["", f"## {threads_text(threads)[0].upper()}{threads_text(threads)[1:]}"]
        text += ["| " + " | ".join(line) + " |" for line in lines[:1]]
        text.append("|" + "---|" * len(lines[0]))
        text += ["| " + " | ".join(line) + " |" for line in lines[1:]]
        text += ["", "Geometric mean over the best peer: " +
                 ", ".join(f"{group} {ratio(value)}" for group, value in means(rows, threads).items()) + "."]
    return "\n".join(text) + "\n"


COLORS = ("#2b6cb0", "#90bce8", "#1a365d", "#5f7f9f")
LABEL_WIDTH, PLOT_WIDTH, BAR, GAP, TOP = 210, 560, 11, 12, 64


def svg(rows: list[Row], machine: dict) -> str:
    """Bars of the speed-up over the best peer, a group a model, a bar a number of threads."""
    counts = thread_counts(rows)
    by_model: dict[str, dict[int, float]] = {}
    for (model, threads), by_engine in cases(rows).items():
        by_model.setdefault(model, {})[threads] = speedup(by_engine)
    by_model["geometric mean"] = {threads: means(rows, threads)["all"] for threads in counts}
    values = [value for bars in by_model.values() for value in bars.values() if math.isfinite(value)]
    top = max(2.0, math.ceil(max(values, default=1.0) * 2) / 2)
    scale = PLOT_WIDTH / top
    step = len(counts) * BAR + GAP
    height, width = TOP + len(by_model) * step + 34, LABEL_WIDTH + PLOT_WIDTH + 70
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
             'font-family="system-ui, sans-serif" font-size="12">',
             f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
             '<text x="16" y="24" font-size="15" font-weight="600" fill="#1a202c">'
             'Times faster than the best of ONNX Runtime, OpenVINO f32, ncnn and MNN</text>']
    for index, threads in enumerate(counts):
        x = 16 + index * 90
        parts.append(f'<rect x="{x}" y="36" width="11" height="11" rx="2" fill="{COLORS[index % len(COLORS)]}"/>'
                     f'<text x="{x + 16}" y="46" fill="#4a5568">{threads_text(threads)}</text>')
    bottom = TOP + len(by_model) * step
    for half in range(int(top * 2) + 1):
        x = LABEL_WIDTH + half / 2 * scale
        strong = half == 2
        parts.append(f'<line x1="{x:.1f}" y1="{TOP - 4}" x2="{x:.1f}" y2="{bottom}" '
                     f'stroke="{"#4a5568" if strong else "#e2e8f0"}" stroke-width="{1.2 if strong else 1}"/>')
        if half % 2 == 0 or top <= 4:
            parts.append(f'<text x="{x:.1f}" y="{bottom + 16}" text-anchor="middle" fill="#718096">{half / 2:g}x</text>')
    for index, (model, bars) in enumerate(by_model.items()):
        y = TOP + index * step
        weight = ' font-weight="600"' if model == "geometric mean" else ""
        middle = y + len(counts) * BAR / 2 + 4
        parts.append(f'<text x="{LABEL_WIDTH - 10}" y="{middle:.1f}" text-anchor="end" fill="#1a202c"{weight}>'
                     f'{escape(model)}</text>')
        for bar, threads in enumerate(counts):
            value = bars.get(threads, math.nan)
            length = value * scale if math.isfinite(value) else 0
            parts.append(f'<rect x="{LABEL_WIDTH}" y="{y + bar * BAR}" width="{length:.1f}" height="{BAR - 1}" rx="1.5" '
                         f'fill="{COLORS[bar % len(COLORS)]}"/>'
                         f'<text x="{LABEL_WIDTH + length + 5:.1f}" y="{y + bar * BAR + BAR - 2}" font-size="10" '
                         f'fill="#4a5568" stroke="#ffffff" stroke-width="3" paint-order="stroke">'
                         f'{ratio(value).rstrip("x")}</text>')
    parts.append(f'<text x="{width - 16}" y="{height - 4}" text-anchor="end" font-size="10" fill="#a0aec0">'
                 f'{escape(machine["cpu"])}, {machine["date"]}</text></svg>')
    return "\n".join(parts) + "\n"


def finite(value):
    """The value without NaN and infinity, which JSON lacks."""
    if isinstance(value, dict):
        return {key: finite(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def as_json(rows: list[Row], machine: dict) -> dict:
    summary = []
    for (model, threads), by_engine in cases(rows).items():
        best = best_peer(by_engine)
        summary.append({"model": model, "threads": threads, "best_peer": best.engine if best else None,
                        "over_best_peer": speedup(by_engine),
                        "over": {engine: speedup(by_engine, engine) for engine in by_engine if engine != "colonnade"},
                        "memory_over_leanest_peer": memory_ratio(by_engine)})
    return finite({"machine": machine, "geometric_means": {str(threads): means(rows, threads) for threads in thread_counts(rows)},
                   "models": summary, "rows": [asdict(row) for row in rows]})


def write(rows: list[Row], folder: pathlib.Path, machine: dict) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "report.json").write_text(json.dumps(as_json(rows, machine), indent=1) + "\n")
    (folder / "report.md").write_text(markdown(rows, machine))
    (folder / "report.svg").write_text(svg(rows, machine))
