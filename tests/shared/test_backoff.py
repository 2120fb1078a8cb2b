"""Pauses between attempts."""

from baton.shared.backoff import Backoff


def test_pauses_double_up_to_the_longest_and_begin_again_after_a_success():
    backoff = Backoff(1.0, 5.0)
    for longest in (1, 2, 4, 5, 5):
        assert longest / 2 <= backoff.next_s() <= longest
    backoff.reset()
    assert 0.5 <= backoff.next_s() <= 1
    assert 1 <= backoff.next_s() <= 2


def test_clients_of_one_server_reconnect_at_different_times():
    pauses = {Backoff(1.0, 5.0).next_s() for _ in range(20)}
    assert len(pauses) > 10
