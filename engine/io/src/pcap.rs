//! Classic pcap files: both byte orders, micro- and nanosecond time stamps, and frames of whatever link
//! type the file names (simple_switch, and scripts around it, write 0).

use std::fs::File;
use std::io::{self, BufReader, BufWriter, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use crate::error::IoError;

const MAGIC_MICROSECONDS: u32 = 0xa1b2_c3d4;
const MAGIC_NANOSECONDS: u32 = 0xa1b2_3c4d;
const ETHERNET: u32 = 1;
/// Longest valid record; a longer one means a damaged file.
const MAX_RECORD_BYTES: u32 = 1 << 18;

/// One frame of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PcapRecord {
    /// Since the epoch of the file.
    pub time_ps: u128,
    pub frame: Vec<u8>,
}

/// Reads a file from the beginning.
#[derive(Debug)]
pub struct PcapReader<R> {
    path: PathBuf,
    input: R,
    big_endian: bool,
    ps_per_fraction: u128,
}

impl PcapReader<BufReader<File>> {
    /// Opens a file and reads its header.
    pub fn open(path: &Path) -> Result<Self, IoError> {
        let file =
            File::open(path).map_err(|source| IoError::File { path: path.into(), action: "open", source })?;
        PcapReader::new(path, BufReader::new(file))
    }
}

impl<R: Read> PcapReader<R> {
    /// Reads the header; `path` is for messages.
    pub fn new(path: &Path, mut input: R) -> Result<Self, IoError> {
        let malformed = |problem: String| IoError::Pcap { path: path.into(), problem };
        let mut header = [0; 24];
        input.read_exact(&mut header).map_err(|error| malformed(format!("no pcap header: {error}")))?;
        let word = |at: usize| u32::from_be_bytes(header[at..at + 4].try_into().expect("four bytes"));
        let (big_endian, magic) = match word(0) {
            magic @ (MAGIC_MICROSECONDS | MAGIC_NANOSECONDS) => (true, magic),
            magic => (false, magic.swap_bytes()),
        };
        let ps_per_fraction = match magic {
            MAGIC_MICROSECONDS => 1_000_000,
            MAGIC_NANOSECONDS => 1_000,
            _ => return Err(malformed(format!("not a pcap file: it begins with {:08x}", word(0)))),
        };
        Ok(PcapReader { path: path.into(), input, big_endian, ps_per_fraction })
    }

    /// The next frame; `None` at the end of the file.
    pub fn next_record(&mut self) -> Result<Option<PcapRecord>, IoError> {
        let mut header = [0; 16];
        match fill(&mut self.input, &mut header) {
            Ok(0) => return Ok(None),
            Ok(16) => {}
            Ok(_) => return Err(self.malformed("the last record is cut off".to_string())),
            Err(error) => return Err(self.malformed(error.to_string())),
        }
        let word = |at: usize| {
            let bytes = header[at..at + 4].try_into().expect("four bytes");
            if self.big_endian {
                u32::from_be_bytes(bytes)
            } else {
                u32::from_le_bytes(bytes)
            }
        };
        let length = word(8);
        if length > MAX_RECORD_BYTES {
            return Err(
                self.malformed(format!("a record of {length} bytes; the limit is {MAX_RECORD_BYTES}"))
            );
        }
        if word(12) != length {
            return Err(
                self.malformed(format!("a record has {length} of the {} bytes of its frame", word(12)))
            );
        }
        let time_ps = u128::from(word(0)) * 1_000_000_000_000 + u128::from(word(4)) * self.ps_per_fraction;
        let mut frame = vec![0; length as usize];
        self.input
            .read_exact(&mut frame)
            .map_err(|_| self.malformed("the last record is cut off".to_string()))?;
        Ok(Some(PcapRecord { time_ps, frame }))
    }

    fn malformed(&self, problem: String) -> IoError {
        IoError::Pcap { path: self.path.clone(), problem }
    }
}

