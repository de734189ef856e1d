//! The pcap mode of simple_switch (`--use-files`): frames of all input files in time-stamp order
//! through the switch, and what comes out into one file per port.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::{IoError, PcapReader, PcapRecord, PcapWriter, Runner};

/// The files of one port.
#[derive(Clone, Debug)]
pub struct PortFiles {
    pub port: u16,
    pub input: PathBuf,
    pub output: PathBuf,
}

impl PortFiles {
    /// `NAME_in.pcap` and `NAME_out.pcap` in the current directory.
    pub fn of_interface(port: u16, interface: &str) -> PortFiles {
        PortFiles {
            port,
            input: format!("{interface}_in.pcap").into(),
            output: format!("{interface}_out.pcap").into(),
        }
    }
}

/// The output files of a replay. Frames to a port without one are counted.
pub struct Replay {
    outputs: BTreeMap<u16, PcapWriter>,
    pub frames_without_port: u64,
}

impl Replay {
    /// Creates the output files.
    pub fn create(ports: &[PortFiles]) -> Result<Replay, IoError> {
        let mut outputs = BTreeMap::new();
        for files in ports {
            outputs.insert(files.port, PcapWriter::create(&files.output)?);
        }
        Ok(Replay {
            outputs,
            frames_without_port: 0,
        })
    }

    /// Writes a frame that leaves through a port.
    pub fn write(&mut self, port: u16, time_ps: u64, frame: &[u8]) -> Result<(), IoError> {
        match self.outputs.get_mut(&port) {
            Some(writer) => writer.write(time_ps, frame),
            None => {
                self.frames_without_port += 1;
                Ok(())
            }
        }
    }

    /// Writes out what is buffered.
    pub fn flush(&mut self) -> Result<(), IoError> {
        self.outputs.values_mut().try_for_each(PcapWriter::flush)
    }
}

/// All input frames of all ports with their ports, in time-stamp order; frames with one time stamp
/// in the order of the ports.
pub fn read_inputs(ports: &[PortFiles]) -> Result<Vec<(u16, PcapRecord)>, IoError> {
    let mut records = Vec::new();
    for files in ports {
        let mut reader = PcapReader::open(&files.input)?;
        while let Some(record) = reader.next_record()? {
            records.push((files.port, record));
        }
    }
    records.sort_by_key(|(port, record)| (record.time_ps, *port));
    Ok(records)
}

/// Sends all input frames through the switch, one after the other, and writes what comes out.
/// Recirculating packets are followed for `turns_per_frame` turns after each frame.
pub fn replay(
    runner: &mut Runner,
    ports: &[PortFiles],
    turns_per_frame: usize,
    clock: &mut dyn FnMut() -> u64,
) -> Result<u64, IoError> {
    let records = read_inputs(ports)?;
    let mut files = Replay::create(ports)?;
    let mut failure = None;
    let mut time_ps = 0;
    for (port, record) in &records {
        let mut now = || {
            time_ps = clock();
            time_ps
        };
        let mut frame = runner.buffer();
        frame.extend_from_slice(&record.frame);
        let stamp_ps = now();
        let mut send = |port: u16, frame: &[u8]| {
            if let Err(error) = files.write(port, stamp_ps, frame) {
                failure.get_or_insert(error);
            }
        };
        runner.frame(*port, frame, &mut now, &mut send);
        for _ in 0..turns_per_frame {
            if runner.turn(&mut now, &mut send) == 0 {
                break;
            }
        }
        files.flush()?;
    }
    match failure {
        Some(error) => Err(error),
        None => Ok(records.len() as u64),
    }
}
