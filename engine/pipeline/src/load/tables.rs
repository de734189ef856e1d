//! Tables and action profiles: keys, actions, default actions and the entries that a program brings along.

use std::collections::HashMap;

use crate::code::ir::{NextNodes, Pc};
use crate::code::layout::{FieldRef, Layout};
use crate::code::program::{DefaultAction, InitialEntry, KeyPlan, ProfilePlan, TablePlan};
use crate::load::calculations::{hash_algorithm, hash_input};
use crate::load::declarations::Declarations;
use crate::load::json::{Load, Node};
use crate::numbers::words::{from_bytes, limbs_for, negate, to_bytes};
use crate::vocabulary::entries::KeyMatch;
use crate::vocabulary::info::{ActionProfileInfo, KeyInfo, MatchKind, TableInfo};

/// Entries that a table may have, whatever its program says.
const MAX_TABLE_SIZE: u64 = 1 << 24;

/// The tables and action profiles of both pipelines, in the order of the program.
#[derive(Default)]
pub(crate) struct Tables {
    pub plans: Vec<TablePlan>,
    pub infos: Vec<TableInfo>,
    pub defaults: Vec<DefaultAction>,
    pub profiles: Vec<ProfilePlan>,
    pub profile_infos: Vec<ActionProfileInfo>,
    pub initial_entries: Vec<InitialEntry>,
}

/// Reads the action profiles of a pipeline and returns where they are, by name.
pub(super) fn load_profiles(
    pipeline: &Node,
    layout: &Layout,
    tables: &mut Tables,
) -> Load<HashMap<String, u16>> {
    let mut places = HashMap::new();
    for node in pipeline.list("action_profiles")? {
        let name = node.text("name")?.to_string();
        let selector = match node.opt("selector") {
            Some(selector) => {
                let mut input = Vec::new();
                for item in selector.list("input")? {
                    input.push(hash_input(&item, layout)?);
                }
                Some((hash_algorithm(&selector.get("algo")?)?, input))
            }
            None => None,
        };
        node.unique(&mut places, &name, tables.profiles.len() as u16)?;
        tables.profile_infos.push(ActionProfileInfo {
            name,
            id: node.id("id")?,
            max_size: node.get("max_size")?.bounded("action profile size", MAX_TABLE_SIZE)? as usize,
            has_selector: selector.is_some(),
            tables: Vec::new(),
        });
        tables.profiles.push(ProfilePlan { selector, actions: Vec::new() });
    }
    Ok(places)
}

/// Reads the tables of one pipeline.
pub(super) struct TableReader<'p> {
    pub declarations: &'p Declarations,
    pub meters: &'p HashMap<String, (u16, FieldRef)>,
    /// Action profiles of the pipeline by name.
    pub profiles: HashMap<String, u16>,
    pub tables: &'p mut Tables,
}

