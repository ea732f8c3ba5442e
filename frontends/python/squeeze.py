# SPDX-License-Identifier: Apache-2.0
"""Packs wheels anew, as small as deflate allows: squeeze.py WHEELS. Names, times and modes of what they hold stay."""
import pathlib
import sys
import zipfile

import zopfli.zlib

packed: dict[bytes, bytes] = {}  # several wheels hold the same library


class Compressor:
    """As zipfile wants one; zopfli takes all of a file at once."""

    def __init__(self, *_) -> None:
        self.bytes = bytearray()

    def compress(self, more: bytes) -> bytes:
        self.bytes += more
        return b""

    def flush(self) -> bytes:
        content = bytes(self.bytes)
        if content not in packed:
            packed[content] = zopfli.zlib.compress(content, numiterations=5, blocksplittingmax=0)[2:-4]
        return packed[content]


def squeeze(wheel: pathlib.Path) -> None:
    partial = wheel.with_suffix(".partial")
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(partial, "w") as new:
        for entry in old.infolist():
            entry.compress_type = zipfile.ZIP_DEFLATED
            new.writestr(entry, old.read(entry))
    partial.replace(wheel)


if __name__ == "__main__":
    zipfile._get_compressor = Compressor
    for name in sys.argv[1:]:
        squeeze(pathlib.Path(name))
