#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Texts of mixed lengths, one a call, every length as it comes: texts.py MODEL THREADS colonnade|onnxruntime.

MODEL takes input_ids and attention_mask of any length (bench/choices/encoders.py FOLDER minilm_text). One engine a process: run them
in turns. Prints the mean, median and 99th percentile of the calls in ms and the peak of the process in MB.
"""
import sys
import time

import numpy

TEXTS, MEDIAN, SPREAD, SHORTEST, LONGEST = 128, 180, 0.6, 8, 480


def runner(model, threads, engine):
    if engine == "colonnade":
        import colonnade

        return colonnade.Session(colonnade.Model(model, threads=threads)).run
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return lambda inputs: session.run(None, inputs)


def peak_megabytes():
    with open("/proc/self/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024


def main():
    model, threads, engine = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    random = numpy.random.default_rng(5)
    lengths = numpy.clip((MEDIAN * numpy.exp(SPREAD * random.standard_normal(TEXTS))).astype(int), SHORTEST, LONGEST)

    def inputs(length):
        return {"input_ids": random.integers(0, 30000, (1, length)), "attention_mask": numpy.ones((1, length), numpy.int64)}

    run = runner(model, threads, engine)
    run(inputs(3))
    times = []
    for length in lengths:
        given = inputs(int(length))
        begin = time.perf_counter()
        run(given)
        times.append(1000 * (time.perf_counter() - begin))
    print(f"{engine} {threads} threads: mean {numpy.mean(times):.2f} p50 {numpy.median(times):.2f} "
          f"p99 {numpy.percentile(times, 99):.1f} ms, peak {peak_megabytes():.0f} MB")


if __name__ == "__main__":
    main()
