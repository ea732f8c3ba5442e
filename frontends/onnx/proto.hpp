// SPDX-License-Identifier: Apache-2.0
// ONNX's protobuf messages.
#pragma once

#include <onnx/onnx_pb.h>

#include "frontends/onnx/format.hpp"
