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
        if self.multiple == 0 and size != self.size:
            raise ValueError(f"{self.name} has fixed size {self.size[0]}x{self.size[1]}")
        if self.multiple and any(n % self.multiple or n < self.smallest for n in size):
            raise ValueError(f"{self.name} needs multiples of {self.multiple}, at least {self.smallest}, "
                             f"not {size[0]}x{size[1]}")
        net = Net(self.name)
        net.output(self.build(net, net.input("image", (batch, self.channels, *size))), "result")
        return net.model()


def network(height, width, channels=3, multiple=1, smallest=32):
    """Registers a function under its name."""
    def register(build):
        NETWORKS[build.__name__] = Network(build.__name__, build, (height, width), channels, multiple, smallest)
        return build
    return register
