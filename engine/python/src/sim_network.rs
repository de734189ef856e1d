//! `SimNetwork`: a simulated network with a P4Runtime server on its tester.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use p4mesh_p4runtime::DEFAULT_MEMORY_BYTES;
use p4mesh_pipeline::{Executable, Program};
use p4mesh_sim::{BadFcsRule, Network, NetworkError, Settling};
use p4mesh_wire::payload::CountedPayload;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::{guarded, misconfigured, refused};
use crate::lock::lock;
use crate::server_slot::ServerSlot;
use crate::sim_target::SimTarget;

/// Events between two looks at pending signals (Ctrl-C), and between two times at which the server takes what the program
/// has sent to the controller, to encode it while the network goes on: some milliseconds of work.
const EVENTS_PER_SLICE: u64 = 20_000;

/// Runs to a time or for a number of events; returns whether it is done.
type RunSome = fn(&mut Network, u64, u64) -> Result<bool, NetworkError>;

/// The keys of the document of a [`SimNetwork`] as JSON: `network` and, of each device model, `models`.
/// They are rules of a JSON Schema with the meaning of each key as `title`.
#[pyfunction]
pub fn describe_config() -> String {
    p4mesh_sim::description().to_string()
}

/// A network in virtual time.
///
/// Between `serve` and `stop` a P4Runtime server on the tester node programs it. Virtual time only goes on inside
/// `run_until`, `advance`, `advance_to_packet_in` and `settle`; before it does, these wait until the server has handled
/// as many packet-outs as the caller says it has sent, so that the results do not depend on threads.
#[pyclass(module = "p4mesh._engine", frozen)]
pub struct SimNetwork {
    target: Arc<Mutex<SimTarget>>,
    /// One for each switch of the tester.
    servers: Vec<ServerSlot>,
}

#[pymethods]
impl SimNetwork {
    /// Builds the network of a JSON document; `ConfigError` names the fault and its place.
    #[new]
    fn new(py: Python<'_>, config: String) -> PyResult<SimNetwork> {
        let network = guarded(py, move || Ok(Network::from_json(&config)))?;
        let network = network.map_err(|error| misconfigured(py, &error))?;
        Ok(SimNetwork {
            servers: (0..network.switches()).map(|_| ServerSlot::default()).collect(),
            target: Arc::new(Mutex::new(SimTarget::new(network))),
        })
    }

    /// Starts a P4Runtime server on HOST:PORT (port 0: any free one) for the switch of the tester with this device id: 1
    /// is the first. Returns its port.
    #[pyo3(signature = (address = "127.0.0.1:0", device_id = 1))]
    fn serve(&self, py: Python<'_>, address: &str, device_id: u64) -> PyResult<u16> {
        guarded(py, || {
            let switch = if self.servers.len() == 1 { 0 } else { device_id.max(1) as usize - 1 };
            let Some(server) = self.servers.get(switch) else {
                let highest = self.servers.len();
                return Err(refused(format!("no device {device_id}; valid: 1 to {highest}")));
            };
            let target = self.target.clone();
            let notifier = lock(&self.target).next_notifier();
            let port =
                server.start(address, device_id, target, notifier.clone(), None, DEFAULT_MEMORY_BYTES)?;
            lock(&self.target).serve(switch, notifier);
            Ok(port)
        })
    }

    /// Ends the servers; without one it does nothing. The network stays as it is.
    fn stop(&self, py: Python<'_>) -> PyResult<()> {
        guarded(py, || {
            self.servers.iter().for_each(ServerSlot::stop);
            lock(&self.target).notifiers.fill(None);
            Ok(())
        })
    }

    /// Runs until virtual time `ps`. Returns (virtual time, packet-ins since the beginning).
    #[pyo3(signature = (ps, packet_outs = 0, timeout_s = 60.0))]
    fn run_until(&self, py: Python<'_>, ps: u64, packet_outs: u64, timeout_s: f64) -> PyResult<(u64, u64)> {
        self.await_packet_outs(py, packet_outs, timeout_s)?;
        self.run(py, ps, Network::run_some)
    }

    /// Runs for `ps` picoseconds. Returns (virtual time, packet-ins since the beginning).
    #[pyo3(signature = (ps, packet_outs = 0, timeout_s = 60.0))]
    fn advance(&self, py: Python<'_>, ps: u64, packet_outs: u64, timeout_s: f64) -> PyResult<(u64, u64)> {
        self.await_packet_outs(py, packet_outs, timeout_s)?;
        let until_ps = self.now_ps(py)?.saturating_add(ps);
        self.run(py, until_ps, Network::run_some)
    }

    /// Runs until the program sends a frame to the controller, for at most `ps` picoseconds. Returns
    /// (virtual time, packet-ins since the beginning).
    #[pyo3(signature = (ps, packet_outs = 0, timeout_s = 60.0))]
    fn advance_to_packet_in(
        &self,
        py: Python<'_>,
        ps: u64,
        packet_outs: u64,
        timeout_s: f64,
    ) -> PyResult<(u64, u64)> {
        self.await_packet_outs(py, packet_outs, timeout_s)?;
        let until_ps = self.now_ps(py)?.saturating_add(ps);
        self.run(py, until_ps, Network::run_some_to_packet_in)
    }

