//! Networks of stations and devices, built by hand.

#![allow(dead_code)]

use p4mesh_sim::device::{Device, Station, Stream};
use p4mesh_sim::{DevicePort, Line, Network, NetworkBuilder, STANDARD_GAP_BITS};

/// Picoseconds of one second.
pub const SECOND_PS: u64 = 1_000_000_000_000;

pub fn port(id: u16, rate_bps: u64) -> DevicePort {
    port_with(id, rate_bps, 0, STANDARD_GAP_BITS, 64)
}

pub fn port_with(id: u16, rate_bps: u64, clock_ppb: i64, gap_bits: u32, queue_frames: usize) -> DevicePort {
    DevicePort { id, line: Line::new(rate_bps, clock_ppb, gap_bits), queue_frames }
}

pub fn mac(station: usize) -> [u8; 6] {
    [0x02, 0, 0, 0, 0, station as u8]
}

/// A frame of `wire_bytes` with FCS, from one station to another.
pub fn frame(to: [u8; 6], from: [u8; 6], wire_bytes: usize) -> Vec<u8> {
    let mut frame = vec![0; wire_bytes - 4];
    frame[..6].copy_from_slice(&to);
    frame[6..12].copy_from_slice(&from);
    frame
}

/// A station with port i on port i of a device; returns the network, station first.
pub fn station_and(
    device: Box<dyn Device>,
    station_ports: &[DevicePort],
    device_ports: &[DevicePort],
    streams: Vec<Stream>,
    delay_ps: u64,
) -> Network {
    let mut builder = NetworkBuilder::default();
    let mut station = Station::new(station_ports.len(), streams);
    station.record = true;
    let station = builder.device("station", Box::new(station), station_ports);
    let dut = builder.device("dut", device, device_ports);
    for index in 0..station_ports.len() {
        builder.link((station, index), (dut, index), delay_ps);
    }
    builder.build()
}
