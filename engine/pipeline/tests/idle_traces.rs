//! A proof that repeats what another pass did comes to the same result as one by all instructions.

use std::sync::Arc;

use p4mesh_pipeline::{
    EgressTimes, Executable, IdleProbe, IngressPacket, InstanceType, LoopPass, Output, Outputs, Preserved,
    Program, Switch, SwitchConfig, Tick,
};

const TICK_PS: u64 = 1_000;
/// Frames that wait until their sign says that a time has come, and write a register with what it holds but for two bits.
const FRAME: [u8; 20] = [0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0];
const REGISTER: &str = "WaitIngress.same";
const LOOP_PORT: u16 = 509;
/// Time stamps of the egress of the packet, and of the pass after it.
const FIRST_PS: u64 = 1_000_000;
const SECOND_PS: u64 = 2_000_000;

fn switch() -> Switch {
    let program =
        Program::from_json(include_str!("../../sim/tests/programs/waiting.json")).expect("a program");
    let config = SwitchConfig { tick: Tick::new(TICK_PS), ..SwitchConfig::default() };
    Switch::new(Arc::new(Executable::new(program)), config)
}

/// The frame, once it has gone into the loop.
fn packet(switch: &mut Switch) -> IngressPacket {
    let mut out = Outputs::default();
    let packet = IngressPacket {
        port: 1,
        frame: FRAME.to_vec(),
        instance_type: InstanceType::Normal,
        preserved: Preserved::default(),
    };
    switch.ingress(packet, 0, 0, &mut out);
    let Some(Output::Enqueue(packet)) = out.items.pop() else { panic!("the frame goes to the loop port") };
    let times = EgressTimes { stamp_ps: FIRST_PS, now_ps: FIRST_PS, ..EgressTimes::default() };
    switch.egress(packet, &times, &mut out);
    let Some(Output::Reenter(packet)) = out.items.pop() else { panic!("the frame goes round") };
    assert_eq!(packet.port, LOOP_PORT);
    packet
}

#[test]
fn a_further_proof_is_made_with_the_present_registers() {
    let mut switch = switch();
    let packet = packet(&mut switch);
    let pass = |stamp_ps| LoopPass { packet: &packet, last_stamp_ps: FIRST_PS, stamp_ps, former: None };
    let mut probe = IdleProbe::default();
    let mut efforts = Vec::new();
    for (value, is_idle) in [(5, true), (13, true), (8, false), (7, true)] {
        switch.register_write(REGISTER, 0, &[value]).expect("the register");
        for stamp_ps in [SECOND_PS, SECOND_PS + 7 * TICK_PS] {
            let proof = switch.probe_idle(&mut probe, &pass(stamp_ps));
            efforts.push(probe.effort());
            let anew = switch.probe_idle(&mut IdleProbe::default(), &pass(stamp_ps));
            assert_eq!(proof.is_ok(), is_idle, "{value}");
            let result = |proof: Result<p4mesh_pipeline::IdlePass, _>| {
                proof.ok().map(|it| (it.before_ps, switch.has_same_registers(&it)))
            };
            assert_eq!(result(proof), result(anew), "{value}");
        }
    }
    // The first pass is recorded, and repeated until the register would change.
    let whole = efforts[0];
    assert_eq!(efforts, [whole, 1, 1, 1, whole, whole, 1, 1]);
    probe.forget();
    switch.probe_idle(&mut probe, &pass(SECOND_PS)).expect("the pass is idle");
    assert_eq!(probe.effort(), whole);
}
