#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the usual convolutional networks as ONNX files: untrained, seeded, batch norms folded.

  networks.py --list                                  what there is
  networks.py [--out DIR] [NAME ...]                  writes the named networks, or all (1.1 GB)
  networks.py --size 360x640 --batch 2 mobilenet_v2   writes mobilenet_v2_360x640_b2.onnx
"""
import argparse
import pathlib
import sys

import onnx

from zoo import NETWORKS


def size(text):
    height, _, width = text.partition("x")
    return int(height), int(width or height)


def write(network, folder, wanted_size, batch):
    suffix = f"_{wanted_size[0]}x{wanted_size[1]}" if wanted_size else ""
    path = folder / f"{network.name}{suffix}{f'_b{batch}' if batch != 1 else ''}.onnx"
    partial = path.with_suffix(".partial")
    onnx.save(network.model(wanted_size, batch), partial)
    onnx.checker.check_model(str(partial))
    partial.rename(path)
    print(f"{path}: {path.stat().st_size / 1e6:.1f} MB")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="print name, input size and description")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent / "made",
                        help="folder for the files (models/made)")
    parser.add_argument("--size", type=size, metavar="HxW", help="height and width of the input")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("names", nargs="*", metavar="NAME")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.names if name not in NETWORKS]
    if unknown:
        parser.error(f"no network {', '.join(unknown)}; --list names them")
    chosen = [NETWORKS[name] for name in arguments.names or NETWORKS]
    if arguments.list:
        for network in chosen:
            print(f"{network.name:28}{network.channels}x{network.size[0]}x{network.size[1]}")
        return
    arguments.out.mkdir(parents=True, exist_ok=True)
    for network in chosen:
        try:
            write(network, arguments.out, arguments.size, arguments.batch)
        except ValueError as error:
            sys.exit(f"networks.py: {error}")


if __name__ == "__main__":
    main()
