#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves what is delivered where nothing else is installed: prove.py image PROGRAM. Prints what it saw, with figures."""
from __future__ import annotations

import pathlib
import re
import sys

from minimal import ROOT, Refused, System, output_of, why_not

SERVES = """
colonnade serve embedded:digits --http-port=18000 --grpc-port=18001 --metrics-port=18002 > /dev/null 2>&1 & server=$!
for i in $(seq 100); do
  if bash -c 'exec 3<>/dev/tcp/127.0.0.1/18000 && printf "GET /v2/health/ready HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n" >&3 &&
    head -1 <&3 | grep " 200 "' 2> /dev/null; then kill $server; wait $server && exit 0 || exit 1; fi
  sleep 0.1
done
exit 1
"""


def prove_image(program: pathlib.Path) -> None:
    """What frontends/server/deploy/Dockerfile describes, made without a daemon: its packages, its program, its user."""
    text = (ROOT / "frontends" / "server" / "deploy" / "Dockerfile").read_text()
    listed = re.search(r"FROM debian:12-slim.*?recommends \\\n(.*?)\\\n  &&", text, re.S)[1].replace("\\", "").split()
    user = re.search(r"(?m)^USER (\S+)$", text)[1]
    with System("bookworm", listed) as system:
        output_of(["install", "-m755", "-s", program, system.folder / "usr" / "local" / "bin" / "colonnade"])
        print(f"image on Debian 12: {system.size_mb():.0f} MB, run by {user}, its root read-only")
        refused = system.run("touch /x 2>&1 || true", user=user, read_only=True).strip()
        print("  writing:", refused)
        print("  server:", system.run(SERVES, user=user, read_only=True).strip())
        if "Read-only" not in refused:
            raise Refused("the root can be written")


def main() -> int:
    if len(sys.argv) != 3 or sys.argv[1] != "image":
        print("prove: image PROGRAM", file=sys.stderr)
        return 2
    if reason := why_not():
        print(f"prove: skipped: {reason}")
        return 77
    try:
        prove_image(pathlib.Path(sys.argv[2]).resolve())
        return 0
    except Refused as error:
        print(f"prove: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
