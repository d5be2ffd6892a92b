"""Prints what a release consists of, as CycloneDX: the Go modules in the program, and the libraries beside it.

    sbom.py TREE VERSION
"""
import json
import os
import subprocess
import sys

tree, version = sys.argv[1:]


def component(kind, name, version, purl, **more):
    return {"type": kind, "name": name, "version": version, "purl": purl, "bom-ref": purl, **more}


components = []
lines = subprocess.run(["go", "version", "-m", os.path.join(tree, "bin", "h5dnn")], check=True, capture_output=True, text=True).stdout.splitlines()
go = lines[0].split()[-1]
components.append(component("library", "std", go, f"pkg:golang/std@{go.removeprefix('go')}"))
for line in lines[1:]:
    kind, *fields = line.split()
    if kind == "dep":
        name, at = fields[:2]
        components.append(component("library", name, at, f"pkg:golang/{name}@{at}"))
with open(os.path.join(tree, "share", "doc", "h5dnn", "libraries.txt"), encoding="utf-8") as f:
    for name, at, *system in sorted(line.split() for line in f):
        name = name.removesuffix(":amd64")
        components.append(component("library", name, at, f"pkg:deb/debian/{name}@{at}?arch=amd64&distro={(system or ['debian-11'])[0]}"))
program = component("application", "h5dnn", version, f"pkg:golang/github.com/h5dnn/h5dnn@v{version}", licenses=[{"license": {"id": "BSD-3-Clause"}}])
print(json.dumps({
    "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1, "metadata": {"component": program}, "components": components,
    "dependencies": [{"ref": program["bom-ref"], "dependsOn": [c["bom-ref"] for c in components]}],
}, indent=2))
