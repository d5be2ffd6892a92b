"""Builds the wheel: the package, and libh5dnn.so by Go. It needs nothing but Python, Go and a C compiler.

    python3 build_h5dnn.py FOLDER
"""
import base64
import hashlib
import os
import re
import subprocess
import sys
import sysconfig
import zipfile

here = os.path.dirname(os.path.abspath(__file__))


def _project():
    with open(os.path.join(here, "pyproject.toml"), encoding="utf-8") as f:
        text = f.read()

    def setting(name):
        return re.search(rf'^{name} = "(.*)"$', text, re.M).group(1)
    metadata = ["Metadata-Version: 2.1", f"Name: {setting('name')}", f"Version: {setting('version')}",
                f"Summary: {setting('description')}", f"Requires-Python: {setting('requires-python')}"]
    metadata += [f"Requires-Dist: {d}" for d in re.findall(r'"([^"]*)"', re.search(r"^dependencies = \[(.*)\]$", text, re.M).group(1))]
    return setting("version"), "\n".join(metadata) + "\n"


def _library():
    """The path of libh5dnn.so: what H5DNN_LIBRARY names, or the one that Go builds."""
    named = os.environ.get("H5DNN_LIBRARY")
    if not named:
        root = os.path.dirname(here)
        subprocess.run(["sh", os.path.join(root, "scripts", "capi.sh"), "release"], check=True, stdout=sys.stderr)
        named = os.path.join(root, "bin", "libh5dnn.so")
    return named


def _write(folder, files):
    """Writes a wheel of files, bytes by name."""
    version, metadata = _project()
    tag = "py3-none-" + sysconfig.get_platform().replace("-", "_").replace(".", "_")
    name, info = f"h5dnn-{version}-{tag}.whl", f"h5dnn-{version}.dist-info"
    files = {**files, f"{info}/METADATA": metadata.encode(),
             f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: build_h5dnn\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()}
    record = "".join(f"{path},sha256={base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip('=')},{len(content)}\n"
                     for path, content in files.items())
    files[f"{info}/RECORD"] = (record + f"{info}/RECORD,,\n").encode()
    with zipfile.ZipFile(os.path.join(folder, name), "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, content in files.items():
            entry = zipfile.ZipInfo(path)
            entry.external_attr = (0o755 if path.endswith(".so") else 0o644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, content)
    return name


def _read(path):
    with open(path, "rb") as f:
        return f.read()


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    package = os.path.join(here, "h5dnn")
    files = {f"h5dnn/{name}": _read(os.path.join(package, name)) for name in sorted(os.listdir(package)) if name.endswith((".py", ".typed"))}
    files["h5dnn/libh5dnn.so"] = _read(_library())
    return _write(wheel_directory, files)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    """A wheel that refers to this folder. The library is the one in bin."""
    _library()
    return _write(wheel_directory, {"h5dnn.pth": (here + "\n").encode()})


def build_sdist(sdist_directory, config_settings=None):
    raise SystemExit("h5dnn: the library is built from the whole repository; build a wheel with make wheel")


if __name__ == "__main__":
    print(build_wheel(sys.argv[1]))
