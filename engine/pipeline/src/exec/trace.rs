//! The way of packets in words, for people who debug a program: parser states, tables with what they found, actions.
//! Only the interpreter tells it, so that nothing else has to ask whether somebody listens.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard};

use crate::code::ir::{Op, Pc};
use crate::code::layout::packet_slot;
use crate::code::marks::Mark;
use crate::exec::context::{Context, Flow};
use crate::numbers::words::to_bytes;
use crate::state::table::{Binding, Target};
use crate::vocabulary::entries::KeyMatch;

/// Lines that wait to be taken; further ones are lost, and counted.
const MAX_LINES: usize = 1 << 17;
/// Bytes of a header or value that are shown.
const SHOWN_BYTES: usize = 64;

/// Lines about packets, of everything that handles them, in their order.
#[derive(Default)]
pub struct Trace(Mutex<Lines>);

#[derive(Default)]
struct Lines {
    kept: Vec<String>,
    lost: u64,
}

impl Trace {
    pub fn new() -> Arc<Trace> {
        Arc::default()
    }

    /// Adds a line about what happened at `now_ps`.
    pub fn add(&self, now_ps: u64, text: &str) {
        let mut lines = self.lines();
        if lines.kept.len() < MAX_LINES {
            let (seconds, microseconds) = (now_ps / 1_000_000_000_000, now_ps / 1_000_000 % 1_000_000);
            lines.kept.push(format!("[{seconds}.{microseconds:06}] {text}"));
        } else {
            lines.lost += 1;
        }
    }

    /// The lines since the last call, and how many were lost after them.
    pub fn take(&self) -> (Vec<String>, u64) {
        let Lines { kept, lost } = std::mem::take(&mut *self.lines());
        (kept, lost)
    }

    fn lines(&self) -> MutexGuard<'_, Lines> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// Hexadecimal digits of the first bytes.
pub fn hex(bytes: &[u8], limit: usize) -> String {
    let mut text = String::new();
    for byte in bytes.iter().take(limit) {
        let _ = write!(text, "{byte:02x}");
    }
    if bytes.len() > limit {
        text.push_str("...");
    }
    text
}

/// Hears of instructions that are interpreted.
pub(crate) trait Observer {
    fn before(&mut self, context: &Context, pc: Pc, op: &Op);
    fn after(&mut self, context: &Context, op: &Op, flow: Flow);
}

/// Nobody listens: the interpreter is compiled without any of it.
impl Observer for () {
    #[inline(always)]
    fn before(&mut self, _: &Context, _: Pc, _: &Op) {}
    #[inline(always)]
    fn after(&mut self, _: &Context, _: &Op, _: Flow) {}
}

/// Writes what one run of a part of the program does.
pub(crate) struct Tracer<'t> {
    trace: &'t Trace,
    part: &'static str,
    /// A condition, and where it leads when it is true and when it is false.
    condition: Option<(&'t str, Pc, Pc)>,
    cursor: usize,
    marks: &'t [(Pc, Mark)],
}

impl<'t> Tracer<'t> {
    /// For a run from `entry`.
    pub fn new(trace: &'t Trace, context: &Context<'t>, entry: Pc) -> Tracer<'t> {
        let code = &context.program.code;
        let part = match entry {
            entry if entry == code.parser_entry => "parser",
            entry if entry == code.ingress_entry => "ingress",
            entry if entry == code.egress_entry => "egress",
            _ => "deparser",
        };
        let tracer = Tracer { trace, part, condition: None, cursor: 0, marks: &code.marks };
        if part == "parser" {
            tracer.line(context, &format!("pass of a frame of {} bytes", context.wire.frame.len()));
        }
        if part == "deparser" {
            let valid = |header: &&u16| {
                context.regs[context.program.layout.headers[**header as usize].base as usize] != 0
            };
            let names = code.deparse_order.iter().filter(valid);
            let names: Vec<&str> = names.map(|header| header_name(context, *header)).collect();
            tracer.line(context, &format!("headers: {}", names.join(", ")));
        }
        tracer
    }

    fn line(&self, context: &Context, text: &str) {
        self.trace.add(context.now_ps, &format!("  {}: {text}", self.part));
    }

