// SPDX-License-Identifier: Apache-2.0
// What stands for onednn.cpp in a build without oneDNN (-DCOLONNADE_ONEDNN=OFF).
#include "families/onednn.hpp"

namespace colonnade {

std::unique_ptr<OneDnnPrimitive> make_onednn_primitive(const Graph&, const Node&) { return nullptr; }

}  // namespace colonnade
