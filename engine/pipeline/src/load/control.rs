//! The ingress and egress controls: tables, conditions and calls, translated into one straight
//! piece of code per pipeline. Tables that the control plane cannot touch (no key, constant
//! default action) disappear: their action is translated in place.

use std::collections::HashMap;

use crate::code::ir::{NextNodes, Op, Pc};
use crate::code::layout::FieldRef;
use crate::code::program::{DefaultAction, InitialEntry, KeyPlan, ProfilePlan, TablePlan};
use crate::load::actions;
use crate::load::asm::{Asm, Param};
use crate::load::calculations::{hash_algorithm, hash_input};
use crate::load::declarations::Declarations;
use crate::load::json::{Load, Node};
use crate::numbers::words::{from_bytes, limbs_for};
use crate::vocabulary::entries::KeyMatch;
use crate::vocabulary::info::{ActionProfileInfo, KeyInfo, MatchKind, TableInfo};

/// Entries that a table may have, whatever its program says.
const MAX_TABLE_SIZE: u64 = 1 << 24;

pub(crate) struct Control {
    /// Labels.
    pub ingress: Pc,
    pub egress: Pc,
    pub tables: Vec<TablePlan>,
    pub table_infos: Vec<TableInfo>,
    pub defaults: Vec<DefaultAction>,
    pub profiles: Vec<ProfilePlan>,
    pub profile_infos: Vec<ActionProfileInfo>,
    pub initial_entries: Vec<InitialEntry>,
}

pub(crate) fn compile(
    root: &Node,
    declarations: &Declarations,
    asm: &mut Asm,
    meters: &HashMap<String, (u16, FieldRef)>,
) -> Load<Control> {
    let mut control = Control {
        ingress: 0,
        egress: 0,
        tables: Vec::new(),
        table_infos: Vec::new(),
        defaults: Vec::new(),
        profiles: Vec::new(),
        profile_infos: Vec::new(),
        initial_entries: Vec::new(),
    };
    let action_nodes = root.list("actions")?;
    let mut found = [None, None];
    for node in root.list("pipelines")? {
        let slot = match node.text("name")? {
            "ingress" => 0,
            "egress" => 1,
            other => return node.unsupported(format!("pipeline '{other}'")),
        };
        let mut pipeline = Pipeline {
            declarations,
            meters,
            action_nodes: &action_nodes,
            control: &mut control,
            profiles: HashMap::new(),
            nodes: HashMap::new(),
        };
        found[slot] = Some(pipeline.compile(&node, asm)?);
    }
    let [Some(ingress), Some(egress)] = found else {
        return root.unknown("pipeline", if found[0].is_none() { "ingress" } else { "egress" });
    };
    control.ingress = ingress;
    control.egress = egress;
    Ok(control)
}

#[derive(Clone)]
enum Kind<'n> {
    Table(usize, Node<'n>),
    Condition(Node<'n>),
    Call(Node<'n>),
}

struct ControlNode<'n> {
    kind: Kind<'n>,
    label: Pc,
    emitted: bool,
}

struct Pipeline<'p, 'n> {
    declarations: &'p Declarations,
    meters: &'p HashMap<String, (u16, FieldRef)>,
    action_nodes: &'p [Node<'n>],
    control: &'p mut Control,
    profiles: HashMap<String, u16>,
    nodes: HashMap<String, ControlNode<'n>>,
}

/// A table whose action is known at load time.
struct Fixed {
    action: usize,
    data: Vec<Vec<u8>>,
}

