"""What the instruments of OASIS measured, each as a line of the terminal."""

from __future__ import annotations

from pytest_t2i.runs.record import RunRecord


def emergence_line(record: RunRecord) -> str:
    """The attribute that the first steps lead to most, or away from least; "" without any."""
    leaning = [
        (emergence.centred[0], emergence)
        for emergence in record.emergence
        if emergence.centred and emergence.guidance
    ]
    if not leaning:
        return ""
    first, most = max(leaning, key=lambda pair: pair[0])
    half = f", half of it by step {most.half_step}" if most.half_step else ""
    leads = "adds most of" if first > 0 else "leads to none, least away from"
    return (
        f"emergence (SPI, centred): first step {leads} {most.concept}: {most.attribute}, "
        f"{first:+.3f} [{most.centred_low[0]:+.3f}, {most.centred_high[0]:+.3f}]{half}"
    )
