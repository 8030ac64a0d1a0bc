#!/usr/bin/env bash
# Installs a build into an empty folder, and builds what a user writes against that:
#
#   scripts/test_install.sh BUILD COMPILER
#
# the C++ example by find_package(Meshwright), a C program by pkg-config. Also looks
# at what libmeshwright-c shows to others.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$(realpath "$1") compiler=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
prefix=$folder/prefix
cmake --install "$build" --prefix "$prefix" --component devel >/dev/null
cmake --install "$build" --prefix "$prefix" --component tools >/dev/null
library=$(find "$prefix" -name libmeshwright-c.so)
package=$(find "$prefix" -name MeshwrightConfig.cmake)
pc=$(find "$prefix" -name meshwright-c.pc)

others=$(nm -DC --defined-only "$library" | grep -v ' A ' |
         grep -cvE ' (mpmd|meshwright|mlir[A-Z])[A-Za-z_]*$' || true)
if ((others)); then
  echo "error: libmeshwright-c shows $others symbols that no header declares" >&2
  nm -DC --defined-only "$library" | grep -vE ' (mpmd|meshwright|mlir[A-Z])' | head >&2
  exit 1
fi

cmake -S docs/examples -B "$folder/example" -G Ninja -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_C_COMPILER="${compiler/++/}" \
  -DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=lld-22 \
  -DMeshwright_DIR="$(dirname "$package")" >"$folder/log" 2>&1 ||
  { cat "$folder/log"; exit 1; }
cmake --build "$folder/example" >"$folder/log" 2>&1 || { cat "$folder/log"; exit 1; }
"$folder/example/meshwright-example" docs/first.mlir docs/first.json

# Without pkg-config, its file is read by hand; it is short.
pcfiledir=$(dirname "$pc")
flags=$(sed -n 's/^Cflags: //p; s/^Libs: //p' "$pc" | tr '\n' ' ')
sub() { sed -n "s/^$1=//p" "$pc" | sed "s|\${pcfiledir}|$pcfiledir|"; }
top=$(sub prefix)
flags=${flags//'${includedir}'/$(sub includedir | sed "s|\${prefix}|$top|")}
flags=${flags//'${libdir}'/$(sub libdir | sed "s|\${prefix}|$top|")}
command -v pkg-config >/dev/null &&
  flags=$(PKG_CONFIG_PATH=$pcfiledir pkg-config --cflags --libs meshwright-c)
cat >"$folder/version.c" <<'END'
#include "meshwright/CAPI/Meshwright.h"
#include <stdio.h>
int main(void) { return puts(meshwrightGetVersion()) < 0; }
END
# shellcheck disable=SC2086
"${compiler/++/}" "$folder/version.c" $flags -o "$folder/version"
LD_LIBRARY_PATH=$(dirname "$library") "$folder/version"
"$prefix/bin/meshwright" --version | head -1
echo "the installed tree works"
