//! Ports whose frames are written to pcap files as they come and go.

use std::collections::BTreeMap;
use std::os::fd::RawFd;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::error::IoError;
use crate::pauses::Pauses;
use crate::pcap::PcapWriter;
use crate::ports::{ArrivalStamps, Handle, Ports};

/// NAME_in.pcap and NAME_out.pcap of each port.
struct Files {
    arrivals: PcapWriter,
    departures: PcapWriter,
}

/// Other ports, with their files.
pub struct CapturedPorts {
    ports: Box<dyn Ports>,
    files: BTreeMap<u16, Files>,
}

impl CapturedPorts {
    /// Writes the frames of the ports [(port, name)] into files in `directory`.
    ///
    /// # Errors
    /// A file cannot be made.
    pub fn create(
        ports: Box<dyn Ports>,
        interfaces: &[(u16, String)],
        directory: &Path,
    ) -> Result<CapturedPorts, IoError> {
        let mut files = BTreeMap::new();
        for (port, name) in interfaces {
            let file = |way: &str| PcapWriter::create(&directory.join(format!("{name}_{way}.pcap")));
            files.insert(*port, Files { arrivals: file("in")?, departures: file("out")? });
        }
        Ok(CapturedPorts { ports, files })
    }
}

/// Picoseconds of the wall clock, which stamps the frames.
fn wall_ps() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos() * 1_000)
}

impl Ports for CapturedPorts {
    fn receive(&mut self, handle: Handle<'_>) -> Result<usize, IoError> {
        let CapturedPorts { ports, files } = self;
        let mut failure = None;
        let count = ports.receive(&mut |port, stamp, frame| {
            if let Some(files) = files.get_mut(&port) {
                failure = failure.take().or(files.arrivals.write(wall_ps(), frame).err());
            }
            handle(port, stamp, frame);
        })?;
        failure.map_or(Ok(count), Err)
    }

    fn send(&mut self, port: u16, time_ps: u64, frame: &[u8]) -> Result<bool, IoError> {
        if let Some(files) = self.files.get_mut(&port) {
            files.departures.write(wall_ps(), frame)?;
        }
        self.ports.send(port, time_ps, frame)
    }

    fn flush(&mut self) -> Result<(), IoError> {
        for files in self.files.values_mut() {
            files.arrivals.flush()?;
            files.departures.flush()?;
        }
        self.ports.flush()
    }

    fn departures(&mut self, handle: &mut dyn FnMut(u16, u64, u64)) {
        self.ports.departures(handle);
    }

    fn stamp_departures(&mut self, wanted: bool) {
        self.ports.stamp_departures(wanted);
    }

    fn take_pauses(&mut self) -> Pauses {
        self.ports.take_pauses()
    }

    fn arrival_stamps(&self) -> Vec<(u16, ArrivalStamps)> {
        self.ports.arrival_stamps()
    }

    fn load(&mut self) -> Result<(), IoError> {
        self.ports.load()
    }

    fn descriptors(&self) -> Vec<RawFd> {
        self.ports.descriptors()
    }

    fn has_port(&self, port: u16) -> bool {
        self.ports.has_port(port)
    }

    fn drops(&self) -> u64 {
        self.ports.drops()
    }

    fn refused(&self) -> u64 {
        self.ports.refused()
    }

    fn descriptions(&self) -> Vec<(u16, String)> {
        self.ports.descriptions()
    }

    fn links(&self) -> Vec<(u16, bool)> {
        self.ports.links()
    }
}
