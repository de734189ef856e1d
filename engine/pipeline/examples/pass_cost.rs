//! Measures the cost of a pass: `pass_cost PROGRAM.json [FRAME_HEX [PORT]]`.
//!
//! The frame is sent again and again; every queued copy goes through egress, everything else is
//! counted. Prints nanoseconds per ingress and per egress pass as one JSON object; the quickest of
//! many batches counts, so that other work on the machine does not show.

use std::sync::Arc;
use std::time::Instant;

use p4mesh_pipeline::{
    EgressTimes, Executable, IngressPacket, InstanceType, Output, Outputs, Preserved, Program, Switch,
    SwitchConfig,
};

const ROUNDS: u64 = 400_000;
const BATCH: u64 = 64;

fn parse_hex(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text.chars().filter_map(|c| c.to_digit(16).map(|d| d as u8)).collect();
    (digits.len() % 2 == 0).then(|| digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

fn main() -> Result<(), String> {
    let mut args = std::env::args().skip(1);
    let path = args.next().ok_or("usage: pass_cost PROGRAM.json [FRAME_HEX [PORT]]")?;
    let frame = match args.next() {
        Some(text) => parse_hex(&text).ok_or("the frame is not hexadecimal")?,
        None => vec![0; 60],
    };
    let port = args.next().map_or(Ok(0), |text| text.parse()).map_err(|_| "the port is not a number")?;
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
    let program = Program::from_json(&text).map_err(|error| format!("{path}: {error}"))?;
    let mut switch = Switch::new(Arc::new(Executable::new(program)), SwitchConfig::default());
    let mut out = Outputs::default();
    let mut queue = Vec::new();
    let (mut ingress_ns, mut egress_ns) = (f64::MAX, f64::MAX);
    let (mut ingress, mut egress, mut drops) = (0u64, 0u64, 0u64);
    let mut now_ps = 0;
    while ingress < ROUNDS {
        let start = Instant::now();
        for _ in 0..BATCH {
            now_ps += 6_720;
            let packet = IngressPacket {
                port,
                frame: out.pool.copy_of(&frame),
                instance_type: InstanceType::Normal,
                preserved: Preserved::default(),
            };
            switch.ingress(packet, now_ps, now_ps, &mut out);
        }
        ingress_ns = ingress_ns.min(start.elapsed().as_nanos() as f64 / BATCH as f64);
        ingress += BATCH;
        for item in out.items.drain(..) {
            match item {
                Output::Enqueue(packet) => queue.push(packet),
                Output::Drop(_) => drops += 1,
                _ => {}
            }
        }
        let copies = queue.len();
        egress += copies as u64;
        let start = Instant::now();
        let times = EgressTimes { stamp_ps: now_ps, now_ps, ..EgressTimes::default() };
        for packet in queue.drain(..) {
            switch.egress(packet, &times, &mut out);
        }
        if copies > 0 {
            egress_ns = egress_ns.min(start.elapsed().as_nanos() as f64 / copies as f64);
        }
        let items = std::mem::take(&mut out.items);
        for item in items {
            match item {
                Output::Transmit { frame, .. } => out.pool.give(frame),
                Output::Reenter(packet) => out.pool.give(packet.frame),
                Output::Drop(_) => drops += 1,
                _ => {}
            }
        }
    }
    let egress_ns = if egress == 0 { 0.0 } else { egress_ns };
    println!(
        "{{\"ingress_passes\": {ingress}, \"ingress_ns_per_pass\": {ingress_ns:.1}, \
         \"egress_passes\": {egress}, \"egress_ns_per_pass\": {egress_ns:.1}, \"drops\": {drops}}}"
    );
    Ok(())
}
