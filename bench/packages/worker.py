# SPDX-License-Identifier: Apache-2.0
"""One case by one engine: worker.py NAME onnxruntime|colonnade FOLDER SECONDS OUT."""
import importlib
import os
import pathlib
import pickle
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
os.environ.update(HF_HUB_OFFLINE="1", ANONYMIZED_TELEMETRY="False", TOKENIZERS_PARALLELISM="false")


def main() -> None:
    name, engine, folder, seconds, out = sys.argv[1:]
    if engine == "colonnade":
        import colonnade.onnxruntime

        colonnade.onnxruntime.install()
    import onnxruntime

    assert ("Colonnade" in onnxruntime.get_build_info()) == (engine == "colonnade")
    case = importlib.import_module(f"cases.{name}")
    made = case.make(folder) if hasattr(case, "make") else None
    begin = time.perf_counter()
    call = case.prepare(made)
    result = call()
    first = time.perf_counter() - begin
    times, end = [], time.perf_counter() + float(seconds)
    while len(times) < 3 or time.perf_counter() < end:
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    with open(out, "wb") as file:
        pickle.dump({"about": case.ABOUT, "first": first, "call": statistics.median(times), "result": result}, file)


if __name__ == "__main__":
    main()
