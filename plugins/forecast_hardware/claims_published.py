"""Published growth rates of hardware, recomputed on our tables."""

from __future__ import annotations

from forecast_hardware.figures import claim

__all__ = ["CLAIMS"]

PRICE = "Hobbhahn & Besiroglu 2022, Trends in GPU price-performance, Epoch AI"
HARDWARE = "Hobbhahn, Heim & Aydos 2023, Trends in machine learning hardware, Epoch AI"
_OTHER = "Another selection of devices than the source's"

CLAIMS = (
    claim(
        "fp32-doubling", "The FP32 peak of GPUs doubles in 2.3 years", "2.3", "doubling", "year", HARDWARE,
        facts={"doubling": "hardware/gpu-peak-fp32-exponential.doubling_years"},
        note="Best accelerator so far, in our table: 90 % 2.15 to 2.60, with 2.3 inside. On the source's data, the "
        "1848 dated GPUs of datasets/gpu-trends, all devices together give 2.34, which rounds to it.",
    ),
    claim(
        "fp32-per-dollar-doubling", "FP32 per dollar of GPUs doubles in 2.46 years", "2.46", "doubling", "year", PRICE,
        facts={"doubling": "hardware/gpu-per-dollar-fp32-exponential.doubling_years"},
        note=f"{_OTHER}: accelerators of our table with a launch price, to 2025, in dollars of the day. On the "
        "source's data (datasets/gpu-trends, 413 GPUs to 2021, dollars of 2020) the same trend gives 2.49 years, 2.19 "
        "to 2.88, and agrees.",
    ),
    claim(
        "fp16-per-dollar-doubling", "FP16 per dollar of GPUs doubles in 2.30 years", "2.30", "doubling", "year",
        HARDWARE, facts={"doubling": "hardware/fp16-per-dollar.doubling_years"},
        note="Does not reproduce. The column holds three kinds: of the source's 114 priced GPUs 20 run FP16 at 1/64 of "
        "their FP32 (cards of 2016 and 2017), 35 at the same rate and 59 at twice it, in this order of time. A line "
        "through all takes the change of kind for growth: 1.17 years on the source's data. Within one kind it is 1.9, "
        "2.5 and 2.1 years.",
    ),
    claim(
        "fp32-per-watt-doubling", "FP32 per watt of machine learning hardware doubles in 3.0 years", "3.0", "doubling",
        "year", HARDWARE, facts={"doubling": "hardware/gpu-per-watt-fp32-exponential.doubling_years"},
        note=f"{_OTHER}. Epoch AI's later table gives 3.60.",
    ),
    claim(
        "memory-bandwidth-doubling", "Memory bandwidth of machine learning hardware doubles in 4.1 years", "4.1",
        "doubling", "year", HARDWARE, facts={"doubling": "hardware/memory-bandwidth-frontier.doubling_years"},
        note=f"{_OTHER}, and the best so far instead of all: 2.95 over all of Epoch AI's later table.",
    ),
    claim(
        "top500-before-2013", "How fast did the first machine of the TOP500 double before the break of 2013?", "",
        "12*log(2)/growth", "month", "Our figure, on the TOP500 lists (table datasets/supercomputers)",
        declared="ours", facts={"growth": "hardware/linpack-changepoint.growth_before"},
        note="The break is found by a test and not given. A line to 2013 alone gives 12.9 months.",
    ),
    claim(
        "top500-since-2013", "How fast has the first machine of the TOP500 doubled since the break of 2013?", "",
        "12*log(2)/growth", "month", "Our figure, on the TOP500 lists (table datasets/supercomputers)",
        declared="ours", facts={"growth": "hardware/linpack-changepoint.growth_per_year"},
        note="A line from 2013.9 alone gives 21.6 months.",
    ),
    claim(
        "hpcg-doubling", "How fast does the best HPCG result double?", "", "12*years", "month",
        "Our figure, on the TOP500 lists (table datasets/supercomputers)", declared="ours",
        facts={"years": "hardware/hpcg-exponential.doubling_years"},
        note="15 lists, 6 records, a staircase: 20.9 months over all lists, 22.3 over the records alone.",
    ),
)  # fmt: skip
