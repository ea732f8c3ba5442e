# SPDX-License-Identifier: Apache-2.0
"""Classifiers of ordinary convolutions."""
from .registry import network


def resnet_stem(net, image):
    return net.max_pool(net.relu(net.conv(image, 64, 7, 2)), 3, 2, 1)


@network(224, 224)
def resnet18(net, image):
    """He et al., 2015, table 1."""
    x = resnet_stem(net, image)
    for channels in (64, 128, 256, 512):
        for i in range(2):
            stride = 2 if i == 0 and channels > 64 else 1
            y = net.conv(net.relu(net.conv(x, channels, 3, stride)), channels, 3)
            x = net.add_relu(y, x if channels == x.channels else net.conv(x, channels, 1, stride))
    return net.classifier(x)


@network(224, 224)
def resnet50(net, image):
    """He et al., 2015, table 1; version 1.5, with the stride in the 3x3."""
    x = resnet_stem(net, image)
    for depth, channels in [(3, 64), (4, 128), (6, 256), (3, 512)]:
        for i in range(depth):
            stride = 2 if i == 0 and channels > 64 else 1
            y = net.relu(net.conv(x, channels, 1))
            y = net.conv(net.relu(net.conv(y, channels, 3, stride)), 4 * channels, 1)
            x = net.add_relu(y, x if i > 0 else net.conv(x, 4 * channels, 1, stride))
    return net.classifier(x)


@network(224, 224, multiple=0)
def vgg16(net, image):
    """Simonyan and Zisserman, 2014, table 1, column D."""
    x = image
    for repeats, channels in [(2, 64), (2, 128), (3, 256), (3, 512), (3, 512)]:
        for _ in range(repeats):
            x = net.relu(net.conv(x, channels, 3, bias="bias"))
        x = net.max_pool(x, 2, 2)
    x = net.relu(net.linear(net.flatten(x), 4096))
    return net.linear(net.relu(net.linear(x, 4096)), 1000)


@network(224, 224)
def densenet121(net, image):
    """Huang et al., 2017, table 1. Batch norms that follow a concatenation cannot be folded."""
    x = resnet_stem(net, image)
    for layers in (6, 12, 24, 16):
        features = [x]
        for i in range(layers):
            y = features[0] if i == 0 else net.concat(features)
            y = net.relu(net.conv(net.relu(net.batch_norm(y)), 128, 1))
            features.append(net.conv(y, 32, 3, bias=None))
        x = net.relu(net.batch_norm(net.concat(features)))
        if layers != 16:
            x = net.average_pool(net.conv(x, x.channels // 2, 1, bias=None), 2, 2)
    return net.classifier(x)


@network(224, 224)
def squeezenet1_1(net, image):
    """Iandola et al., 2016, version 1.1."""
    convolution = lambda x, channels, kernel, **options: net.relu(net.conv(x, channels, kernel, bias="bias", **options))
    x = convolution(image, 64, 3, stride=2, pad=0)
    for fires in [(16, 16), (32, 32), (48, 48, 64, 64)]:
        x = net.max_pool(x, 3, 2, ceil=True)
        for squeezed in fires:
            y = convolution(x, squeezed, 1)
            x = net.concat([convolution(y, 4 * squeezed, 1), convolution(y, 4 * squeezed, 3)])
    return net.flatten(net.global_pool(convolution(x, 1000, 1)))


class Inception:
    """The modules of Inception-v3 (Szegedy et al., 2015, figures 5 to 7)."""

    def __init__(self, net):
        self.net = net

    def conv(self, x, channels, kernel, stride=1, pad=None):
        return self.net.relu(self.net.conv(x, channels, kernel, stride, pad))

    def chain(self, x, *layers):
        """layers: (channels, kernel) or (channels, kernel, stride); strided ones have no padding."""
        for channels, kernel, *stride in layers:
            x = self.conv(x, channels, kernel, *stride, pad=0 if stride else None)
        return x

    def pooled(self, x, channels):
        return self.conv(self.net.average_pool(x, 3, 1, 1), channels, 1)

    def square(self, x, pool_channels):
        return self.net.concat([self.chain(x, (64, 1)), self.chain(x, (48, 1), (64, 5)),
                                self.chain(x, (64, 1), (96, 3), (96, 3)), self.pooled(x, pool_channels)])

    def square_to_long(self, x):
        return self.net.concat([self.chain(x, (384, 3, 2)), self.chain(x, (64, 1), (96, 3), (96, 3, 2)),
                                self.net.max_pool(x, 3, 2)])

    def long(self, x, middle):
        row, column = (1, 7), (7, 1)
        twice = self.chain(x, (middle, 1), (middle, column), (middle, row), (middle, column), (192, row))
        once = self.chain(x, (middle, 1), (middle, row), (192, column))
        return self.net.concat([self.chain(x, (192, 1)), once, twice, self.pooled(x, 192)])

    def long_to_wide(self, x):
        return self.net.concat([self.chain(x, (192, 1), (320, 3, 2)),
                                self.chain(x, (192, 1), (192, (1, 7)), (192, (7, 1)), (192, 3, 2)),
                                self.net.max_pool(x, 3, 2)])

    def wide(self, x):
        fork = lambda y: self.net.concat([self.conv(y, 384, (1, 3)), self.conv(y, 384, (3, 1))])
        return self.net.concat([self.chain(x, (320, 1)), fork(self.chain(x, (384, 1))),
                                fork(self.chain(x, (448, 1), (384, 3))), self.pooled(x, 192)])


@network(299, 299, smallest=75)
def inception_v3(net, image):
    """Without the auxiliary classifier."""
    inception = Inception(net)
    x = inception.chain(image, (32, 3, 2), (32, 3, 1), (64, 3))
    x = inception.chain(net.max_pool(x, 3, 2), (80, 1), (192, 3, 1))
    x = net.max_pool(x, 3, 2)
    for channels in (32, 64, 64):
        x = inception.square(x, channels)
    x = inception.square_to_long(x)
    for channels in (128, 160, 160, 192):
        x = inception.long(x, channels)
    x = inception.wide(inception.wide(inception.long_to_wide(x)))
    return net.classifier(x)
