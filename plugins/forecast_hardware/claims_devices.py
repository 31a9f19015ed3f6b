"""What the essays say a device delivers, recomputed."""

from __future__ import annotations

from forecast_hardware.figures import claim, constant
from forecast_hardware.given import GPU, GUIDE, SPARSE

__all__ = ["CLAIMS"]

_LATENCY = "The essay's own table gives global memory 380 cycles and L2 200"

CLAIMS = (
    claim(
        "bw-speedup", "An A100 is faster than a V100 by the ratio of their bandwidths", "1.73", "a100/v100", "", GPU,
        a100=1555, v100=900, note="Measured, by network: 1.43, 1.47 and 1.70.",
    ),
    claim(
        "matmul-cycles", "A 32 x 32 matrix multiplication takes 504 cycles", "504", "memory + 8*shared + 8*multiply",
        "cycle", GPU, memory=200, shared=34, multiply=4, note=f"{_LATENCY}; with 380 it is 684.",
    ),
    claim(
        "matmul-cycles-tensor", "With tensor cores it takes 235 cycles", "235", "memory + shared + tensor", "cycle",
        GPU,
        memory=200, shared=34, tensor=1, note=f"{_LATENCY}; with 380 it is 415.",
    ),
    claim(
        "matmul-cycles-asynchronous", "With tensor cores and asynchronous copies it takes 200 cycles", "200",
        "(memory - shared - tensor) + shared + tensor", "cycle", GPU, memory=200, shared=34, tensor=1,
        note=f"{_LATENCY}; with 380 it is 380.",
    ),
    claim(
        "matmul-cycles-global", "504 cycles with the latency of global memory", "", "memory + 8*shared + 8*multiply",
        "cycle", f"{GPU}, its table of latencies", declared="ours", memory=380, shared=34, multiply=4,
    ),
    claim(
        "matmul-cycles-tensor-global", "235 cycles with the latency of global memory", "", "memory + shared + tensor",
        "cycle", f"{GPU}, its table of latencies", declared="ours", memory=380, shared=34, tensor=1,
    ),
    claim(
        "matmul-cycles-asynchronous-global", "200 cycles with the latency of global memory", "",
        "(memory - shared - tensor) + shared + tensor", "cycle", f"{GPU}, its table of latencies", declared="ours",
        memory=380, shared=34, tensor=1,
    ),
    claim(
        "tc-count", "A 32 x 32 multiplication takes 8 x 8 = 64 tensor-core operations on 4 x 4 matrices", "64",
        "side**3/core**3", "", GPU, side=32, core=4,
        note="64 is the number of tiles of the result; each needs eight products.",
    ),
    claim(
        "async-gain", "Asynchronous copies are worth another 15 %", "15", "100*saved/before", "percent", GPU, saved=35,
        before=235, note="As time saved; as speed it is 235/200, 17.5 % more.",
    ),
    claim(
        "smem-ratio", "Shared memory has about 5 times lower latency", "5", "memory/shared", "", GPU, memory=200,
        shared=34
    ),
    claim(
        "cache-ratios", "L2 is 3 to 5 times as fast as global memory", "3", "memory/l2", "", GPU, memory=380, l2=200,
        note="The low end, from the latencies of its own table. Registers, about 200 times: no latency is given.",
    ),
    claim(
        "cache-ratios-shared", "Shared memory is 7 to 10 times as fast as global memory", "10", "memory/shared", "",
        GPU,
        memory=380, shared=34, note="The high end, from the latencies of its own table.",
    ),
    constant(
        "cache-sizes", "L2 of 6, 5.5, 6 and 72 MB and shared memory of 128, 96, 128 and 128 kB in Volta, Turing, "
        "Ampere "
        "and Ada; Ada's L2 gives 1.5 to 2.0 times on BERT large", GPU,
    ),
    claim(
        "sm-share", "8 multiprocessors are about 10 % of an RTX 3090", "10", "100*used/units", "percent", GPU, used=8,
        units=82, note="82: table datasets/accelerators.",
    ),
    claim(
        "batch-doubling", "Twice the batch gives 13.6 % more throughput (convolutional)", "13.6",
        "100*(2**exponent - 1)", "percent", GPU, exponent=0.184,
        note="13.5 % for the transformer. As a law: batch**0.184; eight times the batch is worth 1.466.",
    ),
    claim(
        "eight-gpu", "Eight A100 have 5 % less overhead than eight V100: 6.67 of 8 (convolutional)", "6.67",
        "speedup/overhead", "", GPU, speedup=7.00, overhead=1.05, note="A division; 7 times 0.95 would be 6.65.",
    ),
    claim(
        "eight-gpu-transformer", "Eight A100 have 7 % less overhead than eight V100: 6.54 of 8 (transformer)", "6.54",
        "speedup/overhead", "", GPU, speedup=7.00, overhead=1.07,
    ),
    constant(
        "gpu-utilisation", "Tensor cores are 45 to 65 % busy at the size of GPT-3; 30 % for BERT",
        f"{GPU}; a reader's notes on its 2020 version",
    ),
    claim(
        "4090-h100", "An RTX 4090 is 0.33 of an H100 at 8 bits", "0.33", "rtx4090/h100", "", GPU, rtx4090=660.6,
        h100=1978.9, note="Dense FP8 peaks; the H100's is from memory, unverified. The RTX 4090's accumulates in "
        "FP16, the "
        "H100's in FP32.",
    ),
    claim(
        "fp8-training", "8-bit training could be 3 to 4 times as fast as 16-bit", "", "fp8/fp16", "", GPU,
        declared="scenario", fp8=1978.9, fp16=989.4, note="Computed: the ratio of the peaks of an H100 (from memory).",
    ),
    constant("power-limit", "50 W less cost 7 % on an RTX 2080 Ti; four cards save 200 W", GPU),
    constant(
        "throttle", "Heat costs 0 to 10 % with one card, 10 to 25 % with several, 10 to 15 % with blowers, about 30 % "
        "side by side", f"{GPU}; {GUIDE}",
    ),
    claim(
        "gpu-gains", "In cuDNN a Titan gains 15 % (caption)", "15", "alt_text", "percent", GUIDE, alt_text=20,
        note="Against the alternative text of the same figure: +20 % and, for the 980, +30 % where the caption says "
        "+20 %. "
        "Internally inconsistent.",
    ),
    claim(
        "disk-time", "A disk of 100 MB/s takes 185 ms for 32 images", "185", "1000*size/(rate*2**20)", "ms", GUIDE,
        size=19.44e6, rate=100, note="In MiB/s; 194 ms in MB/s.",
    ),
    claim(
        "pcie-time", "32 ImageNet images in FP32 take 1.1 ms on 16 lanes", "1.1", "1000*32*225*225*3*4/(rate*2**30)",
        "ms",
        GUIDE, rate=16, note="In GiB/s.",
    ),
    claim(
        "pcie-time-8", "32 ImageNet images in FP32 take 2.3 ms on 8 lanes", "2.3", "1000*32*225*225*3*4/(rate*2**30)",
        "ms", GUIDE, rate=8, note="In GiB/s.",
    ),
    claim(
        "pcie-time-4", "32 ImageNet images in FP32 take 4.5 ms on 4 lanes", "4.5", "1000*32*225*225*3*4/(rate*2**30)",
        "ms", GUIDE, rate=4, note="In GiB/s.",
    ),
    claim(
        "pcie-time-gain", "16 lanes instead of 4 are worth 3.2 %", "3.2", "100*(slow - fast)/step", "percent", GUIDE,
        slow=9, fast=2, step=216,
    ),
    constant(
        "pcie-multi", "PCIe 4 and 5 give 1 to 7 % on 4 GPUs; 4 lanes cost 5 to 10 %; NVLink pays from 128 GPUs", GPU
    ),
    claim(
        "sparse-hardware", "Sparse training could be 3.0 to 5.6 times as fast: the high end", "5.6", "elsewhere", "",
        f"{SPARSE}; {GPU}: 2:4 sparsity doubles a matrix multiplication", elsewhere=12,
        note="Against another place of the same essay: 3.5 (VGG) to 12 times (WRN). Internally inconsistent; all of "
        "them "
        "possible, none measured.",
    ),
    claim(
        "sparse-accuracy", "5 % of the weights are 20 times fewer", "20", "1/share", "", SPARSE, share=0.05,
        note="20 % of the weights reach dense accuracy on MNIST, 5 % for VGG16-D and WRN-16-10 on CIFAR-10, not on "
        "ImageNet. An efficiency multiplier with a range, never compute growth.",
    ),
)  # fmt: skip
