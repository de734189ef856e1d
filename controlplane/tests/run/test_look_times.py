"""How often a trial is looked at while it runs."""

from p4mesh.run.session import LookTimes


def test_pauses_between_looks() -> None:
    """Half a second, and 20 times the look before it where that is longer."""
    looks = LookTimes(10.0)
    assert not looks.begins(10.4)
    assert looks.begins(10.5)
    looks.ends(10.501)  # a look of 1 ms
    assert not looks.begins(11.0)
    assert looks.begins(11.002)
    looks.ends(21.002)  # one of 10 s
    assert not looks.begins(221.0)
    assert looks.begins(221.003)
    looks.ends(221.004)  # and one of 1 ms again
    assert looks.begins(221.505)
