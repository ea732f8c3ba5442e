# SPDX-License-Identifier: Apache-2.0
"""Image to image: segmentation, restoration, super-resolution, style."""
from .mobile import mobilenet_v2_features
from .registry import network


def unet(net, image, widths):
    """Ronneberger et al., 2015: pairs of 3x3, 2x2 max pooling, 2x2 transposed convolutions, skips; one channel out."""
    double = lambda x, channels: net.relu(net.conv(net.relu(net.conv(x, channels, 3)), channels, 3))
    skips, x = [], image
    for channels in widths[:-1]:
        skips.append(double(x, channels))
        x = net.max_pool(skips[-1], 2, 2)
    x = double(x, widths[-1])
    for channels, skip in zip(reversed(widths[:-1]), reversed(skips)):
        x = double(net.concat([skip, net.upconv(x, channels)]), channels)
    return net.sigmoid(net.conv(x, 1, 1, bias="bias"))


@network(256, 256, multiple=8)
def unet_256(net, image):
    return unet(net, image, (32, 64, 128, 256))


@network(720, 1280, multiple=8)
def unet_720p(net, image):
    return unet(net, image, (16, 32, 64, 128))


@network(512, 512, smallest=8)
def dncnn_512(net, image):
    """Zhang et al., 2017: 17 layers of 64 channels estimate the noise, which is taken from the image."""
    x = net.relu(net.conv(image, 64, 3, bias="bias"))
    for _ in range(15):
        x = net.relu(net.conv(x, 64, 3))
    return net.subtract(image, net.conv(x, 3, 3, bias="bias", gain=0.5))


@network(256, 256, smallest=8)
def srvgg_x4_256(net, image):
    """SRVGGNetCompact of Real-ESRGAN: 64 channels, 16 layers."""
    x = image
    for _ in range(17):
        x = net.prelu(net.conv(x, 64, 3, bias="bias"))
    x = net.pixel_shuffle(net.conv(x, 48, 3, bias="bias", gain=0.5), 4)
    return net.add(x, net.nearest(image, 4))


@network(1080, 1920, channels=1, smallest=8)
def espcn_1080p(net, image):
    """Shi et al., 2016, twice the size: 5x5 and 3x3 with tanh, 3x3, pixel shuffle; one channel."""
    x = net.tanh(net.conv(image, 64, 5, bias="bias"))
    x = net.tanh(net.conv(x, 32, 3, bias="bias"))
    return net.pixel_shuffle(net.conv(x, 4, 3, bias="bias"), 2)


@network(720, 1280, multiple=4)
def fast_neural_style_720p(net, image):
    """Johnson et al., 2016, with instance norm, reflection and resize-convolutions."""
    def conv(x, channels, kernel, stride=1):
        return net.conv(net.reflect_pad(x, kernel // 2), channels, kernel, stride, pad=0, bias="bias")
    layer = lambda *arguments: net.relu(net.instance_norm(conv(*arguments)))
    x = layer(layer(layer(image, 32, 9), 64, 3, 2), 128, 3, 2)
    for _ in range(5):
        x = net.add(net.instance_norm(conv(layer(x, 128, 3), 128, 3)), x)
    x = layer(net.nearest(x, 2), 64, 3)
    x = layer(net.nearest(x, 2), 32, 3)
    return conv(x, 3, 9)


@network(1080, 1920, smallest=8)
def six16_1080p(net, image):
    """Six 3x3 layers of 3-16-16-16-16-16-3 channels."""
    x = image
    for _ in range(5):
        x = net.relu(net.conv(x, 16, 3, bias="bias"))
    return net.conv(x, 3, 3, bias="bias")


@network(513, 513)
def deeplabv3_mobilenet_v2_513(net, image):
    """Chen et al., 2017: MobileNetV2 at output stride 16, pyramid of rates 6, 12, 18, 21 classes."""
    layer = lambda x, channels, kernel, **options: net.relu(net.conv(x, channels, kernel, **options))
    x = mobilenet_v2_features(net, image, output_stride=16)
    pyramid = [layer(x, 256, 1), *[layer(x, 256, 3, dilation=rate) for rate in (6, 12, 18)],
               net.bilinear(layer(net.global_pool(x), 256, 1), x.size)]
    x = layer(layer(net.concat(pyramid), 256, 1), 256, 3)
    return net.bilinear(net.conv(x, 21, 1, bias="bias"), image.size)
