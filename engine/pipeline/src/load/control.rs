//! The ingress and egress controls: their tables, conditions and calls, translated into one straight
//! piece of code per pipeline. Tables that the control plane cannot touch (no key, constant
//! default action) disappear: their action is translated in place.

use std::collections::HashMap;

use crate::code::ir::{NextNodes, Op, Pc};
use crate::code::layout::FieldRef;
use crate::code::marks::Mark;
use crate::load::actions;
use crate::load::asm::{Asm, Param};
use crate::load::declarations::Declarations;
use crate::load::json::{Load, Node};
use crate::load::tables::{load_profiles, TableReader, Tables};
use crate::numbers::words::{from_bytes, limbs_for};

pub(crate) struct Control {
    /// Labels.
    pub ingress: Pc,
    pub egress: Pc,
    pub tables: Tables,
}

pub(crate) fn compile(
    root: &Node,
    declarations: &Declarations,
    asm: &mut Asm,
    meters: &HashMap<String, (u16, FieldRef)>,
) -> Load<Control> {
    let mut tables = Tables::default();
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
            tables: &mut tables,
            nodes: HashMap::new(),
        };
        found[slot] = Some(pipeline.compile(&node, asm)?);
    }
    let [Some(ingress), Some(egress)] = found else {
        return root.unknown("pipeline", if found[0].is_none() { "ingress" } else { "egress" });
    };
    Ok(Control { ingress, egress, tables })
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
    tables: &'p mut Tables,
    nodes: HashMap<String, ControlNode<'n>>,
}

/// A table whose action is known at load time.
struct Fixed {
    action: usize,
    data: Vec<Vec<u8>>,
}

impl<'n> Pipeline<'_, 'n> {
    fn compile(&mut self, node: &Node<'n>, asm: &mut Asm) -> Load<Pc> {
        let profiles = load_profiles(node, &self.declarations.layout, self.tables)?;
        let end = asm.label();
        let add = |this: &mut Self, node: &Node<'n>, kind: Kind<'n>, asm: &mut Asm| -> Load<()> {
            let name = node.text("name")?.to_string();
            let entry = ControlNode { kind, label: asm.label(), emitted: false };
            if this.nodes.insert(name.clone(), entry).is_some() {
                return node.malformed(format!("a second control node '{name}'"));
            }
            Ok(())
        };
        let first_table = self.tables.plans.len();
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
        let declarations = self.declarations;
        let mut reader = TableReader { declarations, meters: self.meters, profiles, tables: self.tables };
        for table in &tables {
            reader.load(table, end)?;
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
        let source = node.opt("source_info").and_then(|info| info.opt("source_fragment"));
        let text = source.as_ref().and_then(|source| source.value.as_str());
        let text = text.unwrap_or(node.text("name")?).to_string();
        asm.mark(Mark::Condition { text, then, otherwise });
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
        asm.mark(Mark::Action(self.declarations.action_infos[action].name.clone()));
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
        let plan_actions = self.tables.plans[index].actions.clone();
        let name_of = |action: usize| self.declarations.action_infos[action].name.as_str();
        let fixed = self.fixed_action(index, node)?;
        let hit_miss = next_tables.opt("__HIT__").is_some()
            || next_tables.opt("__MISS__").is_some()
            || next_tables.value.get("__HIT__").is_some();
        if let Some(fixed) = fixed {
            let key = if hit_miss { "__MISS__" } else { name_of(fixed.action) };
            let to = self.next(&next_tables, key, end, pending)?;
            let params = self.constant_params(&fixed, asm);
            asm.mark(Mark::Action(format!("{} of table {}", name_of(fixed.action), node.text("name")?)));
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
        let plan = &mut self.tables.plans[index];
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
        let plan = &self.tables.plans[index];
        let constant = self.tables.infos[index].const_default_action;
        let stateful = plan.counted || plan.meter.is_some();
        if !plan.key.is_empty()
            || !constant
            || stateful
            || plan.profile.is_some()
            || node.opt("entries").is_some()
        {
            return Ok(None);
        }
        Ok(self.tables.defaults[index].clone().map(|(action, data)| Fixed { action, data }))
    }
}
