// SPDX-License-Identifier: Apache-2.0
// Stands in front of gRPC's archive, whose own definitions of these bring what only clients need (xDS, which finds
// servers, and ways to choose one of several): 3 MB. gRPC's own archive without TLS has the first of them empty too.

namespace grpc_core {

class CoreConfiguration {
 public:
  class Builder;
};

#define COLONNADE_LEAVE_OUT(name)         \
  void name(CoreConfiguration::Builder*); \
  void name(CoreConfiguration::Builder*) {}

COLONNADE_LEAVE_OUT(RegisterExtraFilters)
COLONNADE_LEAVE_OUT(FaultInjectionFilterRegister)
COLONNADE_LEAVE_OUT(RegisterFakeResolver)
COLONNADE_LEAVE_OUT(RegisterGrpcLbPolicy)
COLONNADE_LEAVE_OUT(RegisterHttpConnectHandshaker)
COLONNADE_LEAVE_OUT(RegisterHttpProxyMapper)
COLONNADE_LEAVE_OUT(RegisterOutlierDetectionLbPolicy)
COLONNADE_LEAVE_OUT(RegisterPriorityLbPolicy)
COLONNADE_LEAVE_OUT(RegisterRingHashLbPolicy)
COLONNADE_LEAVE_OUT(RegisterRlsLbPolicy)
COLONNADE_LEAVE_OUT(RegisterWeightedTargetLbPolicy)

}  // namespace grpc_core
