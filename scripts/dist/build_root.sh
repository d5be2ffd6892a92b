#!/bin/sh
# Prints the folder of a root of Debian 11 with what building needs, which it makes unless it exists.
set -eu
exec sh "$(dirname "$0")/root.sh" build bullseye gcc git libc6-dev libdeflate-dev libdnnl-dev libhdf5-dev ca-certificates