impl TableReader<'_> {
    fn load_key(&self, node: &Node) -> Load<(Vec<KeyPlan>, Vec<KeyInfo>, usize)> {
        let layout = &self.declarations.layout;
        let mut plans: Vec<KeyPlan> = Vec::new();
        let mut infos = Vec::new();
        let (mut words, mut used) = (0usize, 64u32);
        for key in node.list("key")? {
            let target = key.get("target")?;
            let kind = match key.text("match_type")? {
                "exact" => MatchKind::Exact,
                "lpm" => MatchKind::Lpm,
                "ternary" => MatchKind::Ternary,
                "range" => MatchKind::Range,
                "optional" => MatchKind::Optional,
                "valid" => MatchKind::Valid,
                other => return key.unsupported(format!("match kind '{other}'")),
            };
            let (field, default_name) = if kind == MatchKind::Valid {
                let name = target.str()?;
                let header = layout.header_at(&target, name)?;
                let slot = layout.headers[header as usize].base;
                (FieldRef { header, ..FieldRef::plain(slot, 1) }, name.to_string())
            } else {
                let name = format!("{}.{}", target.index(0)?.str()?, target.index(1)?.str()?);
                (layout.field_at(&target)?, name)
            };
            if field.variable {
                return key.unsupported("a variable-length field in a key");
            }
            if kind == MatchKind::Lpm && plans.iter().any(|plan| plan.kind == MatchKind::Lpm) {
                return key.malformed("a second lpm field");
            }
            let bits = field.bits.max(1);
            if used + bits > 64 {
                used = 0;
                words += limbs_for(bits);
            }
            let word = (words - limbs_for(bits)) as u16;
            let mask = match key.opt("mask") {
                Some(mask) => Some(from_bytes(&mask.hex_bytes()?, limbs_for(bits))),
                None => None,
            };
            let valid = layout.flag(field.header);
            plans.push(KeyPlan { slot: field.slot, valid, bits, kind, mask, word, shift: used as u8 });
            used += if bits > 64 { 64 } else { bits };
            let name = match key.opt("name") {
                Some(name) => name.str()?.to_string(),
                None => default_name,
            };
            infos.push(KeyInfo { name, kind, width_bits: bits });
        }
        Ok((plans, infos, words))
    }

    /// Reads one table; `end` is where its misses go until its next nodes are known.
    pub fn load(&mut self, node: &Node, end: Pc) -> Load<()> {
        let index = self.tables.plans.len();
        if index >= usize::from(u16::MAX) {
            return node.too_large("number of tables", index as u64, 65_535);
        }
        let name = node.text("name")?.to_string();
        let (key, key_infos, words) = self.load_key(node)?;
        if words > crate::state::table::MAX_KEY_WORDS {
            return node.too_large(
                "key in words of 64 bits",
                words as u64,
                crate::state::table::MAX_KEY_WORDS as u64,
            );
        }
        let kind = match node.text("match_type")? {
            "exact" => MatchKind::Exact,
            "lpm" => MatchKind::Lpm,
            "ternary" => MatchKind::Ternary,
            "range" => MatchKind::Range,
            other => return node.unsupported(format!("table match type '{other}'")),
        };
        let mut actions = Vec::new();
        if let Some(ids) = node.opt("action_ids") {
            for id in ids.items()? {
                match self.declarations.actions.get(&(id.u64()? as u32)) {
                    Some(&action) => actions.push(action),
                    None => return id.unknown("action with id", &id.u64()?.to_string()),
                }
            }
        } else {
            for action in node.list("actions")? {
                let name = action.str()?;
                match self.declarations.action_infos.iter().position(|info| info.name == name) {
                    Some(action) => actions.push(action),
                    None => return action.unknown("action", name),
                }
            }
        }
        let profile = match node.text("type")? {
            "simple" => None,
            "indirect" | "indirect_ws" => {
                let profile = node.get("action_profile")?;
                let Some(&found) = self.profiles.get(profile.str()?) else {
                    return profile.unknown("action profile", profile.str()?);
                };
                let plan = &mut self.tables.profiles[found as usize];
                for &action in &actions {
                    if !plan.actions.contains(&action) {
                        plan.actions.push(action);
                    }
                }
                self.tables.profile_infos[found as usize].tables.push(name.clone());
                Some(found)
            }
            other => return node.unsupported(format!("table type '{other}'")),
        };
        let meter = match node.opt("direct_meters") {
            Some(meter) => match self.meters.get(meter.str()?) {
                Some(&found) => Some(found),
                None => return meter.unknown("direct meter", meter.str()?),
            },
            None => None,
        };
        let max_size = match node.opt("max_size") {
            // p4c gives the number of these entries here, whatever the size of the table is.
            Some(_) if node.opt("entries").is_some() => MAX_TABLE_SIZE as usize,
            Some(size) => size.bounded("table size", u64::MAX)?.min(MAX_TABLE_SIZE) as usize,
            None => node.list("entries")?.len(),
        };
        let (default, const_default) = self.load_default(node, &actions)?;
        let counted = node.flag("with_counters")?;
        let timeout = node.flag("support_timeout")?;
        let entries = node.list("entries")?;
        self.load_entries(index, &entries, &key_infos, &actions)?;
        self.tables.infos.push(TableInfo {
            name,
            id: node.id("id")?,
            kind,
            key: key_infos,
            actions: actions.clone(),
            max_size,
            initial_entries: node.opt("entries").is_some(),
            const_default_action: const_default,
            direct_counter: counted,
            direct_meter: node.opt("direct_meters").map(|m| m.str().map(str::to_string)).transpose()?,
            action_profile: node.opt("action_profile").map(|p| p.str().map(str::to_string)).transpose()?,
            idle_timeout: timeout,
        });
        self.tables.defaults.push(default);
        self.tables.plans.push(TablePlan {
            key,
            words,
            kind,
            actions,
            next: NextNodes::ByAction(Vec::new()),
            miss: end,
            counted,
            meter,
            profile,
            timeout,
        });
        Ok(())
    }

    fn load_default(&self, node: &Node, actions: &[usize]) -> Load<(DefaultAction, bool)> {
        let Some(entry) = node.opt("default_entry") else {
            return Ok((None, false));
        };
        let (action, data) = self.action_with_data(&entry)?;
        if !actions.contains(&action) {
            return entry.malformed("the default action is not one of the table's actions");
        }
        let constant = entry.flag("action_const")? || entry.flag("action_entry_const")?;
        Ok((Some((action, data)), constant))
    }

    fn action_with_data(&self, node: &Node) -> Load<(usize, Vec<Vec<u8>>)> {
        let id = node.id("action_id")?;
        let Some(&action) = self.declarations.actions.get(&id) else {
            return node.unknown("action with id", &id.to_string());
        };
        let info = &self.declarations.action_infos[action];
        let (params, unused) = info.params.split_at(info.params.len() - info.unused_params);
        let values = node.get("action_data")?.items()?;
        if values.len() != params.len() {
            return node.malformed(format!("expected {} action parameters", params.len()));
        }
        let mut data = Vec::new();
        for (value, info) in values.iter().zip(params) {
            data.push(constant_bytes(value, info.width_bits)?);
        }
        data.resize(data.len() + unused.len(), vec![0]);
        Ok((action, data))
    }

    fn load_entries(
        &mut self,
        table: usize,
        entries: &[Node],
        key: &[KeyInfo],
        actions: &[usize],
    ) -> Load<()> {
        let mut priorities = Vec::new();
        for entry in entries {
            let priority = match entry.opt("priority") {
                Some(priority) => priority.bounded("priority", i32::MAX as u64)?,
                None => 0,
            };
            priorities.push(priority);
        }
        // BMv2 prefers the smaller number, P4Runtime the larger one.
        let top = priorities.iter().copied().max().unwrap_or(0);
        for (entry, priority) in entries.iter().zip(priorities) {
            let fields = entry.get("match_key")?.items()?;
            if fields.len() != key.len() {
                return entry.malformed(format!("expected {} match fields", key.len()));
            }
            let mut matches = Vec::new();
            for (field, info) in fields.iter().zip(key) {
                matches.push(match_field(field, info)?);
            }
            let (action, data) = self.action_with_data(&entry.get("action_entry")?)?;
            if !actions.contains(&action) {
                return entry.malformed("the action is not one of the table's actions");
            }
            let priority = (top - priority).min(i32::MAX as u64 - 1) as i32 + 1;
            self.tables.initial_entries.push(InitialEntry { table, key: matches, priority, action, data });
        }
        Ok(())
    }
}

