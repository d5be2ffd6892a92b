#!/bin/sh
# Installs the packages in bin/dist, each alone in a root with nothing but Debian, and tries them: try.sh PRODUCTS SUITES
# PRODUCTS are some of "tarball deb image wheel wheel-aarch64", SUITES some of "bullseye bookworm trixie". Roots are left as they were.
# The wheel for aarch64 needs qemu-user-static.
set -eu
cd "$(dirname "$0")/../.."
case $1 in *aarch64*) command -v qemu-aarch64-static >/dev/null || { echo "dist: qemu-aarch64-static is missing; install it (Debian: apt-get install qemu-user-static)" >&2; exit 2; } ;; esac

# What a program must do, beside digits.h5. The last command needs oneDNN, the one before libhdf5.
program='h5dnn version && h5dnn inspect digits.h5 | head -2 && h5dnn slice "digits.h5:/test/images[0, 2:]" &&
	h5dnn convert digits.h5 copy.h5 --verify | tail -1 &&
	h5dnn train --data digits.h5 --x train/images --y train/labels --split 0.1 --model mlp --epochs 1 -o run.h5 | tail -1'
with_share='zcat /usr/share/man/man1/h5dnn.1.gz | grep -q "SS train" && bash -n /usr/share/bash-completion/completions/h5dnn'

# The first example of docs/python.md, without PyTorch.
example='
import h5dnn
with h5dnn.open("digits.h5") as f:
    print(f.tree())
    print(f["train/images"][:10].shape)
print(sum(len(batch["x"]) for batch in h5dnn.Loader("digits.h5", {"x": "train/images", "y": "train/labels"}, batch_size=64)))'

# numpy SUITE MACHINE: downloads the newest NumPy for the Python of a root, and sets version to that of Python.
numpy() {
	case $1 in bullseye) version=3.9 ;; bookworm) version=3.11 ;; trixie) version=3.13 ;; esac
	${PYTHON:-python3} -m pip download -q --only-binary :all: --python-version "$version" --platform "manylinux2014_$2" --platform "manylinux_2_28_$2" \
		-d "bin/dist/numpy-$version-$2" numpy
}

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
			numpy "$suite" x86_64
			echo "$example" >bin/dist/example.py
			try "$root" "python3 -m venv v && v/bin/pip install -q --no-index --find-links /dist/numpy-$version-x86_64 /dist/h5dnn-*manylinux*x86_64.whl && v/bin/python /dist/example.py"
			;;
		wheel-aarch64)
			root=$(ARCH=arm64 sh scripts/dist/root.sh "python-$suite-arm64" "$suite" python3)
			numpy "$suite" aarch64
			site=$(mktemp -d)
			# pip compares what wheels require of Python with its own, not with the one that is named
			${PYTHON:-python3} -m pip install -q --no-index --ignore-requires-python --target "$site" --python-version "$version" --only-binary :all: --platform manylinux2014_aarch64 \
				--platform manylinux_2_28_aarch64 --platform manylinux_2_31_aarch64 --find-links "bin/dist/numpy-$version-aarch64" bin/dist/h5dnn-*manylinux*aarch64.whl
			(cd testdata && PYTHONPATH=$site qemu-aarch64-static -L "$root" "$root/usr/bin/python3" -c "$example")
			rm -r "$site"
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
