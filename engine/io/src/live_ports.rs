//! The ports of a switch that are Linux interfaces, each reached by AF_XDP or AF_PACKET.

mod cable;

use std::os::fd::{AsRawFd, RawFd};

use crate::affinity::Cores;
use crate::ports::{two_names, ArrivalStamps, Handle};
use crate::transmitter::{Outlet, Transmitter};
use crate::xdp_port::{XdpPort, MAX_XDP_FRAME_BYTES};
use crate::xdp_program::XdpMode;
use crate::xdp_sender::XdpSender;
use crate::{IoError, PacketSocket, Pauses, Ports};

pub use cable::cable_delays;

/// How interfaces are reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortAccess {
    /// AF_XDP where the kernel has it, else AF_PACKET; [`Ports::descriptions`] says which. Frames that the kernel is not to
    /// stamp leave as frames of XDP where the drivers of all interfaces take them.
    Best,
    /// The rings of AF_XDP alone.
    AfXdp,
    AfPacket,
}

/// Linux interfaces.
pub struct LivePorts {
    // The order matters: the thread ends before the sockets that it uses.
    transmitter: Transmitter,
    /// Where all interfaces take frames of XDP.
    xdp_sender: Option<XdpSender>,
    /// Frames leave by it for now.
    sends_xdp: bool,
    ports: Vec<Port>,
    /// Place in `ports` by number of the port.
    places: Vec<Option<usize>>,
}

struct Port {
    number: u16,
    io: PortIo,
}

enum PortIo {
    Packet(PacketSocket),
    Xdp(XdpPort),
}

impl PortIo {
    /// Hands over frames that wait, each with nanoseconds of CLOCK_MONOTONIC where something has stamped it.
    pub(crate) fn receive(&mut self, handle: &mut dyn FnMut(Option<u64>, &[u8])) -> Result<usize, IoError> {
        match self {
            PortIo::Packet(socket) => socket.receive(handle),
            PortIo::Xdp(port) => port.receive(handle),
        }
    }
}

impl LivePorts {
    /// Opens the interfaces; needs CAP_NET_RAW, and for AF_XDP CAP_NET_ADMIN and CAP_BPF.
    pub fn open(
        interfaces: &[(u16, String)],
        access: PortAccess,
        cores: &Cores,
    ) -> Result<LivePorts, IoError> {
        let mut ports = Vec::new();
        let mut places = vec![None; 1 + usize::from(u16::MAX)];
        for (number, interface) in interfaces {
            if places[usize::from(*number)].replace(ports.len()).is_some() {
                return Err(two_names(*number, interface));
            }
            ports.push(Port { number: *number, io: open(interface, access, interfaces.len())? });
        }
        let outlets = ports.iter_mut().map(|port| match &mut port.io {
            PortIo::Packet(socket) => Outlet { socket: socket.as_raw_fd(), ring: None },
            PortIo::Xdp(port) => port.outlet(),
        });
        let outlets = outlets.collect();
        let uses_rings = ports.iter().any(|port| matches!(port.io, PortIo::Xdp(_)));
        let none = Cores::default();
        let cores = if uses_rings { cores } else { &none };
        let all_xdp = ports.iter().all(|port| matches!(port.io, PortIo::Xdp(_)));
        let may_send_xdp = access == PortAccess::Best && all_xdp && cores.transmitter.is_some();
        let xdp_sender = if may_send_xdp { XdpSender::open(xdp_ports(&ports)) } else { None };
        let transmitter = Transmitter::start(outlets, xdp_sender.as_ref().map(XdpSender::ring), cores)?;
        Ok(LivePorts { transmitter, xdp_sender, sends_xdp: false, ports, places })
    }
}

fn xdp_ports(ports: &[Port]) -> impl Iterator<Item = &XdpPort> + Clone {
    ports.iter().filter_map(|port| match &port.io {
        PortIo::Xdp(port) => Some(port),
        PortIo::Packet(_) => None,
    })
}

/// Opens one of `ports` interfaces.
fn open(interface: &str, access: PortAccess, ports: usize) -> Result<PortIo, IoError> {
    match access {
        PortAccess::AfPacket => PacketSocket::open(interface).map(PortIo::Packet),
        PortAccess::AfXdp => XdpPort::open(interface, ports).map(PortIo::Xdp),
        PortAccess::Best => match XdpPort::open(interface, ports) {
            Ok(port) => Ok(PortIo::Xdp(port)),
            Err(error @ IoError::Interface { .. }) => Err(error),
            Err(_) => PacketSocket::open(interface).map(PortIo::Packet),
        },
    }
}

impl Ports for LivePorts {
    fn receive(&mut self, handle: Handle<'_>) -> Result<usize, IoError> {
        let mut count = 0;
        for port in &mut self.ports {
            let number = port.number;
            count += port.io.receive(&mut |stamp, frame| handle(number, stamp, frame))?;
        }
        Ok(count)
    }

