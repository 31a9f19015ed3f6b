"""What the founding forecast costs, cold."""

from __future__ import annotations

import subprocess
import sys

MEASURE = """
import resource, subprocess, sys
done = subprocess.run([sys.executable, "-m", "forecast", "run", "brain-parity"], stdout=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(done.returncode, used.ru_utime + used.ru_stime, used.ru_maxrss)
"""


def test_brain_parity_cold_is_cheap():
    # measured in a process of its own: other tests have children too
    done = subprocess.run([sys.executable, "-c", MEASURE], capture_output=True, text=True, timeout=120, check=True)
    code, cpu, peak = done.stdout.split()
    megabytes = int(peak) / (1024 if sys.platform != "darwin" else 1024**2)
    print(f"forecast run brain-parity: {float(cpu):.2f} s of CPU, {megabytes:.0f} MB at most")
    assert code == "0"
    assert float(cpu) < 6
    assert megabytes < 400
