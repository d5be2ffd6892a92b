#!/bin/sh
# Packs what tree.sh has built: tarball.sh TREE VERSION FOLDER
set -eu
name=h5dnn-$2-linux-amd64
tar --create --sort=name --mtime="@${SOURCE_DATE_EPOCH:-0}" --owner=0 --group=0 --numeric-owner --transform "s,^\.,$name," -C "$1" . | gzip -9n >"$3/$name.tar.gz"