    fn send(&mut self, port: u16, time_ps: u64, frame: &[u8]) -> Result<bool, IoError> {
        let Some(place) = self.places[usize::from(port)] else {
            return Ok(false);
        };
        let transmitter = &self.transmitter;
        match &mut self.ports[place].io {
            PortIo::Packet(socket) => socket.send(time_ps, frame)?,
            PortIo::Xdp(port) => match &mut self.xdp_sender {
                Some(sender) if self.sends_xdp && frame.len() <= MAX_XDP_FRAME_BYTES => {
                    sender.send(port.index() as u16, frame, transmitter);
                }
                _ => port.send(time_ps, frame, &mut || transmitter.notify(place))?,
            },
        }
        Ok(true)
    }

    fn flush(&mut self) -> Result<(), IoError> {
        let transmitter = &self.transmitter;
        if let Some(sender) = self.xdp_sender.as_mut().filter(|_| self.sends_xdp) {
            sender.flush(transmitter);
        }
        for (place, port) in self.ports.iter_mut().enumerate() {
            match &mut port.io {
                PortIo::Packet(socket) => socket.flush()?,
                PortIo::Xdp(port) => {
                    if port.flush(&mut || transmitter.notify(place))? {
                        transmitter.notify(place);
                    }
                }
            }
        }
        Ok(())
    }

    fn departures(&mut self, handle: &mut dyn FnMut(u16, u64, u64)) {
        for port in &mut self.ports {
            let number = port.number;
            let mut handle = |time_ps, stamp_ns| handle(number, time_ps, stamp_ns);
            match &mut port.io {
                PortIo::Packet(socket) => socket.departures(&mut handle),
                PortIo::Xdp(port) => port.departures(&mut handle),
            }
        }
    }

    fn descriptors(&self) -> Vec<RawFd> {
        let of_port = |port: &Port| match &port.io {
            PortIo::Packet(socket) => vec![socket.as_raw_fd()],
            PortIo::Xdp(port) => port.descriptors().collect(),
        };
        self.ports.iter().flat_map(of_port).collect()
    }

    fn has_port(&self, port: u16) -> bool {
        self.places[usize::from(port)].is_some()
    }

    fn drops(&self) -> u64 {
        let of_port = |port: &Port| match &port.io {
            PortIo::Packet(socket) => socket.receive_drops(),
            PortIo::Xdp(port) => port.drops(),
        };
        self.ports.iter().map(of_port).sum::<u64>() + self.xdp_sender.as_ref().map_or(0, XdpSender::drops)
    }

    fn refused(&self) -> u64 {
        let of_port = |port: &Port| match &port.io {
            PortIo::Packet(socket) => socket.refused,
            PortIo::Xdp(port) => port.refused(),
        };
        let by_xdp = self.xdp_sender.as_ref().map_or(0, |sender| sender.refused(xdp_ports(&self.ports)));
        self.ports.iter().map(of_port).sum::<u64>() + by_xdp
    }

    fn descriptions(&self) -> Vec<(u16, String)> {
        let described = |port: &Port| {
            let text = match &port.io {
                PortIo::Packet(_) => "AF_PACKET".to_string(),
                PortIo::Xdp(xdp) => {
                    let mode = match xdp.mode() {
                        XdpMode::Driver => "in the driver",
                        XdpMode::Generic => "generic",
                    };
                    let sends = if self.xdp_sender.is_some() { " and frames of XDP" } else { "" };
                    format!("AF_XDP{sends}, program {mode}, {} queues", xdp.queue_count())
                }
            };
            (port.number, text)
        };
        self.ports.iter().map(described).collect()
    }

    fn stamp_departures(&mut self, wanted: bool) {
        self.sends_xdp = !wanted && self.xdp_sender.is_some();
        if !self.sends_xdp {
            self.transmitter.have_back();
        }
        for port in &mut self.ports {
            match &mut port.io {
                PortIo::Packet(socket) => socket.stamp_departures(wanted),
                PortIo::Xdp(port) => port.stamp_departures(wanted),
            }
        }
    }

    fn take_pauses(&mut self) -> Pauses {
        let of_sender = self.xdp_sender.as_mut().map(XdpSender::take_pauses).unwrap_or_default();
        self.transmitter.take_pauses().with(of_sender)
    }

    fn arrival_stamps(&self) -> Vec<(u16, ArrivalStamps)> {
        let of_port = |port: &Port| match &port.io {
            PortIo::Packet(_) => ArrivalStamps::Kernel,
            PortIo::Xdp(_) => ArrivalStamps::XdpProgram,
        };
        self.ports.iter().map(|port| (port.number, of_port(port))).collect()
    }

    fn links(&self) -> Vec<(u16, bool)> {
        let up = |port: &Port| match &port.io {
            PortIo::Packet(socket) => socket.is_up(),
            PortIo::Xdp(port) => port.is_up(),
        };
        self.ports.iter().map(|port| (port.number, up(port))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_interface_is_named() {
        let interfaces = [(1, "nosuchif0".to_string())];
        for access in [PortAccess::Best, PortAccess::AfXdp, PortAccess::AfPacket] {
            let opened = LivePorts::open(&interfaces, access, &Cores::default());
            let message = opened.map(|_| ()).unwrap_err().to_string();
            assert_eq!(message, "interface 'nosuchif0': no such interface");
        }
    }
}
