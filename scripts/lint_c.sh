#!/bin/sh
# Compiles every C file of the module with -Wall -Wextra -Werror and the flags of its package.
set -eu
cd "$(dirname "$0")/.."

go list -f '{{range .CFiles}}{{$.Dir}}/{{.}}|{{join $.CgoCFLAGS " "}}
{{end}}' ./... | while IFS='|' read -r file flags; do
	[ -n "$file" ] || continue
	${CC:-cc} -O2 -Wall -Wextra -Werror $flags -c -o /dev/null "$file"
done
