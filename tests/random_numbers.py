"""Numbers as people, programs and enemies write them: mild ones, and those at every border."""

from __future__ import annotations

import math
import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random

    import numpy as np

EXTREMES = (
    "0", "0.0", "-0", "-1", "1", "1.0", "1.00000000000000000000", "5e-324", "2.2e-308", "1e-320",
    "1e-300", "1e-160", "1e-17", "1e308", "1.7976931348623157e308", "1.8e308", "1e309", "1e999",
    "1e154", "1.4e154", "1e155", "1e100", "1e16", "1e15", "1000000000000001", "9007199254740993",
    "0.9999999999999999", "0.99999999999999999", "0.999999999999999999999999999999",
    "0.9999999999999998", "1.0000000000000002", "1.00000000000000000001", "0.3333333333333333",
    "5.555555555555556", "0.1234567890123456789012345678901234567890", "0.5000000000000001",
    "0.49999999999999994", "1/3", "2/3", "1/1e300", "1e300/1e-300", "1/7%", "99.9999999999999999%",
    "100%", "0%", "1e-400", "60_000", "1_0.5", "709.78", "710", "745.2", "36.8", "1e-16", "1e7",
    "999999999999999/1000000000000000", "1/0", "-1e308", "-5e-324", "1e-999", "123456789012345678",
)  # fmt: skip
# What is no number, or not one of this language.
NONE = (
    "nan", "NaN", "inf", "-inf", "Infinity", "", " ", "_", "e5", "1e", "1e+", "0x10", "1,5", "--1",
    "1e5e5", "٣", "1%%", "1/2/3", ".", "1.", ".5", "+1", "1 2", "None", "1e1.5", "sqrt(2)", "½",
)  # fmt: skip


def log_uniform(rng: random.Random | np.random.Generator, low: float, high: float) -> float:
    """Return a number whose log is uniform, with few digits."""
    return float(f"{low * (high / low) ** rng.random():.3g}")


def mild(rng: random.Random) -> str:
    """Return a number that questions have."""
    kind = rng.random()
    if kind < 0.6:
        return repr(log_uniform(rng, 0.05, 30))
    if kind < 0.7:
        return repr(log_uniform(rng, 0.05, 30) * rng.random())
    if kind < 0.8:
        return str(rng.randint(1, 40))
    if kind < 0.9:
        return f"{rng.randint(1, 500)}/{rng.randint(1, 500)}"
    return f"{log_uniform(rng, 0.1, 99)!r}%"


def extreme(rng: random.Random) -> str:
    """Return a number at a border: of doubles, of digits, of ranges."""
    kind = rng.random()
    if kind < 0.6:
        return rng.choice(EXTREMES)
    if kind < 0.75:
        # Any double at all, of which most are far from 1.
        value = struct.unpack("<d", rng.randbytes(8))[0]
        return repr(abs(value)) if math.isfinite(value) else "1e200"
    if kind < 0.85:
        digits = "".join(rng.choice("0123456789") for _ in range(rng.randint(16, 45)))
        return rng.choice((f"0.{digits}", f"{digits[:2]}.{digits[2:]}", f"{digits}e-30", digits))
    if kind < 0.95:
        return repr(log_uniform(rng, 1e-300, 1e300))
    return repr(
        math.nextafter(rng.choice((0.5, 1.0, 2.0, 0.1, 700.0, 1e15)), rng.choice((0, 9e99)))
    )


def number(rng: random.Random, wild: float) -> str:
    """Return a number; with a chance of `wild` one at a border, and at times none at all."""
    if rng.random() >= wild:
        return mild(rng)
    return rng.choice(NONE) if rng.random() < 0.06 else extreme(rng)


def rate(rng: random.Random, wild: float) -> str:
    """Return a probability in the same way."""
    if rng.random() < wild:
        return number(rng, 1.0)
    small = log_uniform(rng, 1e-6, 0.9)
    percentage = f"{log_uniform(rng, 0.01, 99)!r}%"
    return rng.choice((repr(small), percentage, f"{rng.randint(1, 99)}/100"))


def delta(rng: random.Random, wild: float) -> str:
    """Return a delta in the same way."""
    return number(rng, 1.0) if rng.random() < wild else repr(log_uniform(rng, 1e-30, 0.3))


def whole(rng: random.Random, wild: float, most: float = 60) -> str:
    """Return a count in the same way."""
    if rng.random() >= wild:
        return str(int(log_uniform(rng, 1, most)))
    some = ("0", "1", "-1", "1e3", "1.0", "1000000000000000", "1000000000000001", "9" * 30, "1_0",
            "2147483648", "999999999999", "100000", "01", "_", "1/1")  # fmt: skip
    return rng.choice(some) if rng.random() < 0.6 else extreme(rng)
