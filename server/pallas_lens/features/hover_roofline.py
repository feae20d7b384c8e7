"""The roofline in the hover of a call: what HBM and each unit need on each chip, and which bounds it."""

from __future__ import annotations

from pallas_lens.model.roofline import Roofline, Unit
from pallas_lens.model.unknown import Unknown

from .call_roofline import ASSUMED, call_rooflines, range_text, seconds_text, work_text
from .hover_text import Seen, table

_MOST_REASONS = 3


def roofline_markdown(seen: Seen) -> str:
    """A table of times by chip, the figures behind them, what is assumed and what is left out."""
    told = call_rooflines(seen.call, seen.body, seen.chips)
    rooflines = {name: one for name, one in told.items() if isinstance(one, Roofline)}
    if not rooflines:
        why = next((one.reason for one in told.values() if isinstance(one, Unknown)), "")
        return f"roofline not known: {why}" if why else ""
    first = next(iter(rooflines.values()))
    if not any(one.seconds for one in rooflines.values()):
        return ""
    used = [unit for unit in Unit if any(unit in one.seconds for one in rooflines.values())]
    rows = [(unit.value, *(_time(one, unit) for one in rooflines.values())) for unit in used]
    rows.append(("**at best**", *(_at_best(one) for one in rooflines.values())))
    header = ("roofline", *rooflines)
    return "\n\n".join(
        (table(header, rows, right=range(1, len(header))), work_text(first), "  \n".join(_notes(rooflines, seen)))
    )


def _time(told: Roofline, unit: Unit) -> str:
    return range_text(told.seconds[unit]) if unit in told.seconds else ""


def _at_best(told: Roofline) -> str:
    time = f"**{seconds_text(told.at_best)}**"
    return f"≥ {time}" if told.unknown else f"{time} {' or '.join(told.bounds)}"


def _notes(rooflines: dict[str, Roofline], seen: Seen) -> list[str]:
    """What is assumed, and what is left out, each once."""
    notes = [ASSUMED]
    shared = [name for name, one in rooflines.items() if one.cores > 1]
    if shared:
        notes.append(f"{', '.join(shared)}: by both cores; a window that both need is counted once")
    if any(not time.is_exact for one in rooflines.values() for time in one.seconds.values()):
        notes.append("from … to: without and with what conditions may skip, and where several measurements fit")
    unknown = dict.fromkeys(reason for one in rooflines.values() for reason in one.unknown)
    notes += [f"left out: {reason}" for reason in list(unknown)[:_MOST_REASONS]]
    if len(unknown) > _MOST_REASONS:
        notes.append(f"and {len(unknown) - _MOST_REASONS} more left out")
    return notes
