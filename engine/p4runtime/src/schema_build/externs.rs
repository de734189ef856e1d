//! Counters, meters, registers, value sets, digests and controller headers of P4Info.

use p4mesh_pipeline::{HeaderTypeInfo, MatchKind};

use super::{counter_unit, meter_type, misfit, Builder};
use crate::packet::{PacketField, PacketHeader};
use crate::proto::info::*;
use crate::refusal::{Outcome, Refusal};
use crate::schema::*;

impl Builder<'_> {
    pub(super) fn arrays(&mut self) -> Outcome<()> {
        for item in &self.info.counters {
            let index = self.schema.counters.len();
            let (id, name) = self.named(&item.preamble, "counter", ObjectRef::Counter(index))?;
            let size = self
                .program
                .counters()
                .iter()
                .find(|counter| counter.name == name && counter.direct_table.is_none())
                .map(|counter| counter.size);
            let Some(size) = size else {
                self.removed("counter", id, &name)?;
                continue;
            };
            same_size("counter", &name, item.size, size)?;
            self.schema.counters.push(CounterSchema {
                array: ArraySchema { id, name, size },
                unit: counter_unit(&item.spec),
            });
        }
        for item in &self.info.direct_counters {
            self.named(&item.preamble, "direct counter", ObjectRef::DirectCounter)?;
        }
        for item in &self.info.meters {
            let index = self.schema.meters.len();
            let (id, name) = self.named(&item.preamble, "meter", ObjectRef::Meter(index))?;
            let program =
                self.program.meters().iter().find(|meter| meter.name == name && meter.direct_table.is_none());
            let Some(size) = program.map(|meter| meter.size) else {
                self.removed("meter", id, &name)?;
                continue;
            };
            same_size("meter", &name, item.size, size)?;
            self.schema.meters.push(MeterSchema {
                array: ArraySchema { id, name, size },
                meter_type: meter_type(&item.spec),
            });
        }
        for item in &self.info.direct_meters {
            self.named(&item.preamble, "direct meter", ObjectRef::DirectMeter)?;
        }
        for item in &self.info.registers {
            let index = self.schema.registers.len();
            let (id, name) = self.named(&item.preamble, "register", ObjectRef::Register(index))?;
            let program = self.program.registers().iter().find(|register| register.name == name);
            let Some(program) = program else {
                self.removed("register", id, &name)?;
                continue;
            };
            let size = program.size;
            same_size("register", &name, i64::from(item.size), size)?;
            let kind = self.scalar_kind(&item.type_spec).ok_or_else(|| {
                Refusal::unimplemented(format!("P4Info: register '{name}' does not hold a single value"))
            })?;
            self.schema.registers.push(RegisterSchema {
                width_bits: program.width_bits,
                array: ArraySchema { id, name, size },
                kind,
            });
        }
        Ok(())
    }

    fn scalar_kind(&self, spec: &Option<P4DataTypeSpec>) -> Option<ScalarKind> {
        match spec.as_ref()?.type_spec.as_ref()? {
            TypeSpec::Bitstring(bits) => match bits.type_spec.as_ref()? {
                BitstringTypeSpec::Bit(_) => Some(ScalarKind::Bits),
                BitstringTypeSpec::Int(_) => Some(ScalarKind::Int),
                BitstringTypeSpec::Varbit(_) => None,
            },
            TypeSpec::Bool(_) => Some(ScalarKind::Bool),
            TypeSpec::SerializableEnum(_) => Some(ScalarKind::EnumValue),
            TypeSpec::Enum(named) => {
                let symbols = self.schema.enums.get(&named.name)?;
                Some(ScalarKind::Enum(symbols.clone()))
            }
            TypeSpec::Error(_) => Some(ScalarKind::Error(self.schema.errors.clone())),
            TypeSpec::NewType(named) => {
                let spec = self.schema.types.new_types.get(&named.name)?;
                match spec.representation.as_ref()? {
                    Representation::OriginalType(original) => self.scalar_kind(&Some(original.clone())),
                    Representation::TranslatedType(_) => Some(match self.schema.names.get(&named.name) {
                        Some(names) => ScalarKind::Text(names.clone()),
                        None => ScalarKind::Bits,
                    }),
                }
            }
            _ => None,
        }
    }

    pub(super) fn value_sets(&mut self) -> Outcome<()> {
        for item in &self.info.value_sets {
            let index = self.schema.value_sets.len();
            let (id, name) = self.named(&item.preamble, "value set", ObjectRef::ValueSet(index))?;
            let Some(program) = self.program.value_sets().iter().find(|value_set| value_set.name == name)
            else {
                self.removed("value set", id, &name)?;
                continue;
            };
            let widths: Vec<u32> = item
                .r#match
                .iter()
                .enumerate()
                .map(|(index, field)| match self.translated(&field.type_name) {
                    true => program.width_bits.get(index).copied().unwrap_or(0),
                    false => field.bitwidth.max(0) as u32,
                })
                .collect();
            if widths != program.width_bits {
                return misfit(format_args!(
                    "value set '{name}' has fields of {widths:?} bits, {:?} in the program",
                    program.width_bits
                ));
            }
            let mut fields = Vec::new();
            for (field, width_bits) in item.r#match.iter().zip(widths) {
                let kind = match &field.r#match {
                    Some(Match::MatchType(kind)) => MatchType::try_from(*kind).ok(),
                    _ => None,
                };
                let kind = match kind {
                    Some(MatchType::Exact) => MatchKind::Exact,
                    Some(MatchType::Ternary) => MatchKind::Ternary,
                    Some(MatchType::Lpm) => MatchKind::Lpm,
                    Some(MatchType::Range) => MatchKind::Range,
                    Some(MatchType::Optional) => MatchKind::Optional,
                    _ => {
                        return misfit(format_args!(
                            "value set '{name}': field {} has no known match type",
                            field.id
                        ))
                    }
                };
                fields.push(FieldSchema {
                    id: field.id,
                    name: field.name.clone(),
                    kind,
                    as_ternary: false,
                    names: self.names_of(&field.type_name),
                    width_bits,
                });
            }
            self.schema.value_sets.push(ValueSetSchema { id, name, size: item.size.max(0) as usize, fields });
        }
        Ok(())
    }

    pub(super) fn digests(&mut self) -> Outcome<()> {
        for (order, item) in self.info.digests.iter().enumerate() {
            let index = self.schema.digests.len();
            let (id, name) = self.named(&item.preamble, "digest", ObjectRef::Digest(index))?;
            let digests = self.program.digests();
            // Digests of anonymous types have other names in the program; their order is the same.
            let by_order = match digests.len() == self.info.digests.len() {
                true => digests.get(order),
                false => None,
            };
            let named = digests.iter().find(|digest| digest.name == name);
            let Some(program) = named.or(by_order) else {
                self.removed("digest", id, &name)?;
                continue;
            };
            let type_spec = item.type_spec.clone().unwrap_or_default();
            crate::data::from_fields(
                &type_spec,
                &self.schema,
                &mut vec![vec![0]; program.fields.len()].into_iter(),
            )
            .map_err(|problem| {
                Refusal::invalid(format!("P4Info does not fit the program: digest '{name}': {problem}"))
            })?;
            self.schema.digests.push(DigestSchema { id, name, program_id: program.id, type_spec });
        }
        Ok(())
    }

    pub(super) fn controller_headers(&mut self) -> Outcome<()> {
        for item in &self.info.controller_packet_metadata {
            let (_, name) = self.named(&item.preamble, "controller header", ObjectRef::ControllerHeader)?;
            let widths = self.wire_widths(&name, &item.metadata)?;
            let header = PacketHeader {
                fields: (item.metadata.iter().zip(widths))
                    .map(|(field, width_bits)| PacketField {
                        id: field.id,
                        name: field.name.clone(),
                        names: self.names_of(&field.type_name),
                        width_bits,
                    })
                    .collect(),
            };
            match name.as_str() {
                "packet_in" => self.schema.packet_in = Some(header),
                "packet_out" => self.schema.packet_out = Some(header),
                _ => {}
            }
        }
        Ok(())
    }

    /// Widths of a controller header on the wire. P4Info has them, except for fields of a
    /// translated type: then they are those of the program's header with the same field names.
    fn wire_widths(&self, name: &str, fields: &[MetadataInfo]) -> Outcome<Vec<u32>> {
        let translated = |field: &MetadataInfo| self.translated(&field.type_name);
        if !fields.iter().any(translated) {
            return Ok(fields.iter().map(|field| field.bitwidth.max(0) as u32).collect());
        }
        let same_fields = |header: &&HeaderTypeInfo| {
            header.fields.len() == fields.len()
                && (header.fields.iter().zip(fields)).all(|(a, b)| a.name == b.name)
        };
        match self.program.header_types().iter().find(same_fields) {
            Some(header) => Ok(header.fields.iter().map(|field| field.width_bits).collect()),
            None => misfit(format_args!("the program has no header with the fields of {name}")),
        }
    }
}

fn same_size(kind: &str, name: &str, described: i64, size: usize) -> Outcome<()> {
    match size as i64 == described {
        true => Ok(()),
        false => misfit(format_args!("{kind} '{name}' has {described} cell(s), {size} in the program")),
    }
}
