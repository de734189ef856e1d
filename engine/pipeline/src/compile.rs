//! From the JSON document to a compiled [`Program`]: arrays, calculations, lists, and the order
//! in which the parts of the program are translated.

mod actions;
mod checksums;
mod control;
mod parser;

use std::collections::HashMap;

use serde_json::Value;

use crate::asm::{Asm, Linked, Param};
use crate::checksum::SumPlan;
use crate::expr::Names;
use crate::info::*;
use crate::ir::*;
use crate::json::{Load, Node};
use crate::layout::{packet_slot, FieldRef, Layout, Slot};
use crate::native::NativeCode;
use crate::program::{Code, DigestPlan, Errors, Intrinsics, Program};
use crate::words::limbs_for;
use crate::LoadError;

/// Memory of all registers, counters and meters together that a program may ask for, in words of
/// 64 bits (1 GiB).
const MAX_ARRAY_WORDS: u64 = 1 << 27;
/// Words of a counter cell and of a meter cell.
const COUNTER_WORDS: u64 = 2;
const METER_WORDS: u64 = 20;
/// Words of all parameters of an action.
const MAX_PARAM_WORDS: usize = 4_096;

/// Everything that is known before code is translated.
pub(crate) struct Declarations {
    pub layout: Layout,
    pub registers: HashMap<String, u16>,
    pub register_bits: Vec<u32>,
    pub counters: HashMap<String, u16>,
    pub meters: HashMap<String, u16>,
    pub calculations: HashMap<String, u16>,
    pub value_sets: HashMap<String, u16>,
    /// Action id to index.
    pub actions: HashMap<u32, usize>,
    pub action_infos: Vec<ActionInfo>,
}

impl Declarations {
    pub fn names(&self, locals: usize) -> Names<'_> {
        Names { layout: &self.layout, registers: &self.registers, locals }
    }

    /// Offset and limbs of each parameter of an action in the parameter area.
    pub fn params(&self, action: usize) -> Vec<Param> {
        let mut offset = 0;
        self.action_infos[action]
            .params
            .iter()
            .map(|param| {
                let slot = (self.layout.slots + offset) as Slot;
                offset += limbs_for(param.width_bits).max(1);
                Param { slot, bits: param.width_bits.max(1) }
            })
            .collect()
    }
}

/// Parameters of an action (name, those in the JSON) that are left out there.
pub(crate) type UnusedParams<'a> = &'a dyn Fn(&str, &[ParamInfo]) -> Vec<ParamInfo>;

pub(crate) fn compile(text: &str, unused: UnusedParams) -> Load<Program> {
    let value: Value = serde_json::from_str(text).map_err(|error| LoadError::Syntax(error.to_string()))?;
    let root = Node::root(&value);
    if !value.is_object() {
        return root.malformed("expected an object");
    }
    check_version(&root)?;
    if let Some(instance) = root.list("extern_instances")?.first() {
        return instance.unsupported(format!("extern '{}'", instance.text("type")?));
    }
    let mut words = 0;
    let layout = Layout::load(&root)?;
    let (registers, register_infos) = load_registers(&root, &mut words)?;
    let (counters, counter_infos) = load_counters(&root, &mut words)?;
    let (meters, meter_infos, meter_targets) = load_meters(&root, &layout, &mut words)?;
    let (value_sets, value_set_infos) = load_value_sets(&root)?;
    let (calculations, calculation_plans) = load_calculations(&root, &layout)?;
    let (actions, action_infos) = load_action_infos(&root, unused)?;
    let param_words =
        |info: &ActionInfo| info.params.iter().map(|p| limbs_for(p.width_bits).max(1)).sum::<usize>();
    let param_words = action_infos.iter().map(param_words).max().unwrap_or(0);
    if param_words > MAX_PARAM_WORDS {
        return root.too_large("words of action parameters", param_words as u64, MAX_PARAM_WORDS as u64);
    }
    let declarations = Declarations {
        layout,
        registers,
        register_bits: register_infos.iter().map(|info| info.width_bits).collect(),
        counters,
        meters,
        calculations,
        value_sets,
        actions,
        action_infos,
    };
    let mut asm = Asm::new(&declarations.layout, &declarations.register_bits, param_words);

    let parser = parser::compile(&root, &declarations, &mut asm)?;
    let action_codes = actions::compile_all(&root, &declarations, &mut asm)?;
    let control = control::compile(&root, &declarations, &mut asm, &meter_targets)?;
    let deparser = checksums::compile_deparser(&root, &declarations, &mut asm)?;

    let Linked { ops, labels, constant_base, constants } = asm.finish(&root)?;
    let pc = |label: Pc| labels[label as usize];
    let mut selects = parser.selects;
    for select in &mut selects {
        link_select(select, &pc);
    }
    let mut tables = control.tables;
    for table in &mut tables {
        table.link(&pc);
    }
    let mut action_codes = action_codes;
    for action in &mut action_codes {
        action.entry = pc(action.entry);
    }
    let field_lists = load_field_lists(&root, &declarations.layout)?;
    let (digest_infos, digests) = load_digests(&root, &declarations.layout)?;
    let errors = load_errors(&root)?;
    let (enums, error_members) = load_enums(&root)?;
    let layout = declarations.layout;
    let code = Code {
        ops,
        selects,
        calculations: calculation_plans,
        actions: action_codes,
        tables,
        profiles: control.profiles,
        parser_entry: pc(parser.entry),
        parser_end: pc(parser.end),
        ingress_entry: pc(control.ingress),
        egress_entry: pc(control.egress),
        deparser_entry: pc(deparser.entry),
        deparse_order: deparser.order,
        image: image(&layout),
        metadata: metadata_blocks(&layout),
        param_base: layout.slots as Slot,
        constant_base: constant_base as Slot,
        constants,
        field_lists,
        digests,
        errors,
        intrinsics: Intrinsics::of(&layout),
    };
    let mut value_sets = value_set_infos;
    for (info, widths) in value_sets.iter_mut().zip(parser.value_set_widths) {
        if !widths.is_empty() {
            info.width_bits = widths;
        }
    }
    let mut program = Program {
        tables: control.table_infos,
        actions: declarations.action_infos,
        counters: counter_infos,
        meters: meter_infos,
        registers: register_infos,
        action_profiles: control.profile_infos,
        value_sets,
        digests: digest_infos,
        enums,
        error_members,
        header_types: layout.header_type_infos(),
        headers: layout.header_infos(),
        names: Default::default(),
        native: NativeCode::compile(&code, &layout, declarations.register_bits.iter().copied()),
        layout,
        code,
        initial_entries: control.initial_entries,
        defaults: control.defaults,
    };
    program.index_names();
    Ok(program)
}

