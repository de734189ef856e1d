//! From P4Info to [`Schema`], checked against the program. The first thing that does not fit is
//! named in the error, which is INVALID_ARGUMENT (section 11: a config that cannot be realized).

mod externs;

use std::collections::HashMap;
use std::sync::Arc;

use p4mesh_pipeline::{KeyInfo, MatchKind, ParamInfo, Program, TableInfo};

use crate::names::Names;
use crate::proto::info::{self, *};
use crate::refusal::{Outcome, Refusal};
use crate::schema::*;
use crate::symbols::Symbols;

/// Multicast groups that the replication engine has.
const MULTICAST_GROUPS: i32 = 32_767;

/// Builds the index of `info` for `program`.
pub fn build(info: &P4Info, program: &Program) -> Outcome<Schema> {
    let mut builder = Builder {
        info,
        program,
        schema: Schema {
            types: info.type_info.clone().unwrap_or_default(),
            enums: (program.enums().iter())
                .map(|item| (item.name.clone(), Arc::new(Symbols::from(item))))
                .collect(),
            errors: Arc::new(Symbols::from(program.errors())),
            ..Schema::default()
        },
        ids: HashMap::new(),
    };
    builder.run()?;
    Ok(builder.schema)
}

/// Parameters that P4Info has for an action beyond those of the program: the compiler removes parameters that the
/// action does not use.
pub fn unused(info: &P4Info, action: &str, params: &[ParamInfo]) -> Vec<ParamInfo> {
    let named = |item: &&info::ActionInfo| (item.preamble.as_ref()).is_some_and(|item| item.name == action);
    let Some(described) = info.actions.iter().find(named) else {
        return Vec::new();
    };
    let unknown = |param: &&info::ParamInfo| params.iter().all(|known| known.name != param.name);
    let missing: Vec<&info::ParamInfo> = described.params.iter().filter(unknown).collect();
    // Otherwise the names differ and not the parameters.
    match missing.len() + params.len() == described.params.len() {
        true => missing
            .into_iter()
            .map(|param| ParamInfo {
                name: param.name.clone(),
                // A type that is translated has no width here, and no use.
                width_bits: u32::try_from(param.bitwidth).unwrap_or(0).max(1),
            })
            .collect(),
        false => Vec::new(),
    }
}

struct Builder<'a> {
    info: &'a P4Info,
    program: &'a Program,
    schema: Schema,
    /// Ids seen so far, with the name that has them.
    ids: HashMap<u32, String>,
}

fn misfit<T>(message: impl std::fmt::Display) -> Outcome<T> {
    Err(Refusal::invalid(format!("P4Info does not fit the program: {message}")))
}

/// Names in the program of objects that P4Info can describe, by kind.
fn program_names(program: &Program, kind: &str) -> Vec<String> {
    let names = |items: &mut dyn Iterator<Item = &String>| items.cloned().collect();
    match kind {
        // Tables without a key and without a name of the programmer's are the compiler's own.
        "table" => names(
            &mut (program.tables().iter())
                .filter(|table| !table.key.is_empty() || table.name.contains('.'))
                .map(|table| &table.name),
        ),
        "action profile" => names(&mut program.action_profiles().iter().map(|item| &item.name)),
        "counter" => names(
            &mut (program.counters().iter())
                .filter(|item| item.direct_table.is_none())
                .map(|item| &item.name),
        ),
        "meter" => names(
            &mut (program.meters().iter()).filter(|item| item.direct_table.is_none()).map(|item| &item.name),
        ),
        "register" => names(&mut program.registers().iter().map(|item| &item.name)),
        "value set" => names(&mut program.value_sets().iter().map(|item| &item.name)),
        _ => names(&mut program.digests().iter().map(|item| &item.name)),
    }
}

