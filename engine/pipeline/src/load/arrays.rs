//! Registers, counters, meters and value sets of the document.

use std::collections::HashMap;

use crate::code::layout::{FieldRef, Layout};
use crate::load::json::{Load, Node};
use crate::numbers::words::limbs_for;
use crate::vocabulary::info::{CounterInfo, MeterInfo, MeterUnit, RegisterInfo, ValueSetInfo};

/// Memory of all registers, counters and meters together that a program may ask for, in words of
/// 64 bits (1 GiB).
const MAX_ARRAY_WORDS: u64 = 1 << 27;
/// Words of a counter cell and of a meter cell.
const COUNTER_WORDS: u64 = 2;
const METER_WORDS: u64 = 20;
fn array_size(node: &Node, words_per_cell: u64, words: &mut u64) -> Load<usize> {
    let size = node.number("size")?;
    *words = words.saturating_add(size.saturating_mul(words_per_cell));
    if *words > MAX_ARRAY_WORDS {
        return node.too_large("size of all arrays in 64-bit words", *words, MAX_ARRAY_WORDS);
    }
    Ok(size as usize)
}

pub(crate) fn load_registers(
    root: &Node,
    words: &mut u64,
) -> Load<(HashMap<String, u16>, Vec<RegisterInfo>)> {
    let mut names = HashMap::new();
    let mut infos = Vec::new();
    for node in root.list("register_arrays")? {
        let name = node.text("name")?.to_string();
        let width_bits = node.get("bitwidth")?.bounded("register width in bits", 4_096)? as u32;
        if width_bits == 0 {
            return node.malformed("a register of 0 bits");
        }
        let size = array_size(&node, limbs_for(width_bits) as u64, words)?;
        node.unique(&mut names, &name, infos.len() as u16)?;
        infos.push(RegisterInfo { name, id: node.id("id")?, size, width_bits });
    }
    Ok((names, infos))
}

pub(crate) fn load_counters(root: &Node, words: &mut u64) -> Load<(HashMap<String, u16>, Vec<CounterInfo>)> {
    let mut names = HashMap::new();
    let mut infos = Vec::new();
    for node in root.list("counter_arrays")? {
        let name = node.text("name")?.to_string();
        let direct = node.flag("is_direct")?;
        let direct_table = match node.opt("binding") {
            Some(table) if direct => Some(table.str()?.to_string()),
            _ => None,
        };
        let size = if direct { 0 } else { array_size(&node, COUNTER_WORDS, words)? };
        node.unique(&mut names, &name, infos.len() as u16)?;
        infos.push(CounterInfo { name, id: node.id("id")?, size, direct_table });
    }
    Ok((names, infos))
}

type Meters = (HashMap<String, u16>, Vec<MeterInfo>, HashMap<String, (u16, FieldRef)>);

pub(crate) fn load_meters(root: &Node, layout: &Layout, words: &mut u64) -> Load<Meters> {
    let mut names = HashMap::new();
    let mut infos = Vec::new();
    let mut targets = HashMap::new();
    for node in root.list("meter_arrays")? {
        let name = node.text("name")?.to_string();
        let unit = match node.text("type")? {
            "packets" => MeterUnit::Packets,
            "bytes" => MeterUnit::Bytes,
            other => return node.malformed(format!("meter type '{other}', valid: packets, bytes")),
        };
        let rates = node.number("rate_count")?;
        if rates != 2 {
            return node.unsupported(format!("a meter with {rates} rates"));
        }
        let direct = node.flag("is_direct")?;
        let direct_table = match node.opt("binding") {
            Some(table) if direct => Some(table.str()?.to_string()),
            _ => None,
        };
        let index = infos.len() as u16;
        if direct {
            targets.insert(name.clone(), (index, layout.field_at(&node.get("result_target")?)?));
        }
        let size = if direct { 0 } else { array_size(&node, METER_WORDS, words)? };
        node.unique(&mut names, &name, index)?;
        infos.push(MeterInfo { name, id: node.id("id")?, unit, size, direct_table });
    }
    Ok((names, infos, targets))
}

pub(crate) fn load_value_sets(root: &Node) -> Load<(HashMap<String, u16>, Vec<ValueSetInfo>)> {
    let mut names = HashMap::new();
    let mut infos = Vec::new();
    for node in root.list("parse_vsets")? {
        let name = node.text("name")?.to_string();
        let width = node.get("compressed_bitwidth")?.bounded("value set width in bits", 16_384)? as u32;
        let max_size = match node.opt("max_size") {
            Some(size) => size.u64()? as usize,
            None => usize::MAX,
        };
        node.unique(&mut names, &name, infos.len() as u16)?;
        infos.push(ValueSetInfo { name, id: node.id("id")?, max_size, width_bits: vec![width] });
    }
    Ok((names, infos))
}
