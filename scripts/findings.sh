#!/usr/bin/env bash
# Runs the scripts of findings/, or those that are named, and reports which behaviour is
# still as they say. Ends with 1 if one of them is not, or cannot be tried.
#
#   scripts/findings.sh [NAME...]     NAME without .sh
set -euo pipefail
cd "$(dirname "$0")/../findings"

names=("$@")
if ((!${#names[@]})); then
  for script in *.sh; do
    [[ $script == frame.bash ]] || names+=("${script%.sh}")
  done
fi
output=$(mktemp)
trap 'rm -f "$output"' EXIT
report=() failed=0
for name in "${names[@]}"; do
  echo "== $name"
  code=0
  bash "./$name.sh" >"$output" 2>&1 || code=$?
  sed 's/^/   /' "$output"
  case $code in
    0) verdict="as it says" ;;
    1) verdict="CHANGED" ;;
    *) verdict="cannot be tried" ;;
  esac
  ((code == 0)) || failed=1
  report+=("$(printf '%-40s %s' "$name" "$verdict")")
done
echo
printf '%s\n' "${report[@]}"
exit "$failed"
