# SPDX-License-Identifier: Apache-2.0
"""Starts `colonnade serve` on free ports and stops it."""
import re
import signal
import subprocess
import threading
import time
import urllib.error
import urllib.request


class Server:
    """`url` is that of HTTP; `log` holds what it wrote so far."""

    def __init__(self, program, *arguments, **options):
        self._process = subprocess.Popen([program, "serve", *map(str, arguments)], stdout=subprocess.PIPE,
                                         stderr=subprocess.STDOUT, text=True, **options)
        self.log = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        port = self._until(lambda: next((found[1] for line in list(self.log) if "listening" in line
                                         and (found := re.search(r'http\W+[^",\s]*?:(\d+)\b', line))), None))
        self.url = f"http://127.0.0.1:{port}"
        self._until(self.is_ready)

    def _read(self):
        for line in self._process.stdout:
            self.log.append(line)

    def _until(self, condition, seconds=60):
        deadline = time.monotonic() + seconds
        while not (value := condition()):
            if self._process.poll() is not None or time.monotonic() > deadline:
                self._process.kill()
                self._reader.join()
                raise AssertionError("the server does not start:\n" + "".join(self.log))
            time.sleep(0.02)
        return value

    def is_ready(self):
        try:
            return urllib.request.urlopen(self.url + "/v2/health/ready", timeout=10).status == 200
        except urllib.error.URLError:
            return False

    def stop(self):
        """Asks it to end, as systemd and Kubernetes do, and returns its status."""
        self._process.send_signal(signal.SIGTERM)
        try:
            return self._process.wait(60)
        finally:
            self._process.kill()
            self._reader.join()
            self._process.stdout.close()
