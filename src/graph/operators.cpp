// SPDX-License-Identifier: Apache-2.0
#include "graph/operators.hpp"

namespace colonnade {

Operator::Operator() noexcept = default;
Operator::Operator(const Operator& other) = default;
Operator::Operator(Operator&& other) noexcept = default;
Operator& Operator::operator=(const Operator& other) = default;
Operator& Operator::operator=(Operator&& other) noexcept = default;
Operator::~Operator() = default;

bool Operator::operator==(const Operator& other) const {
  return static_cast<const AnyOperator&>(*this) == static_cast<const AnyOperator&>(other);
}

}  // namespace colonnade
