"""The claims of the source essays on hardware. Here: when does the fastest machine match the brain, recomputed."""

from __future__ import annotations

from forecast import ClaimSpec
from forecast_hardware import claims_costs, claims_devices, claims_growth, claims_published
from forecast_hardware.figures import GROUP

__all__ = ["CLAIMS"]

ESSAY = "Dettmers 2015-07-27, The Brain vs Deep Learning Part I: Computational Complexity"
DATE = "from_year + doublings*doubling_time_years"

_PARITY = (
    ClaimSpec(
        name="hpc-21-doublings",
        group="parity",
        also=(GROUP,),
        statement="21 doublings from practical high-performance computing to the brain",
        stated="21",
        formula="log2(brain_flops/machine_flops)",
        values={"brain_flops": 1e21, "machine_flops": 0.58e15},
        reference=f"{ESSAY}; 0.58 PFLOP/s is the HPCG result of Tianhe-2",
        note="With the essay's unrounded 1.075e21 FLOP/s for the brain: 20.82.",
    ),
    ClaimSpec(
        name="parity-2037",
        group="parity",
        also=(GROUP,),
        statement="The fastest machine matches the brain in 2037 'by Moore's law'",
        stated="2037",
        unit="date",
        formula=DATE,
        values={"from_year": 2015, "doublings": 21, "doubling_time_years": 1.5},
        solve_for="doubling_time_years",
        reference=ESSAY,
        note="At 1.5 years a doubling. Counted from 2013 instead of 2015: 2044.5, and 2037 would need 1.14 years.",
    ),
    ClaimSpec(
        name="parity-2053",
        group="parity",
        also=(GROUP,),
        statement="The fastest machine matches the brain in 2053 at 1.8 years a doubling",
        stated="2053",
        unit="date",
        formula=DATE,
        values={"from_year": 2015, "doublings": 21, "doubling_time_years": 1.8},
        solve_for="doubling_time_years",
        reference=ESSAY,
        note="Only from 2015; counted from 2013: 2050.8.",
    ),
    ClaimSpec(
        name="parity-2078",
        group="parity",
        also=(GROUP,),
        statement="The fastest machine matches the brain in 2078 at 3 years a doubling",
        stated="2078",
        unit="date",
        formula=DATE,
        values={"from_year": 2015, "doublings": 21, "doubling_time_years": 3},
        solve_for="doubling_time_years",
        reference=ESSAY,
        note="Only from 2015; counted from 2013: 2076.0.",
    ),
    ClaimSpec(
        name="hpcg-backtest",
        group="parity",
        also=(GROUP,),
        statement="Which doubling time did the best HPCG result follow after the essay?",
        formula="(to_year - from_year)/log2(later_flops/earlier_flops)",
        values={"from_year": 2013.5, "to_year": 2025.45, "earlier_flops": 0.58e15, "later_flops": 17.41e15},
        unit="year",
        declared="ours",
        reference=f"Our figure: HPCG 0.58 PFLOP/s ({ESSAY}) and 17.41 PFLOP/s (El Capitan, TOP500 list of June 2025)",
        note="From 2013.5, the essay's date for the machine; from 2014.46, the first HPCG list (that date is from "
        "memory, unverified): 2.24 years. Between the essay's 1.8 and 3 years.",
    ),
)

CLAIMS = (
    *_PARITY, *claims_growth.CLAIMS, *claims_devices.CLAIMS, *claims_costs.CLAIMS, *claims_published.CLAIMS,
)  # fmt: skip