fn check_version(root: &Node) -> Load<()> {
    let Some(version) = root.opt("__meta__").and_then(|meta| meta.opt("version")) else {
        return Ok(());
    };
    let (major, minor) = (version.index(0)?.u64()?, version.index(1)?.u64()?);
    if major != 2 {
        return Err(LoadError::Version { found: format!("{major}.{minor}") });
    }
    Ok(())
}

/// Adds a name that must be new, and an index that must fit.
pub(crate) fn unique<T>(node: &Node, names: &mut HashMap<String, T>, name: &str, index: T) -> Load<()> {
    if names.len() >= usize::from(u16::MAX) {
        return node.too_large("number of objects of one kind", names.len() as u64 + 1, 65_535);
    }
    if names.insert(name.to_string(), index).is_some() {
        return node.malformed(format!("a second object named '{name}'"));
    }
    Ok(())
}

fn array_size(node: &Node, words_per_cell: u64, words: &mut u64) -> Load<usize> {
    let size = node.number("size")?;
    *words = words.saturating_add(size.saturating_mul(words_per_cell));
    if *words > MAX_ARRAY_WORDS {
        return node.too_large("size of all arrays in 64-bit words", *words, MAX_ARRAY_WORDS);
    }
    Ok(size as usize)
}

fn load_registers(root: &Node, words: &mut u64) -> Load<(HashMap<String, u16>, Vec<RegisterInfo>)> {
    let mut names = HashMap::new();
    let mut infos = Vec::new();
    for node in root.list("register_arrays")? {
        let name = node.text("name")?.to_string();
        let width_bits = node.get("bitwidth")?.bounded("register width in bits", 4_096)? as u32;
        if width_bits == 0 {
            return node.malformed("a register of 0 bits");
        }
        let size = array_size(&node, limbs_for(width_bits) as u64, words)?;
        unique(&node, &mut names, &name, infos.len() as u16)?;
        infos.push(RegisterInfo { name, id: node.id("id")?, size, width_bits });
    }
    Ok((names, infos))
}

fn load_counters(root: &Node, words: &mut u64) -> Load<(HashMap<String, u16>, Vec<CounterInfo>)> {
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
        unique(&node, &mut names, &name, infos.len() as u16)?;
        infos.push(CounterInfo { name, id: node.id("id")?, size, direct_table });
    }
    Ok((names, infos))
}

type Meters = (HashMap<String, u16>, Vec<MeterInfo>, HashMap<String, (u16, FieldRef)>);

