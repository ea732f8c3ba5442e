# SPDX-License-Identifier: Apache-2.0
"""Models that are none, through the C interface: status codes are those of ONNX Runtime's exceptions in Python, which
tests/python/misuse_answers.json holds. Arguments: the library."""
import ctypes
import json
import pathlib
import sys
import unittest

PYTHON = pathlib.Path(__file__).resolve().parents[1] / "python"
sys.path.insert(0, str(PYTHON))
import support

support.need("numpy", "onnx")

from questions.differences import DIFFERENCES
from questions.models import SOURCES

LIBRARY = sys.argv[1]
VERSION = 22
# Places in the table of functions.
CODE, MESSAGE, CREATE_ENV, CREATE_SESSION, FROM_ARRAY, CREATE_OPTIONS, RELEASE_STATUS = 1, 2, 3, 7, 8, 10, 93
FATAL = 4
CODES = {
    "None": 0,
    "Fail": 1,
    "InvalidArgument": 2,
    "NoSuchFile": 3,
    "RuntimeException": 6,
    "InvalidProtobuf": 7,
    "NotImplemented": 9,
    "InvalidGraph": 10,
}
ONLY_PYTHON = {"an empty path": "Python sees it first", "None": "no path", "a number": "no path", "a list of bytes": "no path"}


class Interface:
    """The few functions that load models."""

    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        self.library.OrtGetApiBase.restype = ctypes.POINTER(ctypes.c_void_p)
        get_api = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint32)(self.library.OrtGetApiBase()[0])
        self.table = ctypes.cast(get_api(VERSION), ctypes.POINTER(ctypes.c_void_p))
        self.env, self.options = ctypes.c_void_p(), ctypes.c_void_p()
        assert not self.call(CREATE_ENV, ctypes.c_int(FATAL), b"test", ctypes.byref(self.env))
        assert not self.call(CREATE_OPTIONS, ctypes.byref(self.options))

    def call(self, place, *arguments, restype=ctypes.c_void_p):
        return ctypes.CFUNCTYPE(restype)(self.table[place])(*arguments)

    def load(self, source):
        """The status code, and the message."""
        session = ctypes.c_void_p()
        if isinstance(source, bytes):
            size = ctypes.c_size_t(len(source))
            status = self.call(FROM_ARRAY, self.env, source, size, self.options, ctypes.byref(session))
        else:
            status = self.call(CREATE_SESSION, self.env, source.encode(), self.options, ctypes.byref(session))
        if not status:
            return 0, ""
        status = ctypes.c_void_p(status)
        code = self.call(CODE, status, restype=ctypes.c_int)
        message = self.call(MESSAGE, status, restype=ctypes.c_char_p)
        self.call(RELEASE_STATUS, status, restype=None)
        return code, message.decode(errors="replace")


class Models(unittest.TestCase):
    def test_codes_are_those_of_the_exceptions(self):
        answers = json.loads((PYTHON / "misuse_answers.json").read_text())["models"]
        interface = Interface(LIBRARY)
        for name, source in SOURCES.items():
            if name in ONLY_PYTHON:
                continue
            code, message = interface.load(source)
            with self.subTest(name, message=message):
                check = self.assertNotEqual if name in DIFFERENCES["models"] else self.assertEqual
                check(code, CODES[answers[name]])


if __name__ == "__main__":
    support.main()
