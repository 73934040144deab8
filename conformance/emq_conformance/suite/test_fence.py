"""The fence: only the live token settles (F1-F6)."""

from collections.abc import Callable

import pytest

from emq_conformance.backend import Ability
from emq_conformance.lockstep import Lockstep
from emq_conformance.servers import Feature
from emq_conformance.strategies import ODD_SPELLINGS
from emq_conformance.suite.stories import SETTLES, A, B, admit, claim, settle, sweep
from emq_conformance.violation import Breach, violation
from emq_model import (
    Answer,
    Complete,
    Enqueue,
    Error,
    Extend,
    Job,
    Promote,
    Queue,
    Reap,
    Retry,
    State,
)
from emq_model.frozen import Frozen
from emq_model.laws import BY_ID

each_settle = pytest.mark.parametrize("name", SETTLES)


@each_settle
@pytest.mark.needs(Feature.CLOCK)
def test_F1_a_superseded_token_is_refused(pair: Lockstep, name: str) -> None:
    admit(pair, A)
    first = claim(pair)
    sweep(pair)
    second = claim(pair)
    assert pair(settle(name, A, first)) is Error.EMQSTALE
    assert pair(Complete(A, second)) is Answer.DONE


@each_settle
def test_F1_a_token_is_refused_before_any_claim(pair: Lockstep, name: str) -> None:
    admit(pair, A)
    assert pair(settle(name, A, 1)) is Error.EMQSTALE


@each_settle
def test_F1_a_token_from_the_future_is_refused(pair: Lockstep, name: str) -> None:
    admit(pair, A)
    token = claim(pair)
    assert pair(settle(name, A, token + 1)) is Error.EMQSTALE


def test_F1_a_token_of_another_job_is_refused(pair: Lockstep) -> None:
    admit(pair, A, B)
    token = claim(pair)
    pair(Retry(A, token, 0, 3, b"failed"))
    pair(Promote(1))
    again = claim(pair)
    claim(pair)
    assert pair(Complete(B, again)) is Error.EMQSTALE


@pytest.mark.needs(Feature.CLOCK)
def test_F1_a_live_token_is_accepted_after_its_lease(pair: Lockstep) -> None:
    admit(pair, A)
    token = claim(pair)
    sweep(pair)
    assert pair(Complete(A, token)) is Answer.DONE


@each_settle
@pytest.mark.needs(Feature.CLOCK, Ability.OBSERVE)
def test_F2_a_refusal_changes_no_key(pair: Lockstep, name: str) -> None:
    admit(pair, A, B)
    token = claim(pair)
    sweep(pair)
    claim(pair)
    before = pair.keyspace.dump()
    assert pair(settle(name, A, token)) is Error.EMQSTALE
    assert pair.keyspace.dump() == before


@pytest.mark.needs(Feature.CLOCK)
def test_F3_each_claim_mints_the_next_token(pair: Lockstep) -> None:
    admit(pair, A)
    tokens = []
    for _ in range(3):
        tokens.append(claim(pair))
        sweep(pair)
    tokens.append(claim(pair))
    pair(Retry(A, tokens[-1], 0, 9, b"failed"))
    pair(Promote(1))
    tokens.append(claim(pair))
    assert tokens == [1, 2, 3, 4, 5]


@pytest.mark.needs(Feature.CLOCK)
def test_F3_ten_comes_after_nine(pair: Lockstep) -> None:
    admit(pair, A)
    for _ in range(9):
        claim(pair)
        sweep(pair)
    assert claim(pair) == 10
    assert pair(Complete(A, 9)) is Error.EMQSTALE
    assert pair(Complete(A, 10)) is Answer.DONE


@each_settle
@pytest.mark.needs(Ability.RESTORE, Ability.OBSERVE)
def test_F4_of_all_tokens_one_is_live(pair: Lockstep, name: str) -> None:
    leased = Queue(
        active=Frozen({A: pair.now + 60_000}),
        rows=Frozen({A: Job(b"", State.ACTIVE, attempts=12)}),
    )
    accepted = []
    for token in range(14):
        pair.restore(leased)
        if not isinstance(pair.client.run(settle(name, A, token)), Error):
            accepted.append(token)
    pair.restore(Queue())
    if accepted != [12]:
        law = BY_ID["F4"]
        raise violation([Breach("F4", law.statement, f"of 0 ... 13, {accepted} are live")], [])


