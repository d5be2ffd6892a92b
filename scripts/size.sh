#!/bin/sh
# Prints the lines of Go without tests and testdata, by package and in all, and what changed since BASE,
# by default the latest commit.
set -eu
cd "$(dirname "$0")/.."
base=${BASE:-HEAD}
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
git archive "$base" | tar -x -C "$tree"

# lines prints "PACKAGE LINES" for each file named on the input.
lines() { grep '\.go$' | grep -v -e '_test\.go$' -e '\(^\|/\)testdata/' | xargs wc -l | awk '$2 != "total" { n = $1; sub("/?[^/]*$", "", $2); print ($2 == "" ? "." : $2), n }'; }

{
	git ls-files --cached --others --exclude-standard | while read -r file; do test ! -e "$file" || echo "$file"; done | lines | sed 's/^/now /'
	(cd "$tree" && git -C "$OLDPWD" ls-tree -r --name-only "$base" | lines) | sed 's/^/before /'
} | awk -v base="$base" '
	{ lines[$1, $2] += $3; all[$1] += $3; names[$2] }
	END {
		for (name in names) printf "%7d %+7d  %s\n", lines["now", name], lines["now", name] - lines["before", name], name | "sort -k3"
		close("sort -k3")
		printf "%7d %+7d  in all, and since %s\n", all["now"], all["now"] - all["before"], base
	}'
