"""What the essays say about growth, limits and energy, recomputed."""

from __future__ import annotations

from forecast_hardware.figures import claim, scenario
from forecast_hardware.given import AGI, BRAIN, GPU, GUIDE, SPARSE

__all__ = ["CLAIMS"]

_STRICT = "The essay speaks of round figures; the rule asks for 0.5 % or the printed digits"

CLAIMS = (
    claim(
        "brain-dates", "Brain-like computing in 2019 or 2020 and strong AI in 2030 (Kurzweil); after 2080; beyond 2100",
        "", "(date - from_year)/doublings", "year", f"{BRAIN}: dates of its figure and of the authors it quotes",
        declared="scenario", date=2080, from_year=2015, doublings=21,
        note="Computed: the years a doubling that 2080 means, from 2015; 2100 means 4.05.",
    ),
    claim(
        "interconnect-doubling", "Network bandwidth doubles about every 3 years", "3", "infiniband", "year", BRAIN,
        facts={"infiniband": "hardware/infiniband-bandwidth.doubling_years"},
        note="InfiniBand of four lanes, one way, after coding, fitted to our table. On another table an ordinary line "
        "gave 3.93 (InfiniBand), 4.47 (PCIe) and 2.49 years (NVLink): it fits NVLink alone.",
    ),
    claim(
        "membw-static", "Memory bandwidth is almost static", "0", "100*(2**(1/doubling) - 1)", "percent/year", BRAIN,
        facts={"doubling": "hardware/memory-bandwidth-frontier.doubling_years"},
        note="The essay gives no figure: static is read as 0 % a year. It speaks of the RAM of a machine; computed "
        "is the "
        "running maximum of accelerators in our table, 2.64 years a doubling (2.47 to 2.84) on another table.",
    ),
    claim(
        "fab-cost", "The cost of a fab grows by 7 to 10 % a year", "10", "100*(2**(12/months) - 1)", "percent/year",
        BRAIN,
        months=36,
        note="Against its own caption, where it doubles in '18 or 36 months, respectively': 26 % a year at 36 months "
        "and "
        "59 % at 18. Internally inconsistent, or two scenarios for both curves.",
    ),
    scenario("physics-dates", "Tunnelling stops scaling in 2016 or 2017; limits about 2025; borders by 2020", BRAIN),
    claim(
        "tianhe-power", "24 MW cost $65,000 to $100,000 a day, about $23 million a year", "23", "1e-6*day_cost*365",
        "MUSD/year", BRAIN, day_cost=65000,
        note="The low end; the high end is 36.5 million. The two mean 0.113 and 0.174 $/kWh. Near, but 23.7 does not "
        "round to 23.",
    ),
    claim(
        "tianhe-homes", "24 MW serve 6,000 homes in Germany", "6000", "megawatts*8760/home", "", BRAIN,
        megawatts=24, home=3.5,
        note="At 3.5 MWh a home and year (from memory, unverified): ten times as many. 6,000 homes mean 35.0 MWh each.",
    ),
    claim(
        "tianhe-homes-us", "24 MW serve 2,000 homes with air conditioning in the United States", "2000",
        "megawatts*8760/home", "", BRAIN, megawatts=24, home=11,
        note="At about 11 MWh a home and year (from memory, unverified). 2,000 homes mean 105.1 MWh each.",
    ),
    claim(
        "tianhe-reign", "By July 2015 Tianhe-2 had been the fastest for more than three years", "3",
        "to_year - from_year", "year",
        f"{BRAIN}; first on the TOP500 list of June 2013 (table datasets/supercomputers)",
        to_year=2015.57, from_year=2013.46,
        note="Its first list as number one is June 2013.",
    ),
    claim(
        "hpcg-efficiency", "How much of its LINPACK rate did the machine keep in practice?", "",
        "100*hpcg/linpack", "percent", f"{BRAIN}: 0.58 and 33.86 PFLOP/s", declared="ours", hpcg=0.58, linpack=33.86,
        note="HPCG and LINPACK in one ratio on purpose: it says how far they are apart.",
    ),
    claim(
        "gpu-growth-2010-18", "Compute of GPUs grew by 9700 % from 2010 to 2018", "9700", "100*(later/earlier - 1)",
        "percent", SPARSE, later=130.5, earlier=1.345,
        note="Mixes precisions: FP32 in 2010 (GTX 480, 1.345 TFLOP/s) with the FP16 of tensor cores in 2018 (130.5, "
        "from "
        "memory). 97-fold, which is 9600 % more; FP32 alone grew 12-fold.",
    ),
    claim(
        "gpu-growth-next", "Compute of GPUs grows by 80 % in the five to eight years after 2019", "80",
        "100*(later/earlier - 1)", "percent", SPARSE, later=104.8, earlier=16.3,
        note="FP32 peak of the fastest consumer card, 16.3 TFLOP/s to 104.8 in 2025 (RTX 5090): 6.4-fold. 80 % would "
        "be "
        "a doubling in 5.9 to 9.4 years. Falsified on the peak rate; on price it is open.",
    ),
    claim(
        "perf-per-cost-2018",
        "Performance per cost stopped growing about 2018; one-off features came after: 16-bit, tensor cores, HBM, TMA, "
        "8-bit, 4-bit",
        "0", "100*(exp(growth) - 1)", "percent/year", AGI,
        facts={"growth": "hardware/fp32-per-dollar-since-2018.growth_per_year"},
        note="Stopped is read as 0 % a year. Computed: growth of plain FP32 FLOP/s per dollar of launch price (of "
        "the day) "
        "since the middle of 2018, within one precision, on our table; hardware/fp32-per-dollar-changepoint tests "
        "for a "
        "break over all years. Gains across precisions are one-off features, not this series.",
    ),
    claim(
        "gpu-end-2032", "Algorithms and hardware improve until about 2032; an 8-bit GPU is a good investment for 9 "
        "years",
        "2032", "from_year + years", "date", GPU, declared="scenario", from_year=2023, years=9,
        note="The two statements agree with one another.",
    ),
    scenario(
        "scaling-left", "One or two more years of scaling from December 2025; gains of racks end in 2026 or 2027", AGI
    ),
    scenario(
        "predictions-2023", "8-bit training is standard in 6 months; 4-bit inference within a year; a language model "
        "trained in FP4 in 1 or 2 years; AMD not within 1 or 2 years", GPU,
        note="From 2023-01-30. 8-bit training by 2023-07-30: no, 16 bits were the rule (from memory, unverified). "
        "4-bit inference by 2024-01-30: came, with QLoRA's NF4 in May 2023 (arXiv:2305.14314). FP4 by 2025-01-30: came "
        "two days before, as research: Wang et al., arXiv:2501.17116, submitted 2025-01-28, to 13e9 parameters. AMD: "
        "open, the essay names no measure; its MI300X was rented out by 2024 (from memory, unverified).",
    ),
    claim(
        "fp8-vs-top500", "An RTX 4090 does 0.66 PFLOP/s in FP8, more than the fastest machine of 2007", "0.66",
        "tflops/1000", "PFLOP/s", GPU, tflops=660.6,
        note="The machine of 2007 did 0.478 PFLOP/s of LINPACK in FP64. Mixes FP8 peak (FP16 accumulation) with "
        "LINPACK.",
    ),
    claim(
        "fp8-vs-top500-four", "Four RTX 4090 in FP8 are about as fast as the fastest machine of 2010", "2.566",
        "4*tflops/1000", "PFLOP/s", f"{GPU}; 2.566 PFLOP/s: TOP500 of November 2010", tflops=660.6,
        note="3 % more. 'About as fast' holds, the rule of 0.5 % does not; and precisions and bases are mixed.",
    ),
    claim(
        "training-energy", "Two weeks on four GPUs at 1 to 1.5 kW take 300 to 500 kWh: the low end", "300",
        "kilowatts*days*24", "kWh", GUIDE, kilowatts=1, days=14, note=f"{_STRICT}: 336 is 12 % more.",
    ),
    claim(
        "training-energy-high", "Two weeks on four GPUs at 1 to 1.5 kW take 300 to 500 kWh: the high end", "500",
        "kilowatts*days*24", "kWh", GUIDE, kilowatts=1.5, days=14, note=f"{_STRICT}: 504 is 0.8 % more.",
    ),
    claim(
        "training-energy-cost", "Two weeks on four GPUs cost 60 to 100 EUR at 0.20 EUR/kWh: the high end", "100",
        "kilowatts*days*24*price", "EUR", GUIDE, kilowatts=1.5, days=14, price=0.20,
        note=f"{_STRICT}: 0.8 % more; the low end is 67.2.",
    ),
    claim(
        "training-energy-psu", "A power supply of 80 % efficiency adds 18 to 26 EUR: the low end", "18",
        "kilowatts*days*24*price*(1/efficiency - 1)", "EUR", GUIDE, kilowatts=1, days=14, price=0.20, efficiency=0.8,
        note="16.8 to 25.2.",
    ),
    claim(
        "training-energy-psu-high", "A power supply of 80 % efficiency adds 18 to 26 EUR: the high end", "26",
        "kilowatts*days*24*price*(1/efficiency - 1)", "EUR", GUIDE, kilowatts=1.5, days=14, price=0.20, efficiency=0.8,
        note="16.8 to 25.2.",
    ),
    claim(
        "brain-vs-gpu", "The brain uses a tenth of the power of a GPU", "0.1", "brain_watts/gpu_watts", "", SPARSE,
        brain_watts=20, gpu_watts=250, note="Both powers from memory, unverified: 1/12.5.",
    ),
    claim(
        "brain-vs-gpu-rate", "Which rate of a GPU does a brain 1e9 times as powerful mean?", "", "brain/times",
        "FLOP/s",
        f"{SPARSE}; 1.075e21 FLOP/s: {BRAIN}", declared="ours", brain=1.075e21, times=1e9,
        note="1.1e12 FLOP/s: the ratio holds for practical rates, not for peaks.",
    ),
)  # fmt: skip
