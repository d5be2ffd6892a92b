#!/bin/sh
# Prints what changed in the exported names since BASE, package by package. BASE is a
# commit; by default the latest tag. Usage: BASE=commit sh scripts/api.sh
set -eu
apidiff=golang.org/x/exp/cmd/apidiff@v0.0.0-20261014143641-f0251eb4aa3e
base=${BASE:-$(git describe --tags --abbrev=0 2>/dev/null || true)}
if [ -z "$base" ]; then
	echo "api: there is no tag yet; name a commit: make api BASE=commit" >&2
	exit 1
fi
work=$(mktemp -d)
trap 'git worktree remove --force "$work/base" 2>/dev/null; rm -rf "$work"' EXIT
git worktree add --quiet --detach "$work/base" "$base"
module=$(go list -m)
list() { (cd "$1" && go list ./... | grep -v -e /internal/ -e /cmd/ -e /bench -e /examples -e /scripts/ | sort); }
list "$work/base" >"$work/old"
list . >"$work/new"
comm -23 "$work/old" "$work/new" | sed 's/^/removed package /'
comm -13 "$work/old" "$work/new" | sed 's/^/new package /'
for pkg in $(comm -12 "$work/old" "$work/new"); do
	(cd "$work/base" && go run "$apidiff" -w "$work/export" "$pkg")
	go run "$apidiff" "$work/export" "$pkg" >"$work/diff"
	if [ -s "$work/diff" ]; then
		echo "$pkg" | sed "s|^$module/||"
		sed 's/^/  /' "$work/diff"
	fi
done
