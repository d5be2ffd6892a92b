#!/bin/sh
# Packs what tree.sh has built as a package of Debian 11 and newer: deb.sh TREE VERSION FOLDER
set -eu
package=$(mktemp -d)
trap 'rm -rf "$package"' EXIT
mkdir "$package/DEBIAN"
cp -R "$1" "$package/usr"
mv "$package/usr/share/doc/h5dnn/LICENSE" "$package/usr/share/doc/h5dnn/copyright"
module=$(sed -n 's/^module //p' "$(dirname "$0")/../../go.mod")
cat >"$package/DEBIAN/control" <<END
Package: h5dnn
Version: $2
Architecture: amd64
Maintainer: the h5dnn authors <https://$module>
Homepage: https://$module
Section: science
Priority: optional
Installed-Size: $(du -sk "$package/usr" | cut -f 1)
Depends: libc6 (>= 2.31), libgcc-s1, libstdc++6, zlib1g
Recommends: libopenblas0
Description: inspects, slices and converts HDF5 files, and trains models on them
 h5dnn looks into HDF5 files and checkpoints, cuts and converts them, and
 trains neural networks on them. Its libraries for compression, HDF5 and deep
 learning are in the package.
END
chmod -R u=rwX,go=rX "$package"
dpkg-deb --root-owner-group -Zxz -z1 --build "$package" "$3/h5dnn_$2_amd64.deb"
