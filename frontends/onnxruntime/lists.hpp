// SPDX-License-Identifier: Apache-2.0
// Lists of texts by name, as options and devices have them.
#pragma once

#include <map>
#include <string>
#include <vector>

/// What programs see are arrays of pointers, which follow every change.
struct OrtKeyValuePairs {
  std::map<std::string, std::string> entries;
  std::vector<const char*> keys, values;

  void set(const char* key, const char* value);
  void refresh();
};
