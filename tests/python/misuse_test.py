# SPDX-License-Identifier: Apache-2.0
"""Bad use gets ONNX Runtime's kind of error, the same class of exception, and what is no bad use the same answer.
`misuse_answers.json` holds what ONNX Runtime answers; where it is installed, in that version, it is asked again. What
differs is named with its reason. `misuse_test.py --update` writes the answers anew."""
import importlib
import json
import pathlib
import sys
import unittest
import warnings

import support

support.need("colonnade", "numpy", "onnx")

from questions import differences
from questions.asked import answer

import colonnade.onnxruntime as ours

ANSWERS = pathlib.Path(__file__).with_name("misuse_answers.json")
GROUPS = {name: importlib.import_module(f"questions.{name}").QUESTIONS for name in ("models", "feeds", "sessions", "values")}
VERSION = ours.__version__

warnings.simplefilter("ignore")
ours.set_default_logger_severity(4)
try:
    import onnxruntime as theirs

    theirs.set_default_logger_severity(4)
    HAS_THEIRS = theirs.__version__ == VERSION
except ModuleNotFoundError:
    HAS_THEIRS = False


def asked(m):
    return {group: {name: answer(question, m) for name, question in questions.items()} for group, questions in GROUPS.items()}


class Misuse(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.stored = json.loads(ANSWERS.read_text())
        cls.found = asked(ours)

    @unittest.skipUnless(HAS_THEIRS, f"ONNX Runtime {VERSION} is not installed: its stored answers are compared")
    def test_stored_answers_are_those_of_onnxruntime(self):
        self.assertEqual(self.stored, asked(theirs))

    def test_every_question_has_an_answer(self):
        for group, questions in GROUPS.items():
            self.assertEqual(set(questions), set(self.stored[group]))
            self.assertLessEqual(set(differences.DIFFERENCES[group]), set(questions))

    def test_answers_are_the_same(self):
        for group, answers in self.stored.items():
            for name, expected in answers.items():
                found, reason = self.found[group][name], differences.DIFFERENCES[group].get(name)
                with self.subTest(group=group, name=name):
                    if reason is None:
                        self.assertEqual(expected, found)
                    else:
                        self.assertNotEqual(expected, found, "differs no more: no reason is needed")


if __name__ == "__main__":
    if sys.argv[1:] == ["--update"]:
        ANSWERS.write_text(json.dumps(asked(theirs), indent=1) + "\n")
    else:
        support.main()
