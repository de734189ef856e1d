"""Every parameter of every test: default, unit, range and clause are there, and values out of range are refused."""

from __future__ import annotations

from fractions import Fraction

import pytest

from p4mesh.errors import ParameterError
from p4mesh.methods.options.parameters import Kind, Parameter, resolve, show
from p4mesh.methods.registry import TESTS

NAMES = sorted({parameter.name for test in TESTS for parameter in test.parameters})


def declared(name: str) -> list[Parameter]:
    """Every declaration of a parameter that differs from the others in default, range or clause."""
    found = [parameter for test in TESTS for parameter in test.parameters if parameter.name == name]
    return list({repr(parameter): parameter for parameter in found}.values())


UNITS = ("ms", "s", "pct", "ppm", "fps", "us", "frames", "mbps")


def test_names_are_given_once_in_each_test() -> None:
    for test in TESTS:
        names = [parameter.name for parameter in test.parameters]
        assert len(names) == len(set(names)), test.name


@pytest.mark.parametrize("name", NAMES)
def test_every_parameter_says_what_it_is_and_its_default_is_valid(name: str) -> None:
    for parameter in declared(name):
        published = parameter.section.startswith(("RFC ", "ATM Forum ", "Recirculated packets ", "GSI "))
        # Clauses of a draft have other numbers in its next version.
        assert parameter.section.startswith("draft-ietf-") or (
            published and any(sign.isdigit() for sign in parameter.section)
        )
        assert parameter.summary and parameter.valid
        for real_time in (False, True):
            default = parameter.default_in(real_time=real_time)
            assert parameter.parse(show(default)) == default
        if parameter.kind in (Kind.INTEGER, Kind.DECIMAL):
            assert parameter.minimum is not None and parameter.maximum is not None
        if name.rpartition("_")[2] in UNITS and parameter.kind is not Kind.BOOLEAN:
            assert parameter.unit, name


@pytest.mark.parametrize("name", NAMES)
def test_a_number_out_of_range_is_refused_with_the_range(name: str) -> None:
    for parameter in declared(name):
        if parameter.minimum is None or parameter.maximum is None:
            continue
        step = Fraction(1) if parameter.kind is Kind.INTEGER else Fraction(1, 10**6)
        for wrong in (parameter.minimum - step, parameter.maximum + step):
            with pytest.raises(ParameterError) as refused:
                resolve("test", (parameter,), (f"{name}={wrong}",))
            assert f"{show(parameter.minimum)}..{show(parameter.maximum)}" in str(refused.value.hint)
            assert parameter.unit in str(refused.value.hint)
