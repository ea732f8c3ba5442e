# SPDX-License-Identifier: Apache-2.0
from collections.abc import Buffer, Callable, Iterable, Mapping, Sequence