/// Reads until the buffer is full or the input ends; returns how much there was.
fn fill(input: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match input.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// Writes a file with microsecond time stamps, as simple_switch does.
#[derive(Debug)]
pub struct PcapWriter {
    path: PathBuf,
    output: BufWriter<File>,
}

impl PcapWriter {
    /// Creates or empties a file and writes its header.
    pub fn create(path: &Path) -> Result<PcapWriter, IoError> {
        let file = File::create(path).map_err(|source| IoError::File {
            path: path.into(),
            action: "create",
            source,
        })?;
        let mut writer = PcapWriter { path: path.into(), output: BufWriter::new(file) };
        let mut header = [0; 24];
        header[..4].copy_from_slice(&MAGIC_MICROSECONDS.to_le_bytes());
        header[4..6].copy_from_slice(&2u16.to_le_bytes());
        header[6..8].copy_from_slice(&4u16.to_le_bytes());
        header[16..20].copy_from_slice(&65_535u32.to_le_bytes());
        header[20..].copy_from_slice(&ETHERNET.to_le_bytes());
        writer.output.write_all(&header).map_err(|source| writer.failed(source))?;
        writer.flush()?;
        Ok(writer)
    }

    /// Appends a frame.
    pub fn write(&mut self, time_ps: impl Into<u128>, frame: &[u8]) -> Result<(), IoError> {
        let time_ps = time_ps.into();
        let seconds = (time_ps / 1_000_000_000_000) as u32;
        let microseconds = (time_ps / 1_000_000 % 1_000_000) as u32;
        let length = frame.len() as u32;
        let mut header = [0; 16];
        for (at, word) in [seconds, microseconds, length, length].into_iter().enumerate() {
            header[4 * at..4 * at + 4].copy_from_slice(&word.to_le_bytes());
        }
        let written = self.output.write_all(&header).and_then(|()| self.output.write_all(frame));
        written.map_err(|source| self.failed(source))
    }

    /// Writes out the buffer.
    pub fn flush(&mut self) -> Result<(), IoError> {
        self.output.flush().map_err(|source| self.failed(source))
    }

    fn failed(&self, source: io::Error) -> IoError {
        IoError::File { path: self.path.clone(), action: "write", source }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_all(bytes: &[u8]) -> Result<Vec<PcapRecord>, IoError> {
        let mut reader = PcapReader::new(Path::new("x.pcap"), bytes)?;
        std::iter::from_fn(|| reader.next_record().transpose()).collect()
    }

    #[test]
    fn frames_of_any_length_survive_a_round_trip() {
        let path = std::env::temp_dir().join(format!("p4mesh-io-{}.pcap", std::process::id()));
        let mut writer = PcapWriter::create(&path).unwrap();
        let lengths = [0usize, 1, 14, 60, 9_212, 65_535];
        for (index, &length) in lengths.iter().enumerate() {
            writer.write(1_234_567_000_000u64 + index as u64 * 1_000_000, &vec![7; length]).unwrap();
        }
        writer.flush().unwrap();
        let records = read_all(&std::fs::read(&path).unwrap()).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(records.iter().map(|it| it.frame.len()).collect::<Vec<_>>(), lengths);
        assert_eq!(records[1].time_ps, 1_234_568_000_000);
    }

    #[test]
    fn nanoseconds_and_the_other_byte_order_are_understood() {
        let mut bytes = Vec::new();
        for word in [MAGIC_NANOSECONDS, 0x0002_0004, 0, 0, 65_535, ETHERNET, 3, 5, 2, 2] {
            bytes.extend_from_slice(&word.to_be_bytes());
        }
        bytes.extend_from_slice(&[1, 2]);
        let expected = PcapRecord { time_ps: 3_000_000_005_000, frame: vec![1, 2] };
        assert_eq!(read_all(&bytes).unwrap(), [expected]);
    }

    #[test]
    fn damaged_files_are_refused() {
        let mut good = Vec::new();
        for word in [MAGIC_MICROSECONDS, 0x0004_0002, 0, 0, 65_535, ETHERNET, 0, 0, 4, 4, 0] {
            good.extend_from_slice(&word.to_le_bytes());
        }
        assert_eq!(read_all(&good).unwrap().len(), 1);
        let message = |bytes: &[u8]| read_all(bytes).unwrap_err().to_string();
        assert_eq!(message(&good[..43]), "x.pcap: the last record is cut off");
        assert_eq!(message(&good[..30]), "x.pcap: the last record is cut off");
        assert_eq!(message(&[0; 24]), "x.pcap: not a pcap file: it begins with 00000000");
        assert!(message(&[]).starts_with("x.pcap: no pcap header"));
        good[20] = 0;
        assert_eq!(read_all(&good).unwrap().len(), 1);
        good[36] = 5;
        assert_eq!(message(&good), "x.pcap: a record has 4 of the 5 bytes of its frame");
        good[35] = 0xff;
        assert!(message(&good).contains("the limit is 262144"));
    }
}