    fn table(&self, context: &Context, index: u16) {
        let info = &context.program.tables[index as usize];
        let plan = &context.program.code.tables[index as usize];
        let table = &context.state.tables[index as usize];
        let mut text = format!("table {}", info.name);
        for (key, field) in plan.key.iter().zip(&info.key) {
            let valid = context.regs[key.valid as usize] != 0;
            let from = key.slot as usize;
            let limbs = (key.bits as usize).div_ceil(64).max(1);
            // A field of an invalid header is looked up as 0.
            let words = match valid {
                true => context.regs[from..from + limbs].to_vec(),
                false => vec![0; limbs],
            };
            let _ = write!(text, " {}=0x{}", field.name, hex(&to_bytes(&words, key.bits), SHOWN_BYTES));
        }
        let hit = table.lookup(context.regs);
        let target = match hit.and_then(|id| table.read(id).map(|read| (id, read.entry))) {
            Some((id, entry)) => {
                let key: Vec<String> = entry.key.iter().map(shown).collect();
                let _ = write!(text, ": hit entry {id} ({})", key.join(", "));
                if entry.priority != 0 {
                    let _ = write!(text, " of priority {}", entry.priority);
                }
                table.targets.get(id as usize)
            }
            None => {
                text.push_str(": miss");
                table.default.as_ref()
            }
        };
        match target {
            None => text.push_str(", no action"),
            Some(Target::Direct(binding)) => {
                let _ = write!(text, ", action {}", call(context, binding));
            }
            Some(Target::Member(member)) => {
                let _ = write!(text, ", member {member}");
            }
            Some(Target::Group(group)) => {
                let _ = write!(text, ", group {group}");
            }
        }
        self.line(context, &text);
    }
}

impl Observer for Tracer<'_> {
    fn before(&mut self, context: &Context, pc: Pc, op: &Op) {
        if let Some((text, then, otherwise)) = self.condition {
            if then != otherwise && (pc == then || pc == otherwise) {
                self.line(context, &format!("condition {text} is {}", pc == then));
                self.condition = None;
            }
        }
        let marks = self.marks;
        let first = marks.partition_point(|(at, _)| *at < pc);
        for (_, mark) in marks[first..].iter().take_while(|(at, _)| *at == pc) {
            match mark {
                Mark::State(name) => self.line(context, &format!("state {name}")),
                Mark::Action(name) => self.line(context, &format!("action {name}")),
                Mark::Condition { text, then, otherwise } => self.condition = Some((text, *then, *otherwise)),
            }
        }
        self.cursor = context.wire.cursor;
        if let Op::Table { table } = op {
            self.table(context, *table);
        }
    }

    fn after(&mut self, context: &Context, op: &Op, flow: Flow) {
        let code = &context.program.code;
        let ended = flow == Flow::To(code.parser_end);
        match op {
            Op::Extract { .. } | Op::ExtractNext { .. } | Op::ExtractUnionNext { .. }
                if flow == Flow::Next =>
            {
                let bytes = hex(&context.wire.frame[self.cursor..context.wire.cursor], SHOWN_BYTES);
                let name = match op {
                    Op::Extract { header } => header_name(context, *header),
                    _ => "the next header of a stack",
                };
                self.line(context, &format!("extract {name}: {bytes}"));
            }
            Op::Extract { .. }
            | Op::ExtractNext { .. }
            | Op::ExtractUnionNext { .. }
            | Op::Lookahead { .. }
            | Op::Advance { .. }
            | Op::ParserError { .. }
                if ended =>
            {
                let error = context.regs[packet_slot::PARSER_ERROR as usize];
                let names = &context.program.error_members.members;
                let name = names.iter().find(|(_, number)| *number == error).map_or("", |(name, _)| name);
                self.line(context, &format!("error {error} {name}"));
            }
            Op::Table { table } if code.tables[*table as usize].profile.is_some() => {
                if let Flow::Call { entry, .. } = flow {
                    let found = code.actions.iter().position(|action| action.entry == entry);
                    let name = found.map_or("none", |action| &context.program.actions[action].name);
                    self.line(context, &format!("action {name} of the member"));
                }
            }
            _ => {}
        }
    }
}

fn header_name<'c>(context: &Context<'c>, header: u16) -> &'c str {
    let headers = &context.program.headers;
    headers.get(header as usize).map_or("?", |info| &info.name)
}

/// An action with its parameters.
fn call(context: &Context, binding: &Binding) -> String {
    let info = &context.program.actions[binding.action];
    let layout = &context.program.code.actions[binding.action];
    let params = info.params.iter().zip(&layout.params).map(|(param, &(first, limbs, bits))| {
        let words = binding.words.get(first as usize..(first + limbs) as usize).unwrap_or(&[]);
        format!("{}=0x{}", param.name, hex(&to_bytes(words, bits), SHOWN_BYTES))
    });
    format!("{}({})", info.name, params.collect::<Vec<_>>().join(", "))
}

fn shown(key: &KeyMatch) -> String {
    let hex = |bytes: &[u8]| format!("0x{}", hex(bytes, SHOWN_BYTES));
    match key {
        KeyMatch::Exact(value) | KeyMatch::Optional(Some(value)) => hex(value),
        KeyMatch::Lpm { value, prefix_bits } => format!("{}/{prefix_bits}", hex(value)),
        KeyMatch::Ternary { value, mask } => format!("{}&&&{}", hex(value), hex(mask)),
        KeyMatch::Range { low, high } => format!("{}..{}", hex(low), hex(high)),
        KeyMatch::Optional(None) => "any".to_string(),
        KeyMatch::Valid(valid) => format!("valid: {valid}"),
    }
}
