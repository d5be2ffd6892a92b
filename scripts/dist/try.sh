#!/bin/sh
# Installs the packages in bin/dist, each alone in a root with nothing but Debian, and tries them: try.sh PRODUCTS SUITES
# PRODUCTS are some of "tarball deb image wheel", SUITES some of "bullseye bookworm trixie". Roots are left as they were.
set -eu
cd "$(dirname "$0")/../.."

# What a program must do, beside digits.h5. The last command needs oneDNN, the one before libhdf5.
program='h5dnn version && h5dnn inspect digits.h5 | head -2 && h5dnn slice "digits.h5:/test/images[0, 2:]" &&
	h5dnn convert digits.h5 copy.h5 --verify | tail -1 &&
	h5dnn train --data digits.h5 --x train/images --y train/labels --split 0.1 --model mlp --epochs 1 -o run.h5 | tail -1'
with_share='zcat /usr/share/man/man1/h5dnn.1.gz | grep -q "SS train" && bash -n /usr/share/bash-completion/completions/h5dnn'

# The first example of docs/python.md, without PyTorch.
example='v/bin/python -c "
import h5dnn
with h5dnn.open(\"digits.h5\") as f:
    print(f.tree())
    print(f[\"train/images\"][:10].shape)
print(sum(len(batch[\"x\"]) for batch in h5dnn.Loader(\"digits.h5\", {\"x\": \"train/images\", \"y\": \"train/labels\"}, batch_size=64)))"'

# try ROOT COMMAND: runs a command in a copy of a root that is not kept, with bin/dist as /dist and digits.h5 in the working folder.
try() {
	copy=$(mktemp -d)
	unshare --mount sh -euc 'mount -t tmpfs none "$3" && mkdir "$3/upper" "$3/work" "$3/root" &&
		mount -t overlay overlay -o "lowerdir=$1,upperdir=$3/upper,workdir=$3/work" "$3/root" && mkdir -p "$3/root/dist" "$3/root/tmp/try" &&
		mount --bind bin/dist "$3/root/dist" && cp testdata/digits.h5 "$3/root/tmp/try/" && mount -t proc none "$3/root/proc" && mount --bind /dev "$3/root/dev" &&
		chroot "$3/root" env -i PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive sh -euc "cd /tmp/try && $2"' sh "$1" "$2" "$copy"
	rmdir "$copy"
}

for suite in $2; do
	for product in $1; do
		echo "== $product in a bare $suite"
		root=$(sh scripts/dist/root.sh "bare-$suite" "$suite")
		case $product in
		tarball) try "$root" "tar -xf /dist/h5dnn-*-linux-amd64.tar.gz -C /opt && PATH=\$(echo /opt/h5dnn-*/bin):\$PATH && $program" ;;
		deb) try "$root" "dpkg -i /dist/h5dnn_*.deb >log && $program && $with_share && dpkg -r h5dnn >log && test ! -e /usr/bin/h5dnn" ;;
		wheel)
			root=$(sh scripts/dist/root.sh "python-$suite" "$suite" python3-venv)
			version=$(chroot "$root" python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
			${PYTHON:-python3} -m pip download -q --only-binary :all: --python-version "$version" --platform manylinux2014_x86_64 --platform manylinux_2_28_x86_64 \
				-d "bin/dist/numpy-$version" numpy
			try "$root" "python3 -m venv v && v/bin/pip install -q --no-index --find-links /dist/numpy-$version /dist/h5dnn-*manylinux*x86_64.whl && $example"
			;;
		image)
			layout=$(mktemp -d)
			tar -xf bin/dist/h5dnn-*-image.tar -C "$layout"
			mkdir "$layout/root"
			tar -xf "$(find "$layout/blobs" -size +1M)" -C "$layout/root"
			try "$layout/root" "$program"
			rm -r "$layout"
			;;
		esac
	done
done
