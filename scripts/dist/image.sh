#!/bin/sh
# Packs a container image, an archive with an OCI layout, of a root of Debian 12 and what tree.sh has built: image.sh TREE VERSION FOLDER
# podman load -i, docker load -i and skopeo copy oci-archive: take it.
set -eu
cd "$(dirname "$0")/../.."
tree=$PWD/$1 version=$2 to=$PWD/$3
root=$(sh scripts/dist/root.sh image bookworm ca-certificates)
image=$(mktemp -d)
trap 'rm -rf "$image"' EXIT
mkdir -p "$image/blobs/sha256" "$image/usr/share/doc" "$image/data"
pack="--sort=name --mtime=@${SOURCE_DATE_EPOCH:-0} --owner=0 --group=0 --numeric-owner"

# add FILE: makes a file a blob, and sets size and digest.
add() {
	digest=$(sha256sum "$1" | cut -d ' ' -f 1) size=$(stat -c %s "$1")
	mv "$1" "$image/blobs/sha256/$digest"
}

cp -R "$tree/bin" "$tree/lib" "$tree/share" "$image/usr/"
tar --create --file "$image/layer" --mtime="@${SOURCE_DATE_EPOCH:-0}" --sort=name --numeric-owner --one-file-system -C "$root" \
	--exclude=./var/cache/apt/* --exclude=./var/lib/apt/lists/* --exclude=./var/log/* --exclude=./dev/* --exclude=./complete .
tar --append --file "$image/layer" $pack -C "$image" ./usr ./data
rm -r "$image/usr" "$image/data"
diff=$(sha256sum "$image/layer" | cut -d ' ' -f 1)
gzip -9n "$image/layer"
add "$image/layer.gz"
layer='{"mediaType":"application/vnd.oci.image.layer.v1.tar+gzip","digest":"sha256:'$digest'","size":'$size'}'
cat >"$image/config" <<END
{"architecture":"amd64","os":"linux","config":{"Entrypoint":["/usr/bin/h5dnn"],"Cmd":["--help"],"WorkingDir":"/data",
"Env":["PATH=/usr/bin:/bin"],"Labels":{"org.opencontainers.image.title":"h5dnn","org.opencontainers.image.version":"$version",
"org.opencontainers.image.licenses":"BSD-3-Clause"}},"rootfs":{"type":"layers","diff_ids":["sha256:$diff"]}}
END
add "$image/config"
cat >"$image/manifest" <<END
{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json",
"config":{"mediaType":"application/vnd.oci.image.config.v1+json","digest":"sha256:$digest","size":$size},"layers":[$layer]}
END
add "$image/manifest"
cat >"$image/index.json" <<END
{"schemaVersion":2,"manifests":[{"mediaType":"application/vnd.oci.image.manifest.v1+json","digest":"sha256:$digest","size":$size,
"platform":{"architecture":"amd64","os":"linux"},"annotations":{"org.opencontainers.image.ref.name":"h5dnn:$version"}}]}
END
echo '{"imageLayoutVersion":"1.0.0"}' >"$image/oci-layout"
tar --create --file "$to/h5dnn-$version-image.tar" $pack -C "$image" oci-layout index.json blobs
