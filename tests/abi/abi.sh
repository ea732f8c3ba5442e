#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The binary interface of the C header, compared with the one that was released: abi.sh [--update] [LIBRARY]
# A library of traps is made of the header's declarations, so that its debug information holds the header's functions
# and structs and nothing else. LIBRARY, the real one, must have every function of the released interface.
# Exits with 77 where libabigail is not installed.
set -euo pipefail

header=../../include/colonnade/colonnade.h
update=0
if [[ ${1:-} == --update ]]; then
  update=1
  shift
fi
library=${1:+$(realpath "$1")}
cd "$(dirname "${BASH_SOURCE[0]}")"
version=$(sed -n 's/^#define COLONNADE_VERSION_M[A-Z]*OR //p' ../../include/colonnade/version.h | paste -sd .)
released=colonnade-$version.abi

for tool in abidw abidiff; do
  command -v "$tool" > /dev/null || { echo "abi: no $tool here (Debian: abigail-tools)"; exit 77; }
done

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
sed -z 's,//[^\n]*,,g; s/\nCOLONNADE_API \([^;{]*\);/\nCOLONNADE_API \1 { __builtin_trap(); }/g' "$header" > "$folder/interface.c"
(cd "$folder" && ${CC:-cc} -std=c99 -g -O0 -w -fPIC -shared -I"$OLDPWD/../../include" interface.c -o libinterface.so)
abidw --no-corpus-path --no-comp-dir-path --no-show-locs --no-elf-needed --no-architecture --out-file "$folder/interface.abi" \
  "$folder/libinterface.so"

if [[ $update -eq 1 ]]; then
  cp "$folder/interface.abi" "$released"
  echo "abi: wrote $released"
  exit 0
fi

[[ -f $released ]] || { echo "abi: no $released; write it with ./dev abi --update"; exit 1; }
# Structs that start with struct_size may grow at their end; what abidiff says of that is left out, anything else is
# a break. The others lie in arrays, and functions stay as they are.
grown="changes summary: 0 Removed|with some indirect sub-type change|has some indirect sub-type changes:\
|of type .* has sub-type changes:|in (pointed to|unqualified underlying) type|type size changed from\
|underlying type 'struct colonnade_.*' changed:|data member insertions?:|', at offset [0-9]+ \(in bits\)\
|as reported earlier|already reported"
status=0
abidiff --no-added-syms "$released" "$folder/interface.abi" > "$folder/report" || status=$?
if [[ $status -ne 0 ]] && { grep -vE "^ *$|$grown" "$folder/report" ||
  grep -E "struct colonnade_(shape|dimension|opset|property)' changed" "$folder/report" || ((status & 3)); }; then
  cat "$folder/report"
  echo "abi: programs compiled with the released header would break"
  exit 1
fi
if [[ -n $library ]]; then
  [[ -f $library ]] || { echo "abi: no library $library"; exit 1; }
  missing=$(comm -23 <(sed -n "s/.*<elf-symbol name='\(colonnade_[a-z_]*\)'.*/\1/p" "$released" | sort -u) \
    <(nm -D --defined-only "$library" | awk '{print $3}' | sort -u))
  [[ -z $missing ]] || { echo "abi: the library lacks: $missing"; exit 1; }
fi
echo "abi: as released ($(grep -c "<elf-symbol" "$released") functions)"