impl<'n> Pipeline<'_, 'n> {
    fn compile(&mut self, node: &Node<'n>, asm: &mut Asm) -> Load<Pc> {
        for profile in node.list("action_profiles")? {
            self.load_profile(&profile)?;
        }
        let end = asm.label();
        let add = |this: &mut Self, node: &Node<'n>, kind: Kind<'n>, asm: &mut Asm| -> Load<()> {
            let name = node.text("name")?.to_string();
            let entry = ControlNode { kind, label: asm.label(), emitted: false };
            if this.nodes.insert(name.clone(), entry).is_some() {
                return node.malformed(format!("a second control node '{name}'"));
            }
            Ok(())
        };
        let first_table = self.control.tables.len();
        let tables = node.list("tables")?;
        for (index, table) in tables.iter().enumerate() {
            add(self, table, Kind::Table(first_table + index, table.clone()), asm)?;
        }
        for condition in node.list("conditionals")? {
            add(self, &condition, Kind::Condition(condition.clone()), asm)?;
        }
        for call in node.list("action_calls")? {
            add(self, &call, Kind::Call(call.clone()), asm)?;
        }
        for table in &tables {
            self.load_table(table, end)?;
        }
        let entry = asm.label();
        asm.bind(entry);
        let first = node.opt("init_table");
        let mut pending: Vec<String> = Vec::new();
        match first {
            Some(name) => {
                let to = self.target(&name, end)?;
                asm.emit(Op::Jump { to });
                pending.push(name.str()?.to_string());
            }
            None => asm.emit(Op::Jump { to: end }),
        }
        while let Some(name) = pending.pop() {
            let Some(entry) = self.nodes.get_mut(&name) else {
                continue;
            };
            if std::mem::replace(&mut entry.emitted, true) {
                continue;
            }
            let (kind, label) = (entry.kind.clone(), entry.label);
            // The common case falls through: drop the jump that leads here.
            if asm.code.last() == Some(&Op::Jump { to: label }) && !asm.is_target(asm.here()) {
                asm.code.pop();
            }
            asm.bind(label);
            asm.statement();
            match kind {
                Kind::Table(index, node) => self.table(index, &node, end, asm, &mut pending)?,
                Kind::Condition(node) => self.condition(&node, end, asm, &mut pending)?,
                Kind::Call(node) => self.call(&node, end, asm, &mut pending)?,
            }
        }
        asm.bind(end);
        asm.emit(Op::Halt);
        for (name, node) in &self.nodes {
            if !node.emitted {
                // Never applied; its label must still lead somewhere.
                asm.bind(node.label);
                debug_assert!(!name.is_empty());
            }
        }
        asm.emit(Op::Halt);
        self.reject_cycles()?;
        Ok(entry)
    }

    /// BMv2 would run a cyclic control for ever.
    fn reject_cycles(&self) -> Load<()> {
        let mut colour: HashMap<&str, u8> = HashMap::new();
        for start in self.nodes.keys() {
            if colour.contains_key(start.as_str()) {
                continue;
            }
            let mut path = vec![(start.as_str(), self.successors(start)?)];
            colour.insert(start, 1);
            while let Some((name, pending)) = path.last_mut() {
                let Some(next) = pending.pop() else {
                    colour.insert(name, 2);
                    path.pop();
                    continue;
                };
                match colour.get(next) {
                    Some(1) => {
                        let (Kind::Table(_, node) | Kind::Condition(node) | Kind::Call(node)) =
                            &self.nodes[next].kind;
                        return node.unsupported("a control flow that loops");
                    }
                    Some(_) => {}
                    None => {
                        colour.insert(next, 1);
                        let after = self.successors(next)?;
                        path.push((next, after));
                    }
                }
            }
        }
        Ok(())
    }

    fn successors(&self, name: &str) -> Load<Vec<&'n str>> {
        let mut next = Vec::new();
        let Some(entry) = self.nodes.get(name) else {
            return Ok(next);
        };
        match &entry.kind {
            Kind::Table(_, node) => {
                if let Some(map) = node.opt("next_tables").and_then(|n| n.value.as_object()) {
                    next.extend(map.values().filter_map(|v| v.as_str()));
                }
                next.extend(node.opt("base_default_next").and_then(|n| n.value.as_str()));
            }
            Kind::Condition(node) => {
                next.extend(node.opt("true_next").and_then(|n| n.value.as_str()));
                next.extend(node.opt("false_next").and_then(|n| n.value.as_str()));
            }
            Kind::Call(node) => next.extend(node.opt("next_node").and_then(|n| n.value.as_str())),
        }
        Ok(next)
    }

    fn target(&self, name: &Node, _end: Pc) -> Load<Pc> {
        match self.nodes.get(name.str()?) {
            Some(node) => Ok(node.label),
            None => name.unknown("table or condition", name.str()?),
        }
    }

    /// Label of the node that member `key` names, or the end of the pipeline.
    fn next(&self, node: &Node, key: &str, end: Pc, pending: &mut Vec<String>) -> Load<Pc> {
        match node.opt(key) {
            None => Ok(end),
            Some(name) => {
                let to = self.target(&name, end)?;
                pending.push(name.str()?.to_string());
                Ok(to)
            }
        }
    }

    fn condition(&self, node: &Node, end: Pc, asm: &mut Asm, pending: &mut Vec<String>) -> Load<()> {
        let expr = match node.opt("expression") {
            Some(expression) => self.declarations.names(0).bool(&expression)?,
            None => crate::load::expr::Expr::Bool(false),
        };
        let otherwise = self.next(node, "false_next", end, pending)?;
        let then = self.next(node, "true_next", end, pending)?;
        asm.branch(&expr, false, otherwise);
        asm.emit(Op::Jump { to: then });
        Ok(())
    }

    fn call(&self, node: &Node, end: Pc, asm: &mut Asm, pending: &mut Vec<String>) -> Load<()> {
        let id = node.id("action_id")?;
        let Some(&action) = self.declarations.actions.get(&id) else {
            return node.unknown("action with id", &id.to_string());
        };
        if !self.declarations.action_infos[action].params.is_empty() {
            return node.malformed("a called action cannot have parameters");
        }
        if actions::body(&self.action_nodes[action], self.declarations, asm, Vec::new())? {
            asm.emit(Op::HaltIfExit);
        }
        let to = self.next(node, "next_node", end, pending)?;
        asm.emit(Op::Jump { to });
        Ok(())
    }

    fn table(
        &mut self,
        index: usize,
        node: &Node,
        end: Pc,
        asm: &mut Asm,
        pending: &mut Vec<String>,
    ) -> Load<()> {
        let next_tables = node.get("next_tables")?;
        let plan_actions = self.control.tables[index].actions.clone();
        let name_of = |action: usize| self.declarations.action_infos[action].name.as_str();
        let fixed = self.fixed_action(index, node)?;
        let hit_miss = next_tables.opt("__HIT__").is_some()
            || next_tables.opt("__MISS__").is_some()
            || next_tables.value.get("__HIT__").is_some();
        if let Some(fixed) = fixed {
            let key = if hit_miss { "__MISS__" } else { name_of(fixed.action) };
            let to = self.next(&next_tables, key, end, pending)?;
            let params = self.constant_params(&fixed, asm);
            if actions::body(&self.action_nodes[fixed.action], self.declarations, asm, params)? {
                asm.emit(Op::HaltIfExit);
            }
            asm.emit(Op::Jump { to });
            return Ok(());
        }
        let next = if hit_miss {
            let miss = self.next(&next_tables, "__MISS__", end, pending)?;
            let hit = self.next(&next_tables, "__HIT__", end, pending)?;
            NextNodes::HitMiss { hit, miss }
        } else {
            let mut targets = Vec::new();
            for &action in &plan_actions {
                if next_tables.value.get(name_of(action)).is_none() {
                    return next_tables.malformed(format!("no next node for action '{}'", name_of(action)));
                }
                targets.push(self.next(&next_tables, name_of(action), end, pending)?);
            }
            NextNodes::ByAction(targets)
        };
        let miss = match &next {
            NextNodes::HitMiss { miss, .. } => *miss,
            NextNodes::ByAction(_) => self.next(node, "base_default_next", end, pending)?,
        };
        let plan = &mut self.control.tables[index];
        plan.next = next;
        plan.miss = miss;
        asm.emit(Op::Table { table: index as u16 });
        Ok(())
    }

    fn constant_params(&self, fixed: &Fixed, asm: &mut Asm) -> Vec<Param> {
        let infos = &self.declarations.action_infos[fixed.action].params;
        infos
            .iter()
            .zip(&fixed.data)
            .map(|(info, bytes)| {
                let limbs = from_bytes(bytes, limbs_for(info.width_bits).max(1));
                Param { slot: asm.wide_constant(limbs), bits: info.width_bits.max(1) }
            })
            .collect()
    }

    /// The action of a table that has no key, a constant default entry and no direct resources of it.
    fn fixed_action(&self, index: usize, node: &Node) -> Load<Option<Fixed>> {
        let plan = &self.control.tables[index];
        let constant = self.control.table_infos[index].const_default_action;
        let stateful = plan.counted || plan.meter.is_some();
        if !plan.key.is_empty()
            || !constant
            || stateful
            || plan.profile.is_some()
            || node.opt("entries").is_some()
        {
            return Ok(None);
        }
        Ok(self.control.defaults[index].clone().map(|(action, data)| Fixed { action, data }))
    }

    fn load_profile(&mut self, node: &Node) -> Load<()> {
        let name = node.text("name")?.to_string();
        let selector = match node.opt("selector") {
            Some(selector) => {
                let mut input = Vec::new();
                for item in selector.list("input")? {
                    input.push(hash_input(&item, &self.declarations.layout)?);
                }
                Some((hash_algorithm(&selector.get("algo")?)?, input))
            }
            None => None,
        };
        node.unique(&mut self.profiles, &name, self.control.profiles.len() as u16)?;
        self.control.profile_infos.push(ActionProfileInfo {
            name,
            id: node.id("id")?,
            max_size: node.get("max_size")?.bounded("action profile size", MAX_TABLE_SIZE)? as usize,
            has_selector: selector.is_some(),
            tables: Vec::new(),
        });
        self.control.profiles.push(ProfilePlan { selector, actions: Vec::new() });
        Ok(())
    }

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
                (FieldRef { slot, bits: 1, signed: false, variable: false, header }, name.to_string())
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
            let valid = layout.headers[field.header as usize].base;
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

    fn load_table(&mut self, node: &Node, end: Pc) -> Load<()> {
        let index = self.control.tables.len();
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
                let plan = &mut self.control.profiles[found as usize];
                for &action in &actions {
                    if !plan.actions.contains(&action) {
                        plan.actions.push(action);
                    }
                }
                self.control.profile_infos[found as usize].tables.push(name.clone());
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
        self.control.table_infos.push(TableInfo {
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
        self.control.defaults.push(default);
        self.control.tables.push(TablePlan {
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
            self.control.initial_entries.push(InitialEntry { table, key: matches, priority, action, data });
        }
        Ok(())
    }
}

/// A constant as big-endian bytes of the given width, two's complement where negative.
fn constant_bytes(node: &Node, bits: u32) -> Load<Vec<u8>> {
    let (negative, bytes) = node.hex()?;
    let mut limbs = from_bytes(&bytes, limbs_for(bits).max(1));
    if negative {
        crate::numbers::words::negate(&mut limbs);
    }
    Ok(crate::numbers::words::to_bytes(&limbs, bits))
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
