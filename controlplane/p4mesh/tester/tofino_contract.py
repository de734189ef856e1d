"""The tester program for Tofino: the same contract, made by two compilers (docs/TOFINO.md)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from p4mesh.errors import ProgramError
from p4mesh.target.chips import Chip
from p4mesh.tester.contract import P4SRC, Contract, hash_of_sources, load_contract, sources_of

_MAIN = "tna/p4mesh.p4"
_FIX = "run make p4-tofino where the Tofino back end of p4c is installed, or check out p4src again"


@dataclass(frozen=True)
class TofinoContract(Contract):
    """The program for one chip; its records are those of v1model, less what it does not measure."""

    device_config: Path
    records: tuple[tuple[str, int], ...]

    @property
    def device_config_path(self) -> Path:
        """Device config that the user's compiler and assembler have made; bfrt.json where the switch has it already."""
        return self.device_config

    @property
    def record_fields(self) -> tuple[tuple[str, int], ...]:
        """Names and widths in bytes of the fields of ``record_t``."""
        return self.records


def load_tofino_contract(chip: Chip, device_config: Path | None, p4src: Path = P4SRC) -> TofinoContract:
    """Opens the program for a chip; raises ProgramError when something is missing or stale.

    ``device_config`` None: the switch has the program already, which is compared with our bfrt.json.
    """
    directory = p4src / "compiled"
    path = directory / "tofino.json"
    name = f"p4mesh.{chip.p4info}"
    try:
        record = json.loads(path.read_text())
        constants, digests = record["constants"][chip.program], record["output_sha256"]
    except (OSError, KeyError, json.JSONDecodeError):
        raise ProgramError(f"{path}: no record of the program for {chip.program}", hint=_FIX) from None
    if (p4src / _MAIN).exists() and hash_of_sources(sources_of(_MAIN, p4src), p4src) != record["source_sha256"]:
        raise ProgramError(f"{path}: the compiled program is older than its sources", hint=_FIX)
    if device_config is None:
        device_config = directory / f"{name}.bfrt.json"
        if not device_config.is_file() or sha256(device_config.read_bytes()).hexdigest() != digests[device_config.name]:
            raise ProgramError(f"{device_config}: the tables of the program are not those of the record", hint=_FIX)
    elif not device_config.is_file():
        raise ProgramError(
            f"{device_config}: the compiled program for the switch is missing",
            hint="build it as docs/TOFINO.md says, and name the file as tester.tofino.device_config",
        )
    return TofinoContract(directory, name, constants, device_config, load_contract(p4src=p4src).record_fields)