@pytest.mark.parametrize("spelling", ODD_SPELLINGS, ids=lambda spell: repr(spell(1)[:12])[1:])
@each_settle
def test_F5_an_odd_spelling_is_refused(
    pair: Lockstep, name: str, spelling: Callable[[int], bytes]
) -> None:
    admit(pair, A)
    token = claim(pair)
    assert pair(settle(name, A, spelling(token))) is Error.EMQSTALE
    assert pair(settle(name, A, token)) is not Error.EMQSTALE


@each_settle
def test_F5_zero_is_refused_before_any_claim(pair: Lockstep, name: str) -> None:
    admit(pair, A)
    assert pair(settle(name, A, 0)) is Error.EMQSTALE


@each_settle
@pytest.mark.needs(Ability.RESTORE, Ability.OBSERVE)
def test_F5_neighbours_that_a_double_cannot_tell_apart(pair: Lockstep, name: str) -> None:
    pair.restore(
        Queue(
            active=Frozen({A: pair.now + 60_000}),
            rows=Frozen({A: Job(b"", State.ACTIVE, attempts=2**53)}),
        )
    )
    assert pair(settle(name, A, 2**53 + 1)) is Error.EMQSTALE
    assert pair(settle(name, A, 2**53)) is not Error.EMQSTALE


@each_settle
def test_F6_a_spent_token_is_refused_after_retry(pair: Lockstep, name: str) -> None:
    admit(pair, A)
    token = claim(pair)
    pair(Retry(A, token, 0, 3, b"failed"))
    assert pair(settle(name, A, token)) is Error.EMQSTALE


@each_settle
def test_F6_a_spent_token_is_refused_after_promote(pair: Lockstep, name: str) -> None:
    admit(pair, A)
    token = claim(pair)
    pair(Retry(A, token, 0, 3, b"failed"))
    pair(Promote(1))
    assert pair(settle(name, A, token)) is Error.EMQSTALE
    assert claim(pair) == token + 1


@each_settle
def test_F6_a_spent_token_is_refused_after_death(pair: Lockstep, name: str) -> None:
    admit(pair, A)
    token = claim(pair)
    assert pair(Retry(A, token, 0, 1, b"failed")) is Answer.DEAD
    assert pair(settle(name, A, token)) is Error.EMQSTALE


@each_settle
@pytest.mark.needs(Feature.CLOCK)
def test_F6_a_token_spent_by_a_swept_worker_is_refused(pair: Lockstep, name: str) -> None:
    admit(pair, A)
    token = claim(pair)
    sweep(pair)
    assert pair(Retry(A, token, 0, 3, b"late")) is Answer.SCHEDULED
    assert pair(settle(name, A, token)) is Error.EMQSTALE


@pytest.mark.needs(Feature.CLOCK)
@pytest.mark.parametrize("leap", [-86_400_000 * 365, -1, 0, 1, 86_400_000 * 365])
def test_L4_the_fence_holds_whatever_the_clock_does(pair: Lockstep, leap: int) -> None:
    admit(pair, A)
    first = claim(pair)
    sweep(pair)
    second = claim(pair)
    pair.set_clock(pair.now + leap)
    assert pair(Complete(A, first)) is Error.EMQSTALE
    assert pair(Extend(A, second, 10)) is Answer.EXTENDED
    pair.set_clock(pair.now + leap)
    pair(Reap(1))
    assert pair(Retry(A, first, 0, 3, b"late")) is Error.EMQSTALE
    assert pair(Retry(A, second, 0, 3, b"failed")) is Answer.SCHEDULED
    pair.set_clock(pair.now + leap)
    assert pair(Complete(A, second)) is Error.EMQSTALE


def test_A1_without_unique_ids_a_token_of_the_first_life_is_live_in_the_second(
    pair: Lockstep,
) -> None:
    admit(pair, A)
    first_life = claim(pair)
    pair(Complete(A, first_life))
    assert pair(Enqueue(A, b"second life")) is Answer.ADMITTED
    claim(pair)
    assert pair(Complete(A, first_life)) is Answer.DONE


@pytest.mark.needs(Ability.RESTORE, Ability.OBSERVE)
def test_A2_without_the_acknowledged_claim_its_token_is_minted_twice(pair: Lockstep) -> None:
    admit(pair, A)
    as_the_replica_has_it = pair.queue
    lost = claim(pair)
    pair.restore(as_the_replica_has_it)
    assert claim(pair) == lost
