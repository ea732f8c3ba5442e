# SPDX-License-Identifier: Apache-2.0
ABOUT = "16 texts to vectors (MiniLM's form, random weights)"
NEEDS = ["fastembed"]


def make(folder):
    import encoder

    return encoder.make(folder)


def prepare(made):
    import encoder
    from fastembed import TextEmbedding
    from fastembed.common.model_description import ModelSource, PoolingType

    TextEmbedding.add_custom_model(
        model="local/minilm", pooling=PoolingType.MEAN, normalization=True, dim=384, sources=ModelSource(hf="local/minilm"), model_file="model.onnx"
    )
    engine = TextEmbedding("local/minilm", specific_model_path=made, local_files_only=True)
    return lambda: list(engine.embed(encoder.TEXTS))