    /// Runs until no frame is outside the recirculation loop, for at most `max_ps`. Returns
    /// (virtual time, packet-ins since the beginning, whether it is quiet).
    #[pyo3(signature = (max_ps, packet_outs = 0, timeout_s = 60.0))]
    fn settle(
        &self,
        py: Python<'_>,
        max_ps: u64,
        packet_outs: u64,
        timeout_s: f64,
    ) -> PyResult<(u64, u64, bool)> {
        self.await_packet_outs(py, packet_outs, timeout_s)?;
        let limit_ps = self.now_ps(py)?.saturating_add(max_ps);
        loop {
            let (settling, now_ps, packet_ins) = self.with(py, |target| {
                let settling = target.network.settle_some(limit_ps, EVENTS_PER_SLICE);
                target.report();
                Ok((settling, target.network.now_ps(), target.network.packet_ins_total()))
            })?;
            match settling {
                Settling::Quiet => return Ok((now_ps, packet_ins, true)),
                Settling::Limit => return Ok((now_ps, packet_ins, false)),
                Settling::Unfinished => py.check_signals()?,
            }
        }
    }

    /// Virtual time in picoseconds.
    #[getter]
    fn now_ps(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |target| Ok(target.network.now_ps()))
    }

    /// Frames that the program has sent to the CPU port since the beginning.
    #[getter]
    fn packet_ins_total(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |target| Ok(target.network.packet_ins_total()))
    }

    /// Frames anywhere outside the recirculation loop.
    fn in_flight(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |target| Ok(target.network.in_flight()))
    }

    /// (number, rate in b/s) of the tester's ports.
    fn ports(&self, py: Python<'_>) -> PyResult<Vec<(u16, u64)>> {
        self.with(py, |target| Ok(target.network.tester_ports()))
    }

    /// Sets the link of a port of a node up or down.
    fn set_link(&self, py: Python<'_>, node: &str, port: u16, up: bool) -> PyResult<()> {
        self.with(py, |target| {
            target.network.set_link(node, port, up).map_err(refused)?;
            target.report();
            Ok(())
        })
    }

    /// (number, whether its link is up, how often it went down) of the tester's ports.
    fn links(&self, py: Python<'_>) -> PyResult<Vec<(u16, bool, u64)>> {
        self.with(py, |target| {
            let links = target.network.tester_links().into_iter();
            Ok(links.map(|it| (it.port, it.up, it.losses)).collect())
        })
    }

    /// Sets the gap that a port keeps after each frame that it sends from now on.
    fn set_gap_bits(&self, py: Python<'_>, node: &str, port: u16, gap_bits: u32) -> PyResult<()> {
        self.with(py, |target| target.network.set_gap_bits(node, port, gap_bits).map_err(refused))
    }

    /// Lets those frames leave a tester port with an FCS that does not fit whose six bytes at
    /// `offset_bytes`, read as a number, lie in low..=high, for any of [(offset_bytes, low, high)].
    fn set_bad_fcs(&self, py: Python<'_>, port: u16, rules: Vec<(usize, u64, u64)>) -> PyResult<()> {
        let rule = |(offset_bytes, low, high)| BadFcsRule { offset_bytes, low, high };
        let rules = rules.into_iter().map(rule).collect();
        self.with(py, |target| target.network.set_bad_fcs(port, rules).map_err(refused))
    }

    /// Frames with an FCS that does not fit, since the beginning: [(tester port, sent, received)].
    fn bad_fcs_counts(&self, py: Python<'_>) -> PyResult<Vec<(u16, u64, u64)>> {
        self.with(py, |target| Ok(target.network.bad_fcs_counts()))
    }

    /// Chooses the payload of frames that come to a tester port: behind `mark`, at one of `offsets_bytes`, bytes count up
    /// from 0, `counts_behind_bytes` from its beginning on. Other frames with the mark are counted and dropped; without
    /// offsets, none is looked at.
    fn set_payload(
        &self,
        py: Python<'_>,
        port: u16,
        offsets_bytes: Vec<usize>,
        mark: Vec<u8>,
        counts_behind_bytes: usize,
    ) -> PyResult<()> {
        let payload = CountedPayload { offsets_bytes, mark, counts_behind_bytes };
        let payload = Some(payload).filter(|it| !it.offsets_bytes.is_empty());
        self.with(py, |target| target.network.set_payload(port, payload).map_err(refused))
    }

    /// Frames with a damaged payload, since the beginning: [(tester port, frames)].
    fn damaged_payloads(&self, py: Python<'_>) -> PyResult<Vec<(u16, u64)>> {
        self.with(py, |target| Ok(target.network.damaged_payloads()))
    }

    /// Routes that devices had no room for since the last call: [(device, IP version, networks, how many fit)].
    fn take_refused_routes(&self, py: Python<'_>) -> PyResult<Vec<(String, u8, u64, u64)>> {
        self.with(py, |target| {
            let refused = target.network.take_refused_routes().into_iter();
            Ok(refused.map(|(device, it)| (device, it.ip_version, it.networks, it.most)).collect())
        })
    }

    /// Resets a device, which is without power for `off_ps` first.
    #[pyo3(signature = (name, off_ps = 0))]
    fn reset_device(&self, py: Python<'_>, name: &str, off_ps: u64) -> PyResult<()> {
        self.with(py, |target| {
            target.network.reset_device(name, off_ps).map_err(refused)?;
            target.report();
            Ok(())
        })
    }

    /// Lets failures 1 to `count` of the devices begin now, those that have not begun before; returns the
    /// time to the last of their changes in picoseconds.
    fn cause_failures(&self, py: Python<'_>, count: u64) -> PyResult<u64> {
        self.with(py, |target| {
            let longest_ps = target.network.cause_failures(count).map_err(refused)?;
            target.report();
            Ok(longest_ps)
        })
    }

    /// Starts all random numbers anew, those of `number`.
    fn reseed(&self, py: Python<'_>, number: u64) -> PyResult<()> {
        self.with(py, |target| {
            target.network.reseed(number);
            Ok(())
        })
    }

    /// The true counts of all nodes, as a dict: for tests of the tester.
    fn truth(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let text = self.with(py, |target| serde_json::to_string(&target.network.truth()).map_err(refused))?;
        Ok(py.import("json")?.call_method1("loads", (text,))?.unbind())
    }

    /// Sends a frame from a port of a device `host`.
    fn host_send(&self, py: Python<'_>, name: &str, port: u16, frame: &[u8]) -> PyResult<()> {
        self.with(py, |target| target.network.host_send(name, port, frame).map_err(refused))
    }

    /// Takes the frames that came to a device `host`: [(port, time of the first bit, bytes)].
    fn host_take<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Vec<(u16, u64, Bound<'py, PyBytes>)>> {
        let frames = self.with(py, |target| target.network.host_take(name).map_err(refused))?;
        Ok(frames.into_iter().map(|(port, at_ps, frame)| (port, at_ps, PyBytes::new(py, &frame))).collect())
    }

    /// Installs a BMv2 JSON program without P4Runtime, for tests.
    fn load_program(&self, py: Python<'_>, json: &str) -> PyResult<()> {
        self.with(py, |target| {
            let program = Program::from_json(json).map_err(refused)?;
            target.network.set_program(Arc::new(Executable::new(program)));
            Ok(())
        })
    }

    /// Gives the program a frame on the CPU port without P4Runtime, for tests.
    fn packet_out(&self, py: Python<'_>, frame: Vec<u8>) -> PyResult<()> {
        self.with(py, move |target| {
            target.network.packet_out(frame);
            target.report();
            Ok(())
        })
    }

    /// Takes the packet-ins that wait; while a server runs, they go to its controllers instead.
    fn take_packet_ins<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let frames: Vec<Vec<u8>> =
            self.with(py, |target| Ok(std::iter::from_fn(|| target.network.take_packet_in()).collect()))?;
        Ok(frames.iter().map(|frame| PyBytes::new(py, frame)).collect())
    }
}

