"""Faults in the scripts: each is a change of a few characters, and the law that it breaks."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from emq_lua import load


@dataclass(frozen=True, slots=True)
class Fault:
    """A change to one script."""

    id: str
    title: str
    law: str
    """The law that it breaks."""
    script: str
    changes: Sequence[tuple[str, str]]
    """Texts of the script, each of which occurs in it exactly once, and what replaces them."""


_LEASE_CHECK = """\
if not lease then
  return redis.error_reply('EMQARG lease_ms must be a canonical decimal integer in 1 ... 2^52')
end
"""
_POP = "local id = redis.call('ZPOPMIN', pending)[1]\n"

FAULTS = (
    Fault(
        "no-token-check",
        "complete does not compare the token",
        "F1",
        "complete",
        [("token ~= attempts or ", "")],
    ),
    Fault(
        "numeric-comparison",
        "complete compares numbers, so 01 and 1.0 pass for 1",
        "F5",
        "complete",
        [
            ("token ~= attempts or ", "tonumber(token) ~= tonumber(attempts) or "),
            (" or not string.find(token, '^[1-9][0-9]*$')", ""),
        ],
    ),
    Fault(
        "token-zero",
        "token 0 completes a job that nobody claimed",
        "F5",
        "complete",
        [(" or not string.find(token, '^[1-9][0-9]*$')", "")],
    ),
    Fault(
        "no-spent",
        "retry does not mark the token as spent",
        "F6",
        "retry",
        [
            (
                "'scheduled', 'last_error', ARGV[5], 'spent', token",
                "'scheduled', 'last_error', ARGV[5]",
            ),
            ("'dead', 'last_error', ARGV[5], 'spent', token", "'dead', 'last_error', ARGV[5]"),
        ],
    ),
    Fault(
        "extend-leaves-pending",
        "extend leaves a swept job in pending",
        "C1",
        "extend",
        [("redis.call('ZREM', pending, id)\n", "")],
    ),
    Fault(
        "extend-adds",
        "extend adds to the old deadline",
        "L2",
        "extend",
        [("now + lease)", "(redis.call('ZSCORE', active, id) or now) + lease)")],
    ),
    Fault(
        "reap-after-the-deadline",
        "reap takes what is past its deadline, not what is at it",
        "R1",
        "reap",
        [("'-inf', now,", "'-inf', '(' .. now,")],
    ),
    Fault(
        "reap-mints-a-skeleton",
        "reap writes the state of a ghost",
        "C2",
        "reap",
        [("redis.call('TYPE', row).ok == 'hash'", "redis.call('TYPE', row).ok ~= 'string'")],
    ),
    Fault(
        "promote-leaves-schedule",
        "promote copies and does not remove",
        "C1",
        "promote",
        [("  redis.call('ZREM', schedule, id)\n", "")],
    ),
    Fault(
        "largest-first",
        "claim pops the byte-largest id",
        "O1",
        "claim",
        [("'ZPOPMIN'", "'ZPOPMAX'")],
    ),
    Fault(
        "no-ghost-guard",
        "claim hands out a ghost",
        "C3",
        "claim",
        [("if type(payload) ~= 'string' then", "if type(payload) == 'nil' then")],
    ),
    Fault(
        "arguments-after-the-pop",
        "claim checks the lease when the id has left pending",
        "C4",
        "claim",
        [
            (_LEASE_CHECK + "\n" + _POP, _POP + _LEASE_CHECK),
        ],
    ),
    Fault(
        "whole-seconds",
        "claim counts the deadline in whole seconds",
        "L1",
        "claim",
        [("time[1] * 1000 + math.floor(time[2] / 1000)", "time[1] * 1000")],
    ),
    Fault(
        "duplicate-overwrites",
        "enqueue of a known id overwrites its row",
        "C5",
        "enqueue",
        [("if row_type == 'hash' then\n  return 0\nend\n", ""), ("row_type ~= 'none' or ", "")],
    ),
    Fault(
        "dead-off-by-one",
        "retry buries a job one attempt too late",
        "retry",
        "retry",
        [("tonumber(attempts) >= max_attempts", "tonumber(attempts) > max_attempts")],
    ),
)
"""The faults, in the order of the laws of the verbs they sit in."""


def plant(fault: Fault, folder: Path) -> Path:
    """Write the seven scripts into `folder`, with this fault in one of them.

    Raises:
        ValueError: if the fault no longer applies to the script.
    """
    for name, script in load().items():
        source = script.source.decode()
        if name == fault.script:
            for old, new in fault.changes:
                if source.count(old) != 1:
                    raise ValueError(f"{fault.id}: {old!r} is not once in {name}.lua")
                source = source.replace(old, new)
        (folder / f"{name}.lua").write_text(source)
    return folder
