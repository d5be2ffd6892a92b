#!/bin/sh
# Prints the folder of a root of Debian 11 with what building needs, which it makes unless it exists.
set -eu
scripts=$(dirname "$0")
root=$(sh "$scripts/root.sh" build-bullseye bullseye gcc git libc6-dev libdnnl-dev libhdf5-dev ca-certificates)
sh "$scripts/libdeflate.sh" "$root" x86_64
echo "$root"
