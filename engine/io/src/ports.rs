//! The port trait: where frames come from and go to.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;
use std::os::fd::RawFd;
use std::path::PathBuf;
use std::sync::mpsc::{sync_channel, Receiver, SyncSender};

use crate::error::IoError;
use crate::pauses::Pauses;
use crate::pcap::{PcapReader, PcapRecord, PcapWriter};

/// Takes what comes in: port, stamp, frame.
pub type Handle<'a> = &'a mut dyn FnMut(u16, Option<u64>, &[u8]);

/// The source of the stamps of arrivals at a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrivalStamps {
    /// The XDP program, as the first to see a frame.
    XdpProgram,
    /// The kernel's receive path.
    Kernel,
}

/// The ports of a switch that runs in wall-clock time.
pub trait Ports: Send {
    /// Hands over frames that wait, with their ports, and the time of arrival in nanoseconds of CLOCK_MONOTONIC where
    /// something else than this process has taken it. Returns how many there were.
    fn receive(&mut self, handle: Handle<'_>) -> Result<usize, IoError>;

    /// Queues a frame for a port; false when there is no such port.
    fn send(&mut self, port: u16, time_ps: u64, frame: &[u8]) -> Result<bool, IoError>;

    /// Sends the queued frames.
    fn flush(&mut self) -> Result<(), IoError>;

    /// Hands over stamps that the kernel has given to departures: port, the `time_ps` of the frame, and nanoseconds of
    /// CLOCK_MONOTONIC.
    fn departures(&mut self, _handle: &mut dyn FnMut(u16, u64, u64)) {}

    /// Whether the kernel is to stamp departures where that costs speed. Nothing may be on its way out.
    fn stamp_departures(&mut self, _wanted: bool) {}

    /// How long frames have waited for the thread that sends them since the last call; none where there is no such one.
    fn take_pauses(&mut self) -> Pauses {
        Pauses::default()
    }

    /// Ports, each with what stamps its arrivals; files have no stamps.
    fn arrival_stamps(&self) -> Vec<(u16, ArrivalStamps)> {
        Vec::new()
    }

    /// Lets the frames of files come in; ports without files have nothing to do.
    fn load(&mut self) -> Result<(), IoError> {
        Ok(())
    }

    /// File descriptors to wait for when there is nothing to do.
    fn descriptors(&self) -> Vec<RawFd>;

    /// True for a port that exists.
    fn has_port(&self, port: u16) -> bool;

    /// Frames that found no room between this and the operating system, on their way out or in.
    fn drops(&self) -> u64 {
        0
    }

    /// Frames that a driver, or the cable behind it, did not take. Of those that have just been sent, some may still be on
    /// their way.
    fn refused(&self) -> u64 {
        0
    }

    /// How each port is reached, in words; files need none.
    fn descriptions(&self) -> Vec<(u16, String)> {
        Vec::new()
    }

    /// Ports, each with whether its link is up; files have no links.
    fn links(&self) -> Vec<(u16, bool)> {
        Vec::new()
    }
}

/// Frames that were read from files and wait.
const READ_AHEAD: usize = 256;

type Input = PcapReader<BufReader<File>>;
type Arrival = Result<(u16, PcapRecord), IoError>;

/// Pcap files, as simple_switch's `--use-files` has them: `NAME_in.pcap` of every port, merged in the order of their
/// time stamps, and `NAME_out.pcap`. Inputs may be pipes that are still written.
pub struct FilePorts {
    /// Until [`Ports::load`], in the order of the ports.
    inputs: Vec<(u16, Input)>,
    arrivals: Option<Receiver<Arrival>>,
    outputs: BTreeMap<u16, PcapWriter>,
}

impl FilePorts {
    /// Creates the output files and checks that the input files can be read; `interfaces` are the
    /// names in front of `_in.pcap` and `_out.pcap`.
    pub fn open(interfaces: &[(u16, String)]) -> Result<FilePorts, IoError> {
        let mut outputs = BTreeMap::new();
        let mut inputs = Vec::new();
        // simple_switch opens them in the order of the ports, and so do programs that write to pipes.
        let mut interfaces: Vec<&(u16, String)> = interfaces.iter().collect();
        interfaces.sort_by_key(|(port, _)| *port);
        for (port, interface) in interfaces {
            let input = PathBuf::from(format!("{interface}_in.pcap"));
            inputs.push((*port, PcapReader::open(&input)?));
            let writer = PcapWriter::create(format!("{interface}_out.pcap").as_ref())?;
            if outputs.insert(*port, writer).is_some() {
                return Err(two_names(*port, interface));
            }
        }
        Ok(FilePorts { inputs, arrivals: None, outputs })
    }
}

/// Reads all inputs; the earliest frame goes first, of equal times that of the lowest port. Ends with the inputs, with
/// an error, or when the receiver of the frames is gone.
fn merge(inputs: Vec<(u16, Input)>, arrivals: &SyncSender<Arrival>) -> Option<()> {
    let mut waiting = Vec::new();
    for (port, mut input) in inputs {
        match input.next_record() {
            Ok(Some(record)) => waiting.push((port, record, input)),
            Ok(None) => {}
            Err(error) => return arrivals.send(Err(error)).ok(),
        }
    }
    let earliest = |waiting: &Vec<(u16, PcapRecord, Input)>| {
        (0..waiting.len()).min_by_key(|index| (waiting[*index].1.time_ps, *index))
    };
    while let Some(index) = earliest(&waiting) {
        let (port, record, mut input) = waiting.remove(index);
        arrivals.send(Ok((port, record))).ok()?;
        match input.next_record() {
            Ok(Some(next)) => waiting.insert(index, (port, next, input)),
            Ok(None) => {}
            Err(error) => return arrivals.send(Err(error)).ok(),
        }
    }
    Some(())
}

impl Ports for FilePorts {
    /// Starts to read the input files, in a thread: a pipe may keep it waiting.
    fn load(&mut self) -> Result<(), IoError> {
        let (sender, receiver) = sync_channel(READ_AHEAD);
        let inputs = std::mem::take(&mut self.inputs);
        std::thread::Builder::new()
            .name("p4mesh-files".to_string())
            .spawn(move || merge(inputs, &sender))
            .map_err(IoError::Thread)?;
        self.arrivals = Some(receiver);
        Ok(())
    }