fn load_meters(root: &Node, layout: &Layout, words: &mut u64) -> Load<Meters> {
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
        unique(&node, &mut names, &name, index)?;
        infos.push(MeterInfo { name, id: node.id("id")?, unit, size, direct_table });
    }
    Ok((names, infos, targets))
}

fn load_value_sets(root: &Node) -> Load<(HashMap<String, u16>, Vec<ValueSetInfo>)> {
    let mut names = HashMap::new();
    let mut infos = Vec::new();
    for node in root.list("parse_vsets")? {
        let name = node.text("name")?.to_string();
        let width = node.get("compressed_bitwidth")?.bounded("value set width in bits", 16_384)? as u32;
        let max_size = match node.opt("max_size") {
            Some(size) => size.u64()? as usize,
            None => usize::MAX,
        };
        unique(&node, &mut names, &name, infos.len() as u16)?;
        infos.push(ValueSetInfo { name, id: node.id("id")?, max_size, width_bits: vec![width] });
    }
    Ok((names, infos))
}

pub(crate) fn hash_algorithm(node: &Node) -> Load<HashAlgorithm> {
    Ok(match node.str()? {
        "crc8_custom" => HashAlgorithm::Crc8Custom,
        "crc16" => HashAlgorithm::Crc16,
        "crc16_custom" => HashAlgorithm::Crc16Custom,
        "crc32" => HashAlgorithm::Crc32,
        "crc32_custom" => HashAlgorithm::Crc32Custom,
        "crc64_custom" => HashAlgorithm::Crc64Custom,
        "crcCCITT" => HashAlgorithm::CrcCcitt,
        "csum16" | "cksum16" => HashAlgorithm::Csum16,
        "xor16" => HashAlgorithm::Xor16,
        "xor32" => HashAlgorithm::Xor32,
        "identity" => HashAlgorithm::Identity,
        "random" => HashAlgorithm::Random,
        other => return node.unsupported(format!("hash algorithm '{other}'")),
    })
}

pub(crate) fn hash_input(node: &Node, layout: &Layout) -> Load<HashInput> {
    let value = || node.get("value");
    Ok(match node.text("type")? {
        "field" => {
            let field = layout.field_at(&value()?)?;
            let FieldRef { slot, bits, variable, header, .. } = field;
            HashInput::Field { slot, bits, variable, header }
        }
        "hexstr" => {
            let bits = node.get("bitwidth")?.bounded("constant width in bits", 16_384)? as u32;
            let (negative, bytes) = value()?.hex()?;
            let mut limbs = crate::words::from_bytes(&bytes, limbs_for(bits).max(1));
            if negative {
                crate::words::negate(&mut limbs);
                crate::words::truncate(&mut limbs, bits);
            }
            HashInput::Constant { limbs, bits }
        }
        "header" => HashInput::Header { header: layout.header_at(node, value()?.str()?)? },
        "payload" => HashInput::Payload,
        other => return node.unsupported(format!("calculation input '{other}'")),
    })
}

fn load_calculations(root: &Node, layout: &Layout) -> Load<(HashMap<String, u16>, Vec<Calculation>)> {
    let mut names = HashMap::new();
    let mut plans = Vec::new();
    for node in root.list("calculations")? {
        let algorithm = hash_algorithm(&node.get("algo")?)?;
        let mut input = Vec::new();
        for item in node.list("input")? {
            input.push(hash_input(&item, layout)?);
        }
        unique(&node, &mut names, node.text("name")?, plans.len() as u16)?;
        let sum = SumPlan::of(algorithm, &input, layout);
        plans.push(Calculation { algorithm, input, sum });
    }
    Ok((names, plans))
}

fn load_action_infos(root: &Node, unused: UnusedParams) -> Load<(HashMap<u32, usize>, Vec<ActionInfo>)> {
    let mut ids = HashMap::new();
    let mut infos: Vec<ActionInfo> = Vec::new();
    for node in root.list("actions")? {
        let mut params = Vec::new();
        for param in node.list("runtime_data")? {
            params.push(ParamInfo {
                name: param.text("name")?.to_string(),
                width_bits: param.get("bitwidth")?.bounded("parameter width in bits", 16_384)? as u32,
            });
        }
        let id = node.id("id")?;
        if ids.insert(id, infos.len()).is_some() {
            return node.malformed(format!("a second action with id {id}"));
        }
        let name = node.text("name")?.to_string();
        let unused = unused(&name, &params);
        let unused_params = unused.len();
        params.extend(unused);
        infos.push(ActionInfo { name, id, params, unused_params });
    }
    if infos.len() > 60_000 {
        return root.too_large("number of actions", infos.len() as u64, 60_000);
    }
    Ok((ids, infos))
}