/// A constant as big-endian bytes of the given width, two's complement where negative.
fn constant_bytes(node: &Node, bits: u32) -> Load<Vec<u8>> {
    let (negative, bytes) = node.hex()?;
    let mut limbs = from_bytes(&bytes, limbs_for(bits).max(1));
    if negative {
        negate(&mut limbs);
    }
    Ok(to_bytes(&limbs, bits))
}

fn match_field(node: &Node, info: &KeyInfo) -> Load<KeyMatch> {
    let bytes = |key: &str| constant_bytes(&node.get(key)?, info.width_bits);
    let kind = node.text("match_type")?;
    Ok(match (kind, info.kind) {
        ("exact", MatchKind::Exact) => KeyMatch::Exact(bytes("key")?),
        ("lpm", MatchKind::Lpm) => KeyMatch::Lpm {
            value: bytes("key")?,
            prefix_bits: node.get("prefix_length")?.bounded("prefix length", u64::from(info.width_bits))?
                as u32,
        },
        ("ternary", MatchKind::Ternary) => KeyMatch::Ternary { value: bytes("key")?, mask: bytes("mask")? },
        ("range", MatchKind::Range) => KeyMatch::Range { low: bytes("start")?, high: bytes("end")? },
        ("valid", MatchKind::Valid) => KeyMatch::Valid(node.get("key")?.bool()?),
        _ => {
            return node
                .malformed(format!("match type '{kind}' for a key field matched as {}", info.kind.name()))
        }
    })
}
