# SPDX-License-Identifier: Apache-2.0
"""The status page in headless Chromium, served by `colonnade serve`. Arguments: the colonnade program."""
import json
import math
import pathlib
import shutil
import struct
import sys
import tempfile
import unittest
import urllib.error
import urllib.request
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import chromium  # noqa: E402
import serving  # noqa: E402
import suite  # noqa: E402
import tiny_onnx  # noqa: E402

MODELS = pathlib.Path(__file__).resolve().parents[2] / "models" / "embedded"


def make_repository(folder):
    def add(name, data):
        place = folder / name / "1"
        place.mkdir(parents=True)
        (place / "model.onnx").write_bytes(data)

    for name in ("digits", "unet"):
        add(name, (MODELS / f"{name}.onnx").read_bytes())
    add("relu", tiny_onnx.unary("Relu", ["n", 3]))


def gradient_png(width, height):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + bytes(value for x in range(width) for value in (255 * x // width, 255 * y // height, 128))
                    for y in range(height))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


class PageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="colonnade-page-"))
        make_repository(cls.folder)
        cls.server = serving.Server(sys.argv[1], cls.folder, "--model-control-mode=explicit", "--load-model=*",
                                    "--http-address=127.0.0.1", "--http-port=0", "--grpc-port=-1", "--metrics-port=-1")

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()
        shutil.rmtree(cls.folder)

    def page(self, model, **options):
        page = self.enterContext(chromium.Page(**options))
        page.open(f"{self.server.url}/#model={model}")
        page.until(f"document.querySelector('#detail-title').textContent == {json.dumps(model)}")
        page.until("!!document.querySelector('#form button.main') && !!document.querySelector('#picture svg')")
        return page

    def send(self, page):
        page.value("document.querySelector('#answer').replaceChildren()")
        page.click("#form button.main")
        return page.until("document.querySelector('#answer').textContent")

    def draw(self, page, points):
        """Points in [0, 1] of the drawing area."""
        x, y, width, height = page.value(
            "(() => { const e = document.querySelector('canvas.drawing'); e.scrollIntoView({block: 'center'});"
            "const b = e.getBoundingClientRect(); return [b.x, b.y, b.width, b.height]; })()")
        page.drag([(x + width * px, y + height * py) for px, py in points])

    def test_shows_the_models_without_a_complaint(self):
        page = self.page("digits")
        names = page.value("[...document.querySelectorAll('.model strong')].map(e => e.textContent)")
        self.assertEqual(names, ["digits", "relu", "unet"])
        self.assertEqual(page.value("document.querySelector('#health').textContent"), "ready")
        self.assertEqual(page.value("document.querySelector('#total-models').textContent"), "3 of 3")
        self.assertEqual(page.complaints, [])
        self.assertEqual([url for url in page.requests if not url.startswith(self.server.url + "/")], [])

    def test_reads_drawn_digits(self):
        page = self.page("digits")
        self.draw(page, [(0.5, 0.2 + 0.06 * i) for i in range(11)])
        self.assertIn("probabilities", self.send(page))
        self.assertEqual(page.value("document.querySelector('#answer table').dataset.best"), "1")
        page.value("[...document.querySelectorAll('#form button')].find(b => b.textContent == 'Clear').click()")
        ring = [(0.5 + 0.2 * math.sin(math.tau * i / 24), 0.5 - 0.3 * math.cos(math.tau * i / 24)) for i in range(25)]
        self.draw(page, ring)
        self.send(page)
        self.assertEqual(page.value("document.querySelector('#answer table').dataset.best"), "0")
        self.assertEqual(page.complaints, [])

    def test_sends_numbers_and_shows_refusals(self):
        page = self.page("relu")

        def fill(shape, text):
            page.value(f"document.querySelector('#form .shape').value = {json.dumps(shape)};"
                       f"document.querySelector('#form textarea').value = {json.dumps(text)}")

        fill("2x3", "-1, 2, 3, [4, -5, 6.5]")
        answer = self.send(page)
        self.assertIn("0, 2, 3, 4, 0, 6.5", answer)
        self.assertIn("2x3", answer)
        fill("2x3", "1, 2")
        self.assertIn("6 elements, found 2", self.send(page))
        fill("1x3", "1, two, 3")
        self.assertIn("'two' is not a number", self.send(page))
        fill("1x4", "1, 2, 3, 4")
        refusal = self.send(page)
        request = urllib.request.Request(f"{self.server.url}/v2/models/relu/infer", data=json.dumps({"inputs": [
            {"name": "x", "datatype": "FP32", "shape": [1, 4], "data": [1, 2, 3, 4]}]}).encode())
        with self.assertRaises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request)
        self.assertEqual(refusal, json.load(refused.exception)["error"])

    def test_sends_image_files(self):
        page = self.page("unet")
        self.assertIn("choose an image first", self.send(page))
        picture = self.folder.parent / f"{self.folder.name}.png"
        self.addCleanup(picture.unlink)
        picture.write_bytes(gradient_png(40, 30))
        document = page.call("DOM.getDocument")["root"]["nodeId"]
        node = page.call("DOM.querySelector", nodeId=document, selector="#form input[type=file]")["nodeId"]
        page.call("DOM.setFileInputFiles", nodeId=node, files=[str(picture)])
        page.until("!document.querySelector('#form .preview').hidden")
        self.assertIn("mask", self.send(page))
        self.assertEqual(page.value("(() => { const c = document.querySelector('#answer canvas');"
                                    "return [c.width, c.height]; })()"), [256, 256])
        self.assertEqual(page.complaints, [])

    def test_plots_move(self):
        page = self.page("relu")
        body = json.dumps({"inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 3], "data": [1, 2, 3]}]}).encode()
        for _ in range(200):
            urllib.request.urlopen(f"{self.server.url}/v2/models/relu/infer", body).read()
        page.until("document.querySelectorAll('#plots .curve').length >= 3")
        label = page.until("[...document.querySelectorAll('#plots svg')].map(e => e.ariaLabel)"
                           ".find(text => text.startsWith('Inferences') && !text.includes('at most 0'))")
        self.assertRegex(label, r"at most \d")
        before = page.value("document.querySelector('#plots .curve').getAttribute('d')")
        page.until(f"document.querySelector('#plots .curve').getAttribute('d') != {json.dumps(before)}")

    def test_draws_the_columns(self):
        page = self.page("unet")
        with urllib.request.urlopen(f"{self.server.url}/v2/models/unet/describe") as answer:
            plan = json.load(answer)
        operators = sum(len(segment["operators"]) for segment in plan["segments"])
        self.assertEqual(page.value("document.querySelectorAll('#picture .tensor').length"), operators)
        self.assertEqual(page.value("document.querySelectorAll('#picture .frame').length"), len(plan["segments"]))

    def test_loads_and_unloads(self):
        page = self.page("unet")
        page.click("#unload")
        page.until("document.querySelector('#detail-state').textContent != 'ready'")
        page.until("document.querySelector('#form').textContent == 'The model is not loaded.'")
        page.click("#load")
        page.until("document.querySelector('#detail-state').textContent == 'ready'")
        page.until("!!document.querySelector('#picture svg')")

    def test_is_usable_on_a_phone_and_in_the_dark(self):
        backgrounds = set()
        for dark in (False, True):
            page = self.page("digits", width=360, height=740, dark=dark)
            self.assertLessEqual(page.value("document.documentElement.scrollWidth"), 360)
            backgrounds.add(page.value("getComputedStyle(document.body).backgroundColor"))
        self.assertEqual(len(backgrounds), 2)

    def test_everything_that_is_used_has_a_name(self):
        for model in ("digits", "relu"):
            page = self.page(model)
            for node in page.call("Accessibility.getFullAXTree")["nodes"]:
                role = node.get("role", {}).get("value")
                if role in ("button", "textbox", "combobox", "image", "img", "link", "region") and not node["ignored"]:
                    self.assertTrue(node.get("name", {}).get("value"), f"{model}: {role} {node.get('nodeId')}")


if __name__ == "__main__":
    if not chromium.find():
        suite.skip("no Chromium here")
    suite.main()
