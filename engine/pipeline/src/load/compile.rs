//! From the JSON document to a compiled [`Program`]: arrays, calculations, lists, and the order
//! in which the parts of the program are translated.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

use crate::code::ir::{Pc, Select, SelectCase};
use crate::code::layout::{packet_slot, FieldRef, Layout, Slot};
use crate::code::program::{Code, DigestPlan, Errors, Intrinsics, Program};
use crate::code::registers::place_registers;
use crate::load::arrays::{load_counters, load_meters, load_registers, load_value_sets};
use crate::load::asm::{Asm, Linked};
use crate::load::calculations::load_calculations;
use crate::load::declarations::Declarations;
use crate::load::json::{Load, Node};
use crate::load::liveness::Analysis;
use crate::load::touches::{registers_in, touches};
use crate::load::unread::leave_out_unread;
use crate::load::{actions, checksums, control, parser};
use crate::numbers::words::limbs_for;
use crate::vocabulary::error::LoadError;
use crate::vocabulary::info::{ActionInfo, DigestInfo, EnumInfo, FieldInfo, ParamInfo};

/// Words of all parameters of an action.
const MAX_PARAM_WORDS: usize = 4_096;

impl Program {
    /// Checks and compiles BMv2 JSON.
    pub fn from_json(text: &str) -> Result<Program, LoadError> {
        compile(text, &|_, _| Vec::new())
    }

    /// As [`Program::from_json`]; `unused` returns, for the name of an action and the parameters that
    /// it has there, those that it does not use. The compiler leaves them out, entries have them.
    pub fn with_unused_params(
        text: &str,
        unused: &dyn Fn(&str, &[ParamInfo]) -> Vec<ParamInfo>,
    ) -> Result<Program, LoadError> {
        compile(text, unused)
    }
}

/// Parameters of an action (name, those in the JSON) that are left out there.
type UnusedParams<'a> = &'a dyn Fn(&str, &[ParamInfo]) -> Vec<ParamInfo>;

fn compile(text: &str, unused: UnusedParams) -> Load<Program> {
    let value: Value = serde_json::from_str(text).map_err(|error| LoadError::Syntax(error.to_string()))?;
    let root = Node::root(&value);
    if !value.is_object() {
        return root.malformed("expected an object");
    }
    check_version(&root)?;
    check_architecture(&root)?;
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

    let Linked { ops, marks, temp_base, labels, constant_base, constants } = asm.finish(&root)?;
    let pc = |label: Pc| labels[label as usize];
    let mut selects = parser.selects;
    for select in &mut selects {
        link_select(select, &pc);
    }
    let mut tables = control.tables;
    for table in &mut tables.plans {
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
    let mut code = Code {
        ops,
        marks,
        selects,
        calculations: calculation_plans,
        actions: action_codes,
        registers: place_registers(&register_infos, &vec![0; register_infos.len()]),
        tables: tables.plans,
        profiles: tables.profiles,
        parser_entry: pc(parser.entry),
        parser_end: pc(parser.end),
        ingress_entry: pc(control.ingress),
        egress_entry: pc(control.egress),
        deparser_entry: pc(deparser.entry),
        deparse_order: deparser.order,
        image: image(&layout),
        metadata: metadata_blocks(&layout),
        param_base: layout.slots as Slot,
        temp_base: temp_base as Slot,
        constant_base: constant_base as Slot,
        constants,
        field_lists,
        digests,
        errors,
        intrinsics: Intrinsics::of(&layout),
        filled: vec![None; layout.headers.len()],
        liveness: None,
        touches: Vec::new(),
    };
    leave_out_unread(&mut code, &layout);
    if let Some(analysis) = Analysis::new(&code, &layout, &tables.defaults) {
        let (liveness, filled) = (analysis.liveness(), analysis.filled.clone());
        let part = |entry| analysis.part(entry).map_or_else(Vec::new, |(instructions, _)| instructions);
        let (ingress, egress) = (part(code.ingress_entry), part(code.egress_entry));
        let users = registers_in(&code, &ingress).into_iter().zip(registers_in(&code, &egress));
        let users: Vec<u8> = users.map(|(first, second)| u8::from(first) | u8::from(second) << 1).collect();
        code.registers = place_registers(&register_infos, &users);
        code.liveness = liveness;
        code.filled = filled;
        code.touches = touches(&code, &counter_infos, &ingress);
    }
    let mut value_sets = value_set_infos;
    for (info, widths) in value_sets.iter_mut().zip(parser.value_set_widths) {
        if !widths.is_empty() {
            info.width_bits = widths;
        }
    }
    let mut program = Program {
        tables: tables.infos,
        actions: declarations.action_infos,
        counters: counter_infos,
        meters: meter_infos,
        registers: register_infos,
        action_profiles: tables.profile_infos,
        value_sets,
        digests: digest_infos,
        enums,
        error_members,
        header_types: layout.header_type_infos(),
        headers: layout.header_infos(),
        names: Default::default(),
        layout,
        code,
        initial_entries: tables.initial_entries,
        defaults: tables.defaults,
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

/// Programs for other architectures have other parsers, and externs that would be refused one by one.
fn check_architecture(root: &Node) -> Load<()> {
    for parser in root.list("parsers")? {
        let parser = parser.text("name")?;
        let found = match parser {
            "ingress_parser" | "egress_parser" => "PSA",
            "main_parser" => "PNA",
            _ => continue,
        };
        return Err(LoadError::Architecture { found, parser: parser.to_string() });
    }
    Ok(())
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

fn load_field_lists(root: &Node, layout: &Layout) -> Load<BTreeMap<u32, Vec<FieldRef>>> {
    let mut lists = BTreeMap::new();
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
    image[packet_slot::VALID as usize] = 1;
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