impl Builder<'_> {
    /// Decides about an object of P4Info that the program does not have. p4c removes unused objects. But when the
    /// program has an object of the kind that P4Info does not have, the two do not belong together.
    fn removed(&mut self, kind: &'static str, id: u32, name: &str) -> Outcome<()> {
        let described = |name: &str| {
            let preambles: Vec<&Option<Preamble>> = match kind {
                "table" => self.info.tables.iter().map(|item| &item.preamble).collect(),
                "action profile" => (self.info.action_profiles.iter()).map(|item| &item.preamble).collect(),
                "counter" => self.info.counters.iter().map(|item| &item.preamble).collect(),
                "meter" => self.info.meters.iter().map(|item| &item.preamble).collect(),
                "register" => self.info.registers.iter().map(|item| &item.preamble).collect(),
                "value set" => self.info.value_sets.iter().map(|item| &item.preamble).collect(),
                _ => self.info.digests.iter().map(|item| &item.preamble).collect(),
            };
            let mut names = preambles.into_iter().flatten();
            names.any(|preamble| preamble.name == name)
        };
        let other = program_names(self.program, kind).into_iter().find(|other| !described(other));
        match other {
            Some(other) => {
                misfit(format_args!("the program has no {kind} '{name}', and P4Info has no {kind} '{other}'"))
            }
            None => {
                self.schema.ids.insert(id, ObjectRef::Removed(kind));
                Ok(())
            }
        }
    }

    fn run(&mut self) -> Outcome<()> {
        self.platform()?;
        self.names()?;
        self.actions()?;
        self.profiles()?;
        self.tables()?;
        self.link_profiles()?;
        self.arrays()?;
        self.value_sets()?;
        self.digests()?;
        self.controller_headers()?;
        if let Some(item) = self.info.externs.first() {
            return Err(Refusal::unimplemented(format!(
                "P4Info: extern type '{}' is not supported",
                item.extern_type_name
            )));
        }
        Ok(())
    }

    fn platform(&self) -> Outcome<()> {
        let wanted = self
            .info
            .pkg_info
            .as_ref()
            .and_then(|pkg| pkg.platform_properties)
            .map_or(0, |properties| properties.multicast_group_table_size);
        if wanted > MULTICAST_GROUPS {
            return misfit(format_args!(
                "platform property multicast_group_table_size is {wanted}, this target has {MULTICAST_GROUPS}"
            ));
        }
        Ok(())
    }

    /// Checks a preamble and registers its id.
    fn named(
        &mut self,
        preamble: &Option<Preamble>,
        kind: &str,
        object: ObjectRef,
    ) -> Outcome<(u32, String)> {
        let Some(preamble) = preamble else {
            return misfit(format_args!("a {kind} has no preamble"));
        };
        let (id, name) = (preamble.id, preamble.name.clone());
        if id == 0 || name.is_empty() {
            return misfit(format_args!("a {kind} has no id or no name"));
        }
        if let Some(other) = self.ids.insert(id, name.clone()) {
            return misfit(format_args!("'{other}' and '{name}' have the same id {id:#010x}"));
        }
        self.schema.ids.insert(id, object);
        Ok((id, name))
    }

    fn actions(&mut self) -> Outcome<()> {
        for (index, item) in self.info.actions.iter().enumerate() {
            let (id, name) = self.named(&item.preamble, "action", ObjectRef::Action(index))?;
            let mut params = Vec::with_capacity(item.params.len());
            for param in &item.params {
                params.push(ParamSchema {
                    id: param.id,
                    name: param.name.clone(),
                    names: self.names_of(&param.type_name),
                    width_bits: param.bitwidth.max(0) as u32,
                    position: params.len(),
                });
            }
            self.schema.action_names.insert(name.clone(), index);
            self.schema.actions.push(ActionSchema { id, name, params });
        }
        Ok(())
    }

    /// Checks an action of a table against the program and narrows translated parameters.
    fn fit_action(&mut self, table: &TableInfo, index: usize) -> Outcome<()> {
        let action = &self.schema.actions[index];
        let name = &action.name;
        let Some(program) = table
            .actions
            .iter()
            .map(|action| &self.program.actions()[*action])
            .find(|action| &action.name == name)
        else {
            return misfit(format_args!(
                "table '{}': the program's table has no action '{name}'",
                table.name
            ));
        };
        if program.params.len() != action.params.len() {
            return misfit(format_args!(
                "action '{name}' has {} parameter(s), {} in the program",
                action.params.len(),
                program.params.len()
            ));
        }
        let info = &self.info.actions[index];
        let named = |name: &str| program.params.iter().position(|param| param.name == name);
        let by_name = action.params.iter().all(|param| named(&param.name).is_some());
        let mut places = Vec::new();
        for (order, (param, described)) in action.params.iter().zip(&info.params).enumerate() {
            let position = match by_name {
                true => named(&param.name).unwrap_or(order),
                false => order,
            };
            let in_program = &program.params[position];
            let translated = self.translated(&described.type_name);
            if param.width_bits != in_program.width_bits && !translated {
                return misfit(format_args!(
                    "action '{name}': parameter '{}' has {} bits, {} in the program",
                    param.name, param.width_bits, in_program.width_bits
                ));
            }
            places.push((in_program.width_bits, position));
        }
        for (param, (width_bits, position)) in self.schema.actions[index].params.iter_mut().zip(places) {
            param.width_bits = width_bits;
            param.position = position;
        }
        Ok(())
    }

    /// True for a type with `@p4runtime_translation` to a number.
    fn translated(&self, type_name: &Option<P4NamedType>) -> bool {
        let Some(P4NamedType { name }) = type_name else {
            return false;
        };
        matches!(
            self.schema.types.new_types.get(name),
            Some(P4NewTypeSpec { representation: Some(Representation::TranslatedType(_)), .. })
        )
    }

    /// Prepares the types with `@p4runtime_translation` to strings.
    fn names(&mut self) -> Outcome<()> {
        for (name, spec) in &self.schema.types.new_types {
            if let Some(Representation::TranslatedType(P4NewTypeTranslation {
                sdn_type: Some(SdnType::SdnString(_)),
                ..
            })) = spec.representation
            {
                let names = Names::new(name, &spec.annotations)?;
                self.schema.names.insert(name.clone(), Arc::new(names));
            }
        }
        Ok(())
    }

    /// The strings of a type that is translated to strings.
    fn names_of(&self, type_name: &Option<P4NamedType>) -> Option<Arc<Names>> {
        let P4NamedType { name } = type_name.as_ref()?;
        self.schema.names.get(name).cloned()
    }

    fn profiles(&mut self) -> Outcome<()> {
        for item in &self.info.action_profiles {
            let index = self.schema.profiles.len();
            let (id, name) = self.named(&item.preamble, "action profile", ObjectRef::Profile(index))?;
            let Some(program) = self.program.action_profiles().iter().find(|profile| profile.name == name)
            else {
                self.removed("action profile", id, &name)?;
                continue;
            };
            if program.has_selector != item.with_selector {
                return misfit(format_args!(
                    "action profile '{name}': with_selector is {}, {} in the program",
                    item.with_selector, program.has_selector
                ));
            }
            self.schema.profiles.push(ProfileSchema {
                id,
                name,
                with_selector: item.with_selector,
                max_group_size: item.max_group_size,
                semantics: item.selector_size_semantics.clone(),
                weights_disallowed: item.weights_disallowed,
                tables: Vec::new(),
            });
        }
        Ok(())
    }

    fn link_profiles(&mut self) -> Outcome<()> {
        for (index, table) in self.schema.tables.iter().enumerate() {
            if let Some(profile) = table.profile {
                self.schema.profiles[profile].tables.push(index);
            }
        }
        Ok(())
    }

    fn tables(&mut self) -> Outcome<()> {
        for item in &self.info.tables {
            let index = self.schema.tables.len();
            let (id, name) = self.named(&item.preamble, "table", ObjectRef::Table(index))?;
            let Some(program) = self.program.table(&name) else {
                self.removed("table", id, &name)?;
                continue;
            };
            let fields = self.key(&name, &item.match_fields, &program.key)?;
            let mut actions = Vec::with_capacity(item.action_refs.len());
            for reference in &item.action_refs {
                let Some(ObjectRef::Action(action)) = self.schema.ids.get(&reference.id).copied() else {
                    return misfit(format_args!(
                        "table '{name}' refers to action id {:#010x}, which P4Info does not have",
                        reference.id
                    ));
                };
                self.fit_action(program, action)?;
                actions.push(ActionUse {
                    action,
                    in_entries: reference.scope != Scope::DefaultOnly as i32,
                    as_default: reference.scope != Scope::TableOnly as i32,
                });
            }
            let profile = match item.implementation_id {
                0 => None,
                id => match self.schema.ids.get(&id) {
                    Some(ObjectRef::Profile(profile)) => Some(*profile),
                    _ => {
                        return misfit(format_args!(
                            "table '{name}' has implementation id {id:#010x}, which is not an action profile"
                        ))
                    }
                },
            };
            let profile_name = profile.map(|profile| self.schema.profiles[profile].name.as_str());
            if profile_name != program.action_profile.as_deref() {
                return misfit(format_args!(
                    "table '{name}' is implemented by {}, by {} in the program",
                    profile_name.unwrap_or("no action profile"),
                    program.action_profile.as_deref().unwrap_or("none")
                ));
            }
            let direct_counter =
                self.info.direct_counters.iter().find(|counter| counter.direct_table_id == id);
            if direct_counter.is_some() && !program.direct_counter {
                return misfit(format_args!("table '{name}' has no direct counter in the program"));
            }
            let direct_meter = self.info.direct_meters.iter().find(|meter| meter.direct_table_id == id);
            if direct_meter.is_some() && program.direct_meter.is_none() {
                return misfit(format_args!("table '{name}' has no direct meter in the program"));
            }
            self.schema.tables.push(TableSchema {
                id,
                needs_priority: program.needs_priority(),
                const_entries: item.is_const_table || (program.initial_entries && !item.has_initial_entries),
                initial_size: program.initial_entries.then_some(item.size.max(0) as usize),
                const_default: item.const_default_action_id != 0 || program.const_default_action,
                default_action: [
                    item.const_default_action_id,
                    item.initial_default_action.map_or(0, |call| call.action_id),
                ]
                .into_iter()
                .find(|id| *id != 0),
                profile,
                direct_counter: direct_counter.map(|counter| counter_unit(&counter.spec)),
                direct_meter: direct_meter.map(|meter| meter_type(&meter.spec)),
                idle_timeout: item.idle_timeout_behavior == IdleTimeoutBehavior::NotifyControl as i32,
                name,
                fields,
                actions,
            });
        }
        Ok(())
    }

    /// Match fields in the order of the program's key: by name, else by position.
    fn key(&self, table: &str, fields: &[MatchField], key: &[KeyInfo]) -> Outcome<Vec<FieldSchema>> {
        if fields.len() != key.len() {
            return misfit(format_args!(
                "table '{table}': the key has {} field(s), {} in the program",
                fields.len(),
                key.len()
            ));
        }
        let by_name = key.iter().all(|part| fields.iter().any(|field| field.name == part.name));
        let mut schema = Vec::with_capacity(key.len());
        for (index, part) in key.iter().enumerate() {
            let field = match by_name {
                true => fields.iter().find(|field| field.name == part.name).unwrap_or(&fields[index]),
                false => &fields[index],
            };
            let kind = match &field.r#match {
                Some(Match::MatchType(kind)) => MatchType::try_from(*kind).ok(),
                _ => None,
            };
            let as_ternary = part.kind == MatchKind::Ternary && kind != Some(MatchType::Ternary);
            let same_kind = matches!(
                (kind, part.kind),
                (Some(MatchType::Exact), MatchKind::Exact | MatchKind::Valid)
                    | (Some(MatchType::Lpm), MatchKind::Lpm)
                    | (Some(MatchType::Ternary), MatchKind::Ternary)
                    | (Some(MatchType::Range), MatchKind::Range)
                    | (Some(MatchType::Optional), MatchKind::Optional)
                    | (Some(MatchType::Exact | MatchType::Lpm | MatchType::Optional), MatchKind::Ternary)
            );
            if !same_kind {
                return misfit(format_args!(
                    "table '{table}': key field '{}' is matched as {}, {} in the program",
                    field.name,
                    kind.map_or("other".to_string(), |kind| format!("{kind:?}").to_lowercase()),
                    part.kind.name()
                ));
            }
            let width_bits = match part.kind {
                MatchKind::Valid => 1,
                _ => part.width_bits,
            };
            // P4Info gives no width for keys of type error.
            let same_width = field.bitwidth == width_bits as i32 || field.bitwidth == 0;
            if !same_width && !self.translated(&field.type_name) {
                return misfit(format_args!(
                    "table '{table}': key field '{}' has {} bits, {width_bits} in the program",
                    field.name, field.bitwidth
                ));
            }
            schema.push(FieldSchema {
                id: field.id,
                name: field.name.clone(),
                kind: match (as_ternary, kind) {
                    (true, Some(MatchType::Exact)) => MatchKind::Exact,
                    (true, Some(MatchType::Lpm)) => MatchKind::Lpm,
                    (true, Some(MatchType::Optional)) => MatchKind::Optional,
                    _ => part.kind,
                },
                as_ternary,
                names: self.names_of(&field.type_name),
                width_bits,
            });
        }
        Ok(schema)
    }
}

fn counter_unit(spec: &Option<CounterSpec>) -> CounterUnit {
    spec.and_then(|spec| CounterUnit::try_from(spec.unit).ok()).unwrap_or(CounterUnit::Both)
}

fn meter_type(spec: &Option<MeterSpec>) -> MeterType {
    spec.and_then(|spec| MeterType::try_from(spec.r#type).ok()).unwrap_or(MeterType::TwoRateThreeColor)
}