fn load_field_lists(root: &Node, layout: &Layout) -> Load<HashMap<u32, Vec<FieldRef>>> {
    let mut lists = HashMap::new();
    for node in root.list("field_lists")? {
        let mut fields = Vec::new();
        for element in node.list("elements")? {
            match element.text("type")? {
                "field" => fields.push(layout.field_at(&element.get("value")?)?),
                // Constants take no part in copying metadata.
                "hexstr" => {}
                other => return element.unsupported(format!("field list element '{other}'")),
            }
        }
        lists.insert(node.id("id")?, fields);
    }
    Ok(lists)
}

/// The compiler makes one learn list per call, so that several may belong to one digest: they have
/// its name and send their messages under the id of the first.
fn load_digests(root: &Node, layout: &Layout) -> Load<(Vec<DigestInfo>, Vec<DigestPlan>)> {
    let mut infos = Vec::new();
    let mut plans = Vec::new();
    for node in root.list("learn_lists")? {
        let id = node.id("id")?;
        let mut fields = Vec::new();
        let mut names = Vec::new();
        for element in node.list("elements")? {
            if element.text("type")? != "field" {
                return element.unsupported(format!("learn list element '{}'", element.text("type")?));
            }
            let value = element.get("value")?;
            let field = layout.field_at(&value)?;
            names.push(FieldInfo {
                name: value.index(1)?.str()?.to_string(),
                width_bits: field.bits,
                signed: field.signed,
                variable: field.variable,
            });
            fields.push(field);
        }
        let name = node.text("name")?.to_string();
        let same = |info: &&DigestInfo| {
            let widths = info.fields.iter().map(|field| field.width_bits);
            info.name == name && widths.eq(fields.iter().map(|field: &FieldRef| field.bits))
        };
        let digest = match infos.iter().find(same) {
            Some(info) => info.id,
            None => {
                infos.push(DigestInfo { name, id, fields: names });
                id
            }
        };
        plans.push(DigestPlan { id, digest, fields });
    }
    Ok((infos, plans))
}

fn load_errors(root: &Node) -> Load<Errors> {
    let mut codes = HashMap::new();
    for node in root.list("errors")? {
        codes.insert(node.index(0)?.str()?.to_string(), node.index(1)?.u64()?);
    }
    // Like simple_switch, core errors that the program does not list get numbers of their own.
    let mut next = codes.values().max().map_or(0, |max| max + 1);
    let mut code = |name: &str| {
        *codes.entry(name.to_string()).or_insert_with(|| {
            next += 1;
            next - 1
        })
    };
    Ok(Errors {
        no_error: code("NoError"),
        packet_too_short: code("PacketTooShort"),
        stack_out_of_bounds: code("StackOutOfBounds"),
        header_too_short: code("HeaderTooShort"),
        parser_invalid_argument: code("ParserInvalidArgument"),
    })
}

/// The enums and the errors by name.
fn load_enums(root: &Node) -> Load<(Vec<EnumInfo>, EnumInfo)> {
    let members = |list: Vec<Node>| -> Load<Vec<(String, u64)>> {
        list.iter().map(|node| Ok((node.index(0)?.str()?.to_string(), node.index(1)?.u64()?))).collect()
    };
    let mut enums = Vec::new();
    for node in root.list("enums")? {
        enums.push(EnumInfo {
            name: node.text("name")?.to_string(),
            members: members(node.list("entries")?)?,
        });
    }
    Ok((enums, EnumInfo { name: "error".to_string(), members: members(root.list("errors")?)? }))
}

/// Packet state at the start of a pass: all zero, metadata valid.
fn image(layout: &Layout) -> Vec<u64> {
    let mut image = vec![0; layout.slots];
    for place in layout.headers.iter().filter(|place| place.metadata) {
        image[place.base as usize] = 1;
    }
    image[packet_slot::DROP_PORT as usize] = 511;
    image
}

fn metadata_blocks(layout: &Layout) -> Vec<(Slot, u16)> {
    layout
        .headers
        .iter()
        .filter(|place| place.metadata)
        .map(|place| (place.base + 1, layout.shapes[place.shape].slots - 1))
        .collect()
}

fn link_select(select: &mut Select, pc: &dyn Fn(Pc) -> Pc) {
    select.default = pc(select.default);
    for case in &mut select.cases {
        match case {
            SelectCase::Value { to, .. } | SelectCase::ValueSet { to, .. } => *to = pc(*to),
        }
    }
    for (_, _, to) in select.narrow.iter_mut().flatten() {
        *to = pc(*to);
    }
}
