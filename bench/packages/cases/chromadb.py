# SPDX-License-Identifier: Apache-2.0
ABOUT = "its own embedding of 16 texts (MiniLM's form, random weights)"
NEEDS = ["chromadb"]


def make(folder):
    import encoder

    return encoder.make(folder)


def prepare(made):
    import pathlib

    import encoder
    from chromadb.utils.embedding_functions import ONNXMiniLM_L6_V2

    ONNXMiniLM_L6_V2.DOWNLOAD_PATH = pathlib.Path(made).parent
    ONNXMiniLM_L6_V2.EXTRACTED_FOLDER_NAME = pathlib.Path(made).name
    engine = ONNXMiniLM_L6_V2(preferred_providers=["CPUExecutionProvider"])
    return lambda: list(engine(encoder.TEXTS))
