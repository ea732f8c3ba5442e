# SPDX-License-Identifier: Apache-2.0
"""Detectors, with raw heads: what stands before the boxes are decoded."""
from .registry import network


def c2f(net, x, channels, repeats, shortcut):
    half = channels // 2
    parts = net.halves(net.conv_silu(x, channels, 1))
    for _ in range(repeats):
        y = net.conv_silu(net.conv_silu(parts[-1], half, 3), half, 3)
        parts.append(net.add(parts[-1], y) if shortcut else y)
    return net.conv_silu(net.concat(parts), channels, 1)


def sppf(net, x):
    parts = [net.conv_silu(x, x.channels // 2, 1)]
    for _ in range(3):
        parts.append(net.max_pool(parts[-1], 5, 1, 2))
    return net.conv_silu(net.concat(parts), x.channels, 1)


def yolo_head(net, x):
    """64 numbers of the box (16 for each side) and 80 classes."""
    boxes = net.conv(net.conv_silu(net.conv_silu(x, 64, 3), 64, 3), 64, 1, bias="bias")
    classes = net.conv(net.conv_silu(net.conv_silu(x, 80, 3), 80, 3), 80, 1, bias="bias")
    y = net.concat([boxes, classes])
    return net.reshape(y, (y.shape[0], y.channels, y.size[0] * y.size[1]))


@network(640, 640, multiple=32)
def yolov8n_640(net, image):
    """YOLOv8n: the three heads joined, [batch, 64 + 80, positions]."""
    x = c2f(net, net.conv_silu(net.conv_silu(image, 16, 3, 2), 32, 3, 2), 32, 1, True)
    eighth = c2f(net, net.conv_silu(x, 64, 3, 2), 64, 2, True)
    sixteenth = c2f(net, net.conv_silu(eighth, 128, 3, 2), 128, 2, True)
    last = sppf(net, c2f(net, net.conv_silu(sixteenth, 256, 3, 2), 256, 1, True))
    middle = c2f(net, net.concat([net.nearest(last, 2), sixteenth]), 128, 1, False)
    small = c2f(net, net.concat([net.nearest(middle, 2), eighth]), 64, 1, False)
    medium = c2f(net, net.concat([net.conv_silu(small, 64, 3, 2), middle]), 128, 1, False)
    large = c2f(net, net.concat([net.conv_silu(medium, 128, 3, 2), last]), 256, 1, False)
    return net.concat([yolo_head(net, x) for x in (small, medium, large)], axis=2)


def ssd_head(net, x, anchors, numbers):
    y = net.transpose(net.conv(x, anchors * numbers, 1, bias="bias"), (0, 2, 3, 1))
    return net.reshape(y, (y.shape[0], y.shape[1] * y.shape[2] * anchors, numbers))


@network(300, 300, smallest=160)
def ssd_mobilenet(net, image):
    """SSD on MobileNetV1 (Howard et al., 2017), 300x300, COCO: [batch, 1917 anchors, 4 + 91 classes]."""
    x = net.relu6(net.conv(image, 32, 3, 2))
    maps = []
    for channels, stride in [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *[(512, 1)] * 5, (1024, 2),
                             (1024, 1)]:
        if channels == 1024 and stride == 2:
            maps.append(x)
        x = net.relu6(net.conv(net.relu6(net.depthwise(x, 3, stride)), channels, 1))
    maps.append(x)
    for squeezed in (256, 128, 128, 64):
        x = net.relu6(net.conv(net.relu6(net.conv(x, squeezed, 1)), 2 * squeezed, 3, 2))
        maps.append(x)
    anchors = [3, 6, 6, 6, 6, 6]
    boxes = net.concat([ssd_head(net, m, a, 4) for m, a in zip(maps, anchors)])
    classes = net.concat([ssd_head(net, m, a, 91) for m, a in zip(maps, anchors)])
    return net.concat([boxes, classes], axis=2)
