//! `LiveSwitch`: a switch on Linux interfaces or on pcap files, with a P4Runtime server.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use p4mesh_io::{
    monotonic_ns, ArrivalStamps, CapturedPorts, Cores, Delays, FilePorts, IoError, LivePorts, PortAccess,
    Ports, Runner, RunnerLimits, SessionFirst,
};
use p4mesh_p4runtime::{Notifier, Target, Tls, DEFAULT_MEMORY_BYTES};
use p4mesh_pipeline::{Executable, Program, SwitchConfig, Tick, Trace};
use p4mesh_wire::payload::CountedPayload;
use pyo3::prelude::*;

use crate::error::{guarded, refused};
use crate::live_target::{drive, LiveTarget};
use crate::lock::lock;
use crate::packet_trace::PacketTrace;
use crate::server_slot::ServerSlot;

/// Certificate, its key, and optionally the authorities of clients, each in PEM.
type Pem = (Vec<u8>, Vec<u8>, Option<Vec<u8>>);

/// Of delays: the number, the sum in nanoseconds, the smallest and the largest one, and the bins (lowest delay, lowest
/// delay above, number).
type DelaysOf = (u64, i64, Option<(i64, i64)>, Vec<(u64, u64, u64)>);

/// Of a port: what stamps arrivals, then the delays of its departure stamps.
type PortStamps = (&'static str, DelaysOf);

/// Interval at which a waiting thread looks whether it should end.
const STOP_POLL: Duration = Duration::from_millis(10);

/// A switch in wall-clock time on `interfaces` [(port, name)].
///
/// Interfaces are reached by AF_XDP or AF_PACKET, as `access` says: best, af_xdp or af_packet. Where there are two cores,
/// `own_cores` is 0 to 2: one is for the loop that polls the interfaces, the second one for a thread that sends. Without the
/// second one the loop sends, too. A switch of a tester of several has the clock of those `beside` it, and other cores.
///
/// With `use_files_s` the names stand for NAME_in.pcap and NAME_out.pcap; the input files are read
/// that many seconds after `start`. Without `program` (BMv2 JSON) it drops everything until a
/// controller pushes one. With `pcap_directory` the frames of each port are written there, to NAME_in.pcap and
/// NAME_out.pcap.
#[pyclass(module = "p4mesh._engine", frozen)]
pub struct LiveSwitch {
    target: Arc<Mutex<LiveTarget>>,
    server: ServerSlot,
    worker: Mutex<Option<JoinHandle<Result<(), IoError>>>>,
    stop: Arc<AtomicBool>,
    files_after: Option<Duration>,
    cores: Cores,
    trace: Arc<Trace>,
}

#[pymethods]
impl LiveSwitch {
    #[new]
    #[pyo3(signature = (interfaces, program = None, *, cpu_port = Some(510), drop_port = 511, timestamp_tick_ps = 1_000_000, use_files_s = None, seed = 1, access = "best", own_cores = 0, beside = Vec::new(), pcap_directory = None))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        interfaces: Vec<(u16, String)>,
        program: Option<String>,
        cpu_port: Option<u16>,
        drop_port: u16,
        timestamp_tick_ps: u64,
        use_files_s: Option<f64>,
        seed: u64,
        access: &str,
        own_cores: usize,
        beside: Vec<Py<LiveSwitch>>,
        pcap_directory: Option<PathBuf>,
    ) -> PyResult<LiveSwitch> {
        let access = access_of(access)?;
        guarded(py, move || {
            let taken: Vec<Cores> = beside.iter().map(|it| it.get().cores.clone()).collect();
            let cores = Cores::of_this_process(own_cores, &taken);
            let started_ns =
                beside.first().map_or_else(monotonic_ns, |it| lock(&it.get().target).started_ns());
            if timestamp_tick_ps == 0 {
                return Err(refused("timestamp_tick_ps is 0; valid: 1 or more"));
            }
            let delay = use_files_s.map(Duration::try_from_secs_f64).transpose();
            let delay = delay.map_err(|error| refused(format!("use_files_s: {error}; valid: 0 or more")))?;
            let ports: Box<dyn Ports> = match delay {
                Some(_) => Box::new(FilePorts::open(&interfaces).map_err(refused)?),
                None => Box::new(LivePorts::open(&interfaces, access, &cores).map_err(refused)?),
            };
            let ports: Box<dyn Ports> = match pcap_directory {
                Some(directory) => {
                    Box::new(CapturedPorts::create(ports, &interfaces, &directory).map_err(refused)?)
                }
                None => ports,
            };
            let config = SwitchConfig {
                tick: Tick::new(timestamp_tick_ps),
                drop_port,
                cpu_port,
                seed,
                ..SwitchConfig::default()
            };
            let mut target = LiveTarget::new(Runner::new(config, RunnerLimits::default()), ports, started_ns);
            if let Some(json) = program {
                let program = Program::from_json(&json).map_err(refused)?;
                target.install(Arc::new(Executable::new(program))).map_err(refused)?;
            }
            Ok(LiveSwitch {
                target: Arc::new(Mutex::new(target)),
                server: ServerSlot::default(),
                worker: Mutex::new(None),
                stop: Arc::new(AtomicBool::new(false)),
                files_after: delay,
                cores,
                trace: Trace::new(),
            })
        })
    }

    /// Starts a P4Runtime server on HOST:PORT (port 0: any free one) and returns its port. `tls` is
    /// the certificate, its key and the authorities of clients or None, each in PEM. Requests and answers of all clients
    /// together take at most `memory_bytes`.
    #[pyo3(signature = (address = "127.0.0.1:0", device_id = 1, tls = None, memory_bytes = DEFAULT_MEMORY_BYTES))]
    fn serve(
        &self,
        py: Python<'_>,
        address: &str,
        device_id: u64,
        tls: Option<Pem>,
        memory_bytes: usize,
    ) -> PyResult<u16> {
        guarded(py, || {
            let tls = tls.map(|(certificate, key, client_authorities)| Tls {
                certificate,
                key,
                client_authorities,
            });
            let target = self.target.clone();
            let notifier = Notifier::new();
            let queue = notifier.clone();
            let port = self.server.start(address, device_id, target, queue, tls.as_ref(), memory_bytes)?;
            lock(&self.target).notifier = Some(notifier);
            Ok(port)
        })
    }

    /// Starts to forward, in a thread of its own.
    fn start(&self, py: Python<'_>) -> PyResult<()> {
        guarded(py, || {
            let mut worker = lock(&self.worker);
            if worker.is_some() {
                return Err(refused("the switch runs already"));
            }
            self.stop.store(false, Ordering::Relaxed);
            let (target, stop, files_after) = (self.target.clone(), self.stop.clone(), self.files_after);
            let core = self.cores.program;
            let work = move || {
                // Threads with a core of their own come first there among all sessions, not in this one alone.
                let _first = core.map(|_| SessionFirst::new());
                if let Some(delay) = files_after {
                    load_after(&target, delay, &stop)?;
                }
                drive(&target, &stop, core)
            };
            let spawned = std::thread::Builder::new().name("p4mesh-switch".to_string()).spawn(work);
            *worker = Some(spawned.map_err(refused)?);
            Ok(())
        })
    }

    /// Tells what happens to each packet from now on: lines for [`Self::take_trace`], with so many bytes of each frame. Of
    /// the passes, parser states, tables and actions are told where `passes` is true; they take several times as long then.
    #[pyo3(signature = (shown_bytes = 0, passes = true))]
    fn trace(&self, py: Python<'_>, shown_bytes: usize, passes: bool) -> PyResult<()> {
        guarded(py, || {
            lock(&self.target).set_trace(PacketTrace { lines: self.trace.clone(), shown_bytes, passes });
            Ok(())
        })
    }

    /// The lines since the last call, and how many were lost after them because nobody took them.
    fn take_trace(&self, py: Python<'_>) -> PyResult<(Vec<String>, u64)> {
        guarded(py, || Ok(self.trace.take()))
    }

    /// Waits until the switch ends, at most `timeout_s`; returns true when it has. A port that
    /// failed raises EngineError.
    fn wait(&self, py: Python<'_>, timeout_s: f64) -> PyResult<bool> {
        let timeout = Duration::try_from_secs_f64(timeout_s).map_err(refused)?;
        let end = Instant::now() + timeout;
        loop {
            py.check_signals()?;
            let ended = guarded(py, || {
                let mut worker = lock(&self.worker);
                if worker.as_ref().is_none_or(JoinHandle::is_finished) {
                    return join(worker.take()).map(|()| true);
                }
                drop(worker);
                std::thread::sleep(STOP_POLL.min(end.saturating_duration_since(Instant::now())));
                Ok(false)
            })?;
            if ended || Instant::now() >= end {
                return Ok(ended);
            }
        }
    }

    /// Ends the switch and its server.
    fn stop(&self, py: Python<'_>) -> PyResult<()> {
        guarded(py, || {
            self.stop.store(true, Ordering::Relaxed);
            self.server.stop();
            lock(&self.target).notifier = None;
            join(lock(&self.worker).take())
        })
    }

    /// How each port is reached, in words.
    fn ports(&self, py: Python<'_>) -> PyResult<BTreeMap<u16, String>> {
        guarded(py, || Ok(lock(&self.target).ports.descriptions().into_iter().collect()))
    }

    /// Lets pauses, and the delays of departure stamps, begin anew. With `stamped` the kernel stamps departures where it
    /// can, which takes longer than the fastest way out.
    fn begin_departures(&self, py: Python<'_>, stamped: bool) -> PyResult<()> {
        guarded(py, || {
            let mut target = lock(&self.target);
            target.departure_delays.clear();
            target.take_pauses();
            target.ports.stamp_departures(stamped);
            Ok(())
        })
    }

    /// Chooses the payload of frames that come to a port: behind `mark`, at one of `offsets_bytes`, bytes count up from 0,
    /// `counts_behind_bytes` from its beginning on. Other frames with the mark are counted and dropped.
    fn set_payload(
        &self,
        py: Python<'_>,
        offsets_bytes: Vec<usize>,
        mark: Vec<u8>,
        counts_behind_bytes: usize,
    ) -> PyResult<()> {
        guarded(py, || {
            lock(&self.target).payload = Some(CountedPayload { offsets_bytes, mark, counts_behind_bytes });
            Ok(())
        })
    }

    /// Frames with a damaged payload since the beginning, by port; ports without one are left out.
    fn damaged_payloads(&self, py: Python<'_>) -> PyResult<BTreeMap<u16, u64>> {
        guarded(py, || Ok(lock(&self.target).damaged_payloads.clone()))
    }

    /// How long departures have waited for a thread since the last call, in ns: the longest time, and the sum of those
    /// of more than 1 ms.
    fn take_pauses(&self, py: Python<'_>) -> PyResult<(u64, u64)> {
        guarded(py, || {
            let pauses = lock(&self.target).take_pauses();
            Ok((pauses.longest_ns, pauses.late_ns))
        })
    }

    /// Time stamps of each port: what stamps its arrivals (xdp program or kernel), and how far the kernel's stamps of
    /// departures lie behind those of the program: number, sum in ns, (smallest, largest) or None, and bins (lowest
    /// delay, lowest delay above, number).
    fn stamps(&self, py: Python<'_>) -> PyResult<BTreeMap<u16, PortStamps>> {
        guarded(py, || {
            let target = lock(&self.target);
            let none = Delays::default();
            let of_port = |(port, arrivals): (u16, ArrivalStamps)| {
                let arrivals = match arrivals {
                    ArrivalStamps::XdpProgram => "XDP program",
                    ArrivalStamps::Kernel => "kernel",
                };
                let delays = target.departure_delays.get(&port).unwrap_or(&none);
                (port, (arrivals, delays_of(delays)))
            };
            Ok(target.ports.arrival_stamps().into_iter().map(of_port).collect())
        })
    }

    /// The cores of the loop and of the thread that sends; None where they have none of their own.
    #[getter]
    fn cores(&self) -> (Option<usize>, Option<usize>) {
        (self.cores.program, self.cores.transmitter)
    }

    /// Counts of frames by their fate.
    fn counters(&self, py: Python<'_>) -> PyResult<BTreeMap<String, u64>> {
        guarded(py, || {
            let target = lock(&self.target);
            let drops = target.runner.drops();
            let mut counters = BTreeMap::from([
                ("received".to_string(), target.received),
                ("sent".to_string(), target.sent),
                ("circulating".to_string(), target.runner.circulating() as u64),
                ("drop_unknown_port".to_string(), target.unknown_port),
                ("drop_no_room".to_string(), target.ports.drops()),
                ("drop_refused".to_string(), target.ports.refused()),
                ("drop_no_program".to_string(), drops.no_program),
                ("drop_queue_full".to_string(), drops.queue_full),
                ("drop_loop_full".to_string(), drops.loop_full),
                ("drop_controller_full".to_string(), drops.controller_full),
                ("drop_pass_limit".to_string(), drops.pass_limit),
            ]);
            for (reason, count) in &drops.program {
                counters.insert(format!("drop_program_{reason:?}").to_lowercase(), *count);
            }
            Ok(counters)
        })
    }
}

