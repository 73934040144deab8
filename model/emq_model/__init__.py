"""The reference machine of the leased queue: pure functions on immutable values.

Read it in this order:

- `ids`: branded job ids, and what makes one valid;
- `queue`: the values `Job` and `Queue`;
- `verbs`: the nine verbs as data, and `step`, which says what each of them does;
- `replies`: what a verb answers;
- `laws`: what must be true of every step, each with its id and its check;
- `story`: a run in the protocol's words.

There is no I/O in it, no clock and no randomness: the instant is an argument of `step`, in
milliseconds of the server clock.

>>> from emq_model import Claim, Complete, Enqueue, Queue, Reap, step
>>> job = b"JOB0KHTOWnGLuC"
>>> queue, _ = step(Queue(), Enqueue(job, b"hello"), now=0)
>>> queue, reply = step(queue, Claim(lease=10), now=0)
>>> reply
Claimed(id=b'JOB0KHTOWnGLuC', payload=b'hello', token=1)

The lease lapses, the reaper returns the job, and a second worker claims it:

>>> queue, _ = step(queue, Reap(limit=100), now=10)
>>> queue, reply = step(queue, Claim(lease=10), now=11)
>>> reply.token
2

The first worker wakes up with a token that is stale:

>>> unchanged, reply = step(queue, Complete(job, token=1), now=12)
>>> reply
<Error.EMQSTALE: 'EMQSTALE'>
>>> unchanged == queue
True
"""

from emq_model.ids import is_job_id, mint, parse
from emq_model.queue import Job, JobId, Queue, State, is_ghost, live
from emq_model.replies import Answer, Claimed, Error, Moved, Reply
from emq_model.verbs import (
    Claim,
    Complete,
    Enqueue,
    Extend,
    Pause,
    Promote,
    Reap,
    Resume,
    Retry,
    Settle,
    Verb,
    step,
)

__all__ = [
    "Answer",
    "Claim",
    "Claimed",
    "Complete",
    "Enqueue",
    "Error",
    "Extend",
    "Job",
    "JobId",
    "Moved",
    "Pause",
    "Promote",
    "Queue",
    "Reap",
    "Reply",
    "Resume",
    "Retry",
    "Settle",
    "State",
    "Verb",
    "is_ghost",
    "is_job_id",
    "live",
    "mint",
    "parse",
    "step",
]
