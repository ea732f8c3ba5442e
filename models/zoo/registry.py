# SPDX-License-Identifier: Apache-2.0
"""The table of networks: name -> how it is built."""
import dataclasses
import typing

from .net import Net

NETWORKS = {}


@dataclasses.dataclass(frozen=True)
class Network:
    name: str
    build: typing.Callable  # (Net, image Value) -> Value
    size: tuple  # height, width
    channels: int
    multiple: int  # height and width must be multiples of this; 0: only the default size works
    smallest: int

    def model(self, size=None, batch=1):
        """The ONNX model. Raises ValueError where the architecture does not allow the size."""
        size = size or self.size
        text = f"{self.name} cannot have the size {size[0]}x{size[1]}"
        if self.multiple == 0 and size != self.size:
            raise ValueError(f"{text}, only {self.size[0]}x{self.size[1]}")
        if any(n < self.smallest for n in size):
            raise ValueError(f"{text}: at least {self.smallest}")
        if self.multiple and any(n % self.multiple for n in size):
            raise ValueError(f"{text}: only multiples of {self.multiple}")
        if batch < 1:
            raise ValueError(f"{self.name} cannot have a batch of {batch}")
        net = Net(self.name)
        net.output(self.build(net, net.input("image", (batch, self.channels, *size))), "result")
        return net.model()


def network(height, width, channels=3, multiple=1, smallest=32):
    """Registers a function under its name."""
    def register(build):
        NETWORKS[build.__name__] = Network(build.__name__, build, (height, width), channels, multiple, smallest)
        return build
    return register