/// How long frames are on the virtual cable from one interface to another, each read from the kernel's stamp of its
/// departure to that of its arrival, as `access` has it: number, sum in ns, (smallest, largest) or None, and bins as
/// those of `LiveSwitch.stamps`.
#[pyfunction]
#[pyo3(signature = (near, far, access = "best"))]
pub fn cable_delays(py: Python<'_>, near: &str, far: &str, access: &str) -> PyResult<DelaysOf> {
    let access = access_of(access)?;
    guarded(py, || p4mesh_io::cable_delays(near, far, access).map_err(refused).map(|found| delays_of(&found)))
}

fn delays_of(delays: &Delays) -> DelaysOf {
    (delays.count(), delays.sum_ns(), delays.range_ns(), delays.bins().collect())
}

fn access_of(name: &str) -> PyResult<PortAccess> {
    match name {
        "best" => Ok(PortAccess::Best),
        "af_xdp" => Ok(PortAccess::AfXdp),
        "af_packet" => Ok(PortAccess::AfPacket),
        other => Err(refused(format!("access '{other}'; valid: best, af_xdp, af_packet"))),
    }
}

/// Waits for `delay`, then lets the frames of the input files come in.
fn load_after(target: &Mutex<LiveTarget>, delay: Duration, stop: &AtomicBool) -> Result<(), IoError> {
    let end = Instant::now() + delay;
    while Instant::now() < end && !stop.load(Ordering::Relaxed) {
        std::thread::sleep(STOP_POLL.min(end.saturating_duration_since(Instant::now())));
    }
    lock(target).ports.load()
}

fn join(worker: Option<JoinHandle<Result<(), IoError>>>) -> PyResult<()> {
    match worker.map(JoinHandle::join) {
        None | Some(Ok(Ok(()))) => Ok(()),
        Some(Ok(Err(error))) => Err(refused(error)),
        Some(Err(panic)) => std::panic::resume_unwind(panic),
    }
}