    /// One frame at a time, so that all its consequences come before the next frame.
    fn receive(&mut self, handle: Handle<'_>) -> Result<usize, IoError> {
        let next = self.arrivals.as_ref().map(Receiver::try_recv);
        let Some(Ok(arrival)) = next else {
            return Ok(0);
        };
        let (port, record) = arrival?;
        handle(port, None, &record.frame);
        Ok(1)
    }

    fn send(&mut self, port: u16, time_ps: u64, frame: &[u8]) -> Result<bool, IoError> {
        match self.outputs.get_mut(&port) {
            Some(writer) => writer.write(time_ps, frame).map(|()| true),
            None => Ok(false),
        }
    }

    fn flush(&mut self) -> Result<(), IoError> {
        self.outputs.values_mut().try_for_each(PcapWriter::flush)
    }

    fn descriptors(&self) -> Vec<RawFd> {
        Vec::new()
    }

    fn has_port(&self, port: u16) -> bool {
        self.outputs.contains_key(&port)
    }
}

pub(crate) fn two_names(port: u16, interface: &str) -> IoError {
    let problem = format!("port {port} has another interface already");
    IoError::Interface { interface: interface.to_string(), problem }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_in_order_of_time_then_port() {
        let directory = std::env::temp_dir().join(format!("p4mesh-ports-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let interface = |name: &str| directory.join(name).to_str().unwrap().to_string();
        // A file whose own times go back keeps its order.
        for (name, times) in [("a", [3, 5, 4]), ("b", [1, 5, 7])] {
            let mut writer = PcapWriter::create(format!("{}_in.pcap", interface(name)).as_ref()).unwrap();
            for time in times {
                writer.write(time as u64 * 1_000_000, &[time as u8; 3]).unwrap();
            }
            writer.flush().unwrap();
        }
        let mut ports = FilePorts::open(&[(7, interface("a")), (2, interface("b"))]).unwrap();
        assert_eq!(ports.receive(&mut |_, _, _| panic!("nothing is loaded yet")).unwrap(), 0);
        ports.load().unwrap();
        let mut seen = Vec::new();
        while seen.len() < 6 {
            ports.receive(&mut |port, _, frame| seen.push((port, frame[0]))).unwrap();
        }
        assert_eq!(seen, [(2, 1), (7, 3), (2, 5), (7, 5), (7, 4), (2, 7)]);
        assert!(ports.send(7, 0, &[]).unwrap());
        assert!(!ports.send(9, 0, &[]).unwrap());
        ports.flush().unwrap();
        let output = PathBuf::from(format!("{}_out.pcap", interface("a")));
        assert_eq!(
            PcapReader::open(&output).unwrap().next_record().unwrap().unwrap().frame,
            Vec::<u8>::new()
        );
        std::fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn a_missing_file_is_named() {
        let error = |result: Result<(), IoError>| result.unwrap_err().to_string();
        let message = error(FilePorts::open(&[(1, "/nowhere/x".to_string())]).map(|_| ()));
        assert_eq!(message, "/nowhere/x_in.pcap: cannot open: No such file or directory (os error 2)");
    }
}
