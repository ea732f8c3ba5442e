#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Threads of Python that share one session: threads.py MODEL SESSION-THREADS PYTHON-THREADS colonnade|onnxruntime. Prints runs a
second. One engine a process: run them in turns."""
import sys
import threading
import time

import numpy


def session_of(model, threads, engine):
    if engine == "colonnade":
        import colonnade.onnxruntime as onnxruntime
    else:
        import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def runs_a_second(session, feeds, threads, seconds):
    counts = [0] * threads
    begin = time.perf_counter()

    def work(index):
        while time.perf_counter() < begin + seconds:
            session.run(None, feeds)
            counts[index] += 1

    workers = [threading.Thread(target=work, args=(index,)) for index in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return sum(counts) / (time.perf_counter() - begin)


def main():
    model, session_threads, threads, engine = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    session = session_of(model, session_threads, engine)
    random = numpy.random.default_rng(1)
    shapes = {arg.name: [size if isinstance(size, int) else 1 for size in arg.shape] for arg in session.get_inputs()}
    feeds = {name: random.random(shape, numpy.float32) for name, shape in shapes.items()}
    runs_a_second(session, feeds, threads, 0.5)
    print(f"{engine}: {session_threads} threads a session, {threads} of Python: {runs_a_second(session, feeds, threads, 1):.0f} runs a second")


if __name__ == "__main__":
    main()
