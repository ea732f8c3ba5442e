# SPDX-License-Identifier: Apache-2.0
from .build_and_package_info import __version__, package_name


def check_distro_info() -> None:
    """Nothing to say: the library has started."""


def get_package_name_and_version_info() -> tuple[str, str, str]:
    """The last is CUDA's, which there is not."""
    return package_name, __version__, ""


def check_training_module() -> tuple[bool, str, str, str]:
    """The first: models are not trained."""
    return False, package_name, __version__, ""
