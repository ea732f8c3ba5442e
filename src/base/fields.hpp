// SPDX-License-Identifier: Apache-2.0
// The fields of a plain struct without naming them: what is written field by field never forgets a new one.
#pragma once

#include <type_traits>

namespace colonnade {

/// Calls `visit` with all fields of an aggregate, in order, as one list of arguments. At most 28 fields, each made from
/// `{}`, no base classes, no C arrays.
template <class T, class Visit>
decltype(auto) with_fields(T& value, Visit&& visit) {
  using V = std::remove_const_t<T>;
  if constexpr (requires {
                  V{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
                    {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
                }) {
    auto& [f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28] = value;
    return visit(f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22,
                 f23, f24, f25, f26, f27, f28);
  } else if constexpr (requires {
                         V{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
                           {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
                       }) {
    auto& [f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27] = value;
    return visit(f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22,
                 f23, f24, f25, f26, f27);
  } else if constexpr (requires {
                         V{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
                           {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
                       }) {
    auto& [f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26] = value;
    return visit(f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22,
                 f23, f24, f25, f26);
  } else if constexpr (requires {
                         V{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
                           {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
                       }) {
    auto& [f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25] = value;
    return visit(f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22,
                 f23, f24, f25);
  } else if constexpr (requires {
                         V{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
                           {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
                       }) {
    auto& [f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24] = value;
    return visit(f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22,
                 f23, f24);
  } else if constexpr (requires {
                         V{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
                       }) {
    auto& [f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23] =
        value;
    return visit(f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22,
                 f23);
  } else if constexpr (requires {
                         V{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
                       }) {
    auto& [f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22] = value;
    return visit(f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22);
  } else if constexpr (requires {
                         V{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
                       }) {
    auto& [f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21] = value;
    return visit(f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21);
  } else if constexpr (requires {
                         V{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
                       }) {
    auto& [f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20] = value;
    return visit(f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20);
  } else if constexpr (requires { V{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }) {
    auto& [f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19] = value;
    return visit(f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19);
  } else if constexpr (requires { V{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }) {
    auto& [f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18] = value;
    return visit(f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18);
  } else if constexpr (requires { V{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }) {
    auto& [f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17] = value;
    return visit(f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17);
  } else if constexpr (requires { V{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }) {
    auto& [f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16] = value;
    return visit(f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16);
  } else if constexpr (requires { V{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }) {
    auto& [f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15] = value;
    return visit(f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15);
  } else if constexpr (requires { V{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }) {
    auto& [f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14] = value;
    return visit(f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14);
  } else if constexpr (requires { V{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }) {
    auto& [f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13] = value;
    return visit(f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13);
  } else if constexpr (requires { V{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }) {
    auto& [f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12] = value;
    return visit(f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12);
  } else if constexpr (requires { V{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }) {
    auto& [f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11] = value;
    return visit(f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11);
  } else if constexpr (requires { V{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }) {
    auto& [f1, f2, f3, f4, f5, f6, f7, f8, f9, f10] = value;
    return visit(f1, f2, f3, f4, f5, f6, f7, f8, f9, f10);
  } else if constexpr (requires { V{{}, {}, {}, {}, {}, {}, {}, {}, {}}; }) {
    auto& [f1, f2, f3, f4, f5, f6, f7, f8, f9] = value;
    return visit(f1, f2, f3, f4, f5, f6, f7, f8, f9);
  } else if constexpr (requires { V{{}, {}, {}, {}, {}, {}, {}, {}}; }) {
    auto& [f1, f2, f3, f4, f5, f6, f7, f8] = value;
    return visit(f1, f2, f3, f4, f5, f6, f7, f8);
  } else if constexpr (requires { V{{}, {}, {}, {}, {}, {}, {}}; }) {
    auto& [f1, f2, f3, f4, f5, f6, f7] = value;
    return visit(f1, f2, f3, f4, f5, f6, f7);
  } else if constexpr (requires { V{{}, {}, {}, {}, {}, {}}; }) {
    auto& [f1, f2, f3, f4, f5, f6] = value;
    return visit(f1, f2, f3, f4, f5, f6);
  } else if constexpr (requires { V{{}, {}, {}, {}, {}}; }) {
    auto& [f1, f2, f3, f4, f5] = value;
    return visit(f1, f2, f3, f4, f5);
  } else if constexpr (requires { V{{}, {}, {}, {}}; }) {
    auto& [f1, f2, f3, f4] = value;
    return visit(f1, f2, f3, f4);
  } else if constexpr (requires { V{{}, {}, {}}; }) {
    auto& [f1, f2, f3] = value;
    return visit(f1, f2, f3);
  } else if constexpr (requires { V{{}, {}}; }) {
    auto& [f1, f2] = value;
    return visit(f1, f2);
  } else if constexpr (requires { V{{}}; }) {
    auto& [f1] = value;
    return visit(f1);
  } else {
    return visit();
  }
}

}  // namespace colonnade
