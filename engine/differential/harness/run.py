"""Runs a scenario on a switch."""

from __future__ import annotations

from harness.programs import TESTER, CompiledProgram
from harness.scenario import Frame, Observation, PacketOut, Scenario, Write
from harness.switch import Switch
from harness.tester_times import mask_times
from p4mesh.p4runtime import CounterData, MeterConfig, WriteError
from p4mesh.p4runtime.stubs import p4r


def run_scenario(scenario: Scenario, program: CompiledProgram, switch: Switch) -> Observation:
    """The observation of the switch in the scenario."""
    seen = Observation()
    switch.start(program)
    with switch:
        for number, step in enumerate(scenario.steps):
            if isinstance(step, Write):
                seen.outputs.append({})
                _write(switch, step, number, seen)
            elif isinstance(step, Frame):
                seen.outputs.append(switch.frame(step.port, step.data))
            elif isinstance(step, PacketOut):
                seen.outputs.append(switch.packet_out(step.data, step.metadata))
        if not scenario.ordered:
            seen.outputs = [{port: sorted(frames) for port, frames in step.items()} for step in seen.outputs]
        _read_counters(switch, program, scenario, seen)
        seen.packet_ins = [(item.payload, dict(item.metadata)) for item in switch.packet_ins()]
        if program.name == TESTER:
            mask_times(seen)
        if scenario.digest_counter is not None:
            samples = sum(packets for _, packets, _ in seen.counters[scenario.digest_counter])
            _read_digests(switch, samples, seen)
    return seen


def _write(switch: Switch, step: Write, number: int, seen: Observation) -> None:
    arguments = dict(step.arguments)
    if "config" in arguments:
        arguments["config"] = MeterConfig(**arguments["config"])
    if "data" in arguments:
        arguments["data"] = CounterData(**arguments["data"])
    entity = getattr(switch.client.schema, step.method)(**arguments)
    try:
        switch.client.write([(step.kind, entity)])
    except WriteError as error:
        seen.refused[number] = error.failures[0].code


def _read_counters(switch: Switch, program: CompiledProgram, scenario: Scenario, seen: Observation) -> None:
    schema, info = switch.client.schema, program.info
    for counter in info.counters:
        name = counter.preamble.alias
        if scenario.counters is not None and name not in scenario.counters:
            continue
        cells = [entity.counter_entry for entity in switch.client.read(schema.counter(name))]
        seen.counters[name] = sorted(
            [cell.index.index, cell.data.packet_count, cell.data.byte_count]
            for cell in cells
            if cell.data.packet_count or cell.data.byte_count
        )
    tables = {table.preamble.id: table.preamble.alias for table in info.tables}
    for direct in info.direct_counters:
        table = tables[direct.direct_table_id]
        entries = [item.direct_counter_entry for item in switch.client.read(schema.direct_counter(table))]
        seen.direct_counters[table] = sorted(
            [_key(entry.table_entry), entry.data.packet_count, entry.data.byte_count] for entry in entries
        )


def _key(entry: p4r.TableEntry) -> str:
    """Match fields and priority as text that does not depend on the order of fields."""
    fields = sorted((match.field_id, match.SerializeToString(deterministic=True).hex()) for match in entry.match)
    return " ".join([f"{entry.priority}", *(text for _, text in fields)])


def _read_digests(switch: Switch, samples: int, seen: Observation) -> None:
    names = {number: digest.preamble.alias for number, digest in switch.client.schema.info.digests_by_id.items()}
    for item in switch.digests(samples):
        for data in item.data:
            members = " ".join(member.bitstring.hex() for member in data.struct.members)
            seen.digests.append((names[item.digest_id], members or data.SerializeToString(deterministic=True).hex()))
    seen.digests.sort()
