# SPDX-License-Identifier: Apache-2.0
ABOUT = "puts the vowels into Arabic text (weights shipped)"
NEEDS = ["piper"]


def prepare(made):
    from piper.tashkeel import TashkeelDiacritizer

    engine = TashkeelDiacritizer()
    text = "\u0630\u0647\u0628 \u0627\u0644\u0648\u0644\u062f \u0625\u0644\u0649 \u0627\u0644\u0645\u062f\u0631\u0633\u0629"
    return lambda: [engine(text), engine(text + " " + text)]
