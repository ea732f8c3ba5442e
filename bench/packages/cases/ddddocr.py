# SPDX-License-Identifier: Apache-2.0
ABOUT = "reads one word, and finds what is drawn on a page (weights shipped)"
NEEDS = ["ddddocr"]


def prepare(made):
    import io

    import ddddocr
    from drawn import page, word

    def png(image):
        file = io.BytesIO()
        image.save(file, "PNG")
        return file.getvalue()

    reads, finds = ddddocr.DdddOcr(show_ad=False), ddddocr.DdddOcr(det=True, ocr=False, show_ad=False)
    text, picture = png(word()), png(page(480, 270))
    return lambda: [reads.classification(text), finds.detection(picture)]
