#!/bin/sh
# Builds what is released in bin/dist: tarball, .deb, container image, wheels, programs for other systems, the list of its parts
# (CycloneDX) and checksums. It needs root and debootstrap.
set -eu
cd "$(dirname "$0")/../.."
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' python/pyproject.toml)
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
to=bin/dist tree=bin/tree
rm -rf $to
mkdir -p $to
sh scripts/dist/tree.sh $tree "$version"
sh scripts/dist/tarball.sh $tree "$version" $to
sh scripts/dist/deb.sh $tree "$version" $to
sh scripts/dist/image.sh $tree "$version" $to
"${PYTHON:-python3}" scripts/dist/sbom.py $tree "$version" >"$to/h5dnn-$version.cdx.json"
sh scripts/dist/cross.sh "$version" $to
sh scripts/dist/wheel.sh x86_64 $to
sh scripts/dist/wheel.sh aarch64 $to
(cd $to && sha256sum -- * >../SHA256SUMS && mv ../SHA256SUMS .)
ls -l $to