impl SimNetwork {
    /// Runs `work` with the lock of the target and without the GIL.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut SimTarget) -> PyResult<T> + Send,
    ) -> PyResult<T> {
        guarded(py, || work(&mut lock(&self.target)))
    }

    fn run(&self, py: Python<'_>, until_ps: u64, run_some: RunSome) -> PyResult<(u64, u64)> {
        loop {
            let (done, now_ps, packet_ins) = self.with(py, |target| {
                let done = run_some(&mut target.network, until_ps, EVENTS_PER_SLICE).map_err(refused)?;
                target.report();
                Ok((done, target.network.now_ps(), target.network.packet_ins_total()))
            })?;
            if done {
                return Ok((now_ps, packet_ins));
            }
            py.check_signals()?;
        }
    }

    /// Waits until the server has handled `packet_outs` packet-outs since the beginning.
    fn await_packet_outs(&self, py: Python<'_>, packet_outs: u64, timeout_s: f64) -> PyResult<()> {
        if packet_outs == 0 {
            return Ok(());
        }
        let Some(counters) = self.servers.iter().find_map(ServerSlot::counters) else {
            return Err(refused(
                "no P4Runtime server runs, so no packet-outs can be waited for; call serve() first",
            ));
        };
        let timeout = Duration::try_from_secs_f64(timeout_s)
            .map_err(|_| refused(format!("timeout_s is {timeout_s}; valid: 0 or more")))?;
        guarded(py, || {
            if counters.wait_packet_outs(packet_outs, timeout) {
                return Ok(());
            }
            let handled = counters.get().packet_outs_handled;
            Err(refused(format!(
                "the server handled {handled} of {packet_outs} packet-outs in {timeout_s} s"
            )))
        })
    }
}
