# SPDX-License-Identifier: Apache-2.0
"""The usual convolutional networks, untrained, by their published layer tables."""
from . import classic, detection, images, mobile
from .registry import NETWORKS
