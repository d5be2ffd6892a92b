"""Runs all tests, each file in a process of its own. The arguments select files by a part of their names."""
import glob
import os
import subprocess
import sys

here = os.path.dirname(os.path.abspath(__file__))
failed = [name for name in sorted(glob.glob(os.path.join(here, "test_*.py")))
          if all(part in name for part in sys.argv[1:]) and subprocess.run([sys.executable, "-B", name]).returncode]
print("failed: " + ", ".join(map(os.path.basename, failed)) if failed else "all passed")
sys.exit(bool(failed))
