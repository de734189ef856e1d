//! A host on a wire: addresses, TCP connections and datagrams by smoltcp.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use p4mesh_wire::ipv6::link_local;
use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{Checksum, Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::{tcp, udp};
use smoltcp::time::{Duration, Instant};
use smoltcp::wire::{EthernetAddress, IpCidr, IpListenEndpoint};

use crate::{Nanoseconds, NS_PER_US};

/// Ethernet header and the largest IP packet of an ordinary network.
const FRAME_BYTES: usize = 1514;
const TCP_BUFFER_BYTES: usize = 65_535;
/// Proves to the receiver that a packet has crossed no router (RFC 5082, RFC 5881 section 5).
const HOP_LIMIT: u8 = 255;
const ACK_DELAY: Duration = Duration::from_millis(10);
/// Dynamic ports (RFC 6335 section 6); BFD wants its source port from them, too.
const FIRST_DYNAMIC_PORT: u16 = 49_152;
const DATAGRAMS: usize = 32;
const DATAGRAM_BYTES: usize = 2_048;

/// An IPv4 address with the length of its network's prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ipv4Interface {
    pub address: Ipv4Addr,
    pub prefix_bits: u8,
}

/// An IPv6 address with the length of its network's prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ipv6Interface {
    pub address: Ipv6Addr,
    pub prefix_bits: u8,
}

/// Addresses of a host. Its IPv6 link-local address is made from `mac` (RFC 4291 appendix A).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostAddresses {
    pub mac: [u8; 6],
    pub ipv4: Option<Ipv4Interface>,
    pub ipv6: Option<Ipv6Interface>,
}

impl HostAddresses {
    /// The address that the host uses towards a neighbour on the wire.
    pub fn towards(&self, neighbour: IpAddr) -> Option<IpAddr> {
        match neighbour {
            IpAddr::V4(_) => self.ipv4.map(|own| IpAddr::V4(own.address)),
            IpAddr::V6(_) => self.ipv6.map(|own| IpAddr::V6(own.address)),
        }
    }
}

/// State of a TCP connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Connection {
    /// The three-way handshake is not done.
    Opening,
    Open,
    Closed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TcpHandle(SocketHandle);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UdpHandle(SocketHandle);

/// The stack of one host.
pub(crate) struct Host {
    interface: Interface,
    sockets: SocketSet<'static>,
    wire: Wire,
    next_port: u16,
    polled_us: u64,
}

impl Host {
    /// `seed` decides the numbers that TCP draws.
    pub fn new(addresses: &HostAddresses, seed: u64, now: Nanoseconds) -> Host {
        let mut wire = Wire::default();
        let mut config = Config::new(EthernetAddress(addresses.mac).into());
        config.random_seed = seed;
        let mut interface = Interface::new(config, &mut wire, instant(now));
        interface.update_ip_addrs(|own| {
            let ipv4 = addresses.ipv4.map(|it| IpCidr::new(it.address.into(), it.prefix_bits));
            let ipv6 = addresses.ipv6.map(|it| IpCidr::new(it.address.into(), it.prefix_bits));
            let link_local = ipv6.map(|_| IpCidr::new(link_local(addresses.mac).into(), 64));
            for address in [ipv4, ipv6, link_local].into_iter().flatten() {
                own.push(address).expect("smoltcp is built for eight addresses");
            }
        });
        Host {
            interface,
            sockets: SocketSet::new(Vec::new()),
            wire,
            next_port: FIRST_DYNAMIC_PORT,
            polled_us: 0,
        }
    }

    /// Has packets go by way of a router to hosts that are not on the wire, from an own address, which may be on no wire.
    pub fn add_way(&mut self, source: IpAddr, gateway: IpAddr) {
        self.interface.update_ip_addrs(|own| {
            if !own.iter().any(|it| IpAddr::from(it.address()) == source) {
                let bits = if source.is_ipv4() { 32 } else { 128 };
                own.push(IpCidr::new(source.into(), bits))
                    .expect("the owner gives as many as there is room for");
            }
        });
        let routes = self.interface.routes_mut();
        match gateway {
            IpAddr::V4(gateway) => routes.add_default_ipv4_route(gateway),
            IpAddr::V6(gateway) => routes.add_default_ipv6_route(gateway),
        }
        .expect("there is room for a route of each family");
    }

    /// Takes a frame without FCS from the wire; [`Host::poll`] handles it.
    pub fn take_frame(&mut self, frame: &[u8]) {
        self.wire.arrived.push_back(frame.to_vec());
    }

    /// Lets the stack handle frames and timers. Returns true when a socket may have changed.
    pub fn poll(&mut self, now: Nanoseconds) -> bool {
        use smoltcp::iface::PollResult::SocketStateChanged;
        self.polled_us = now / NS_PER_US;
        self.interface.poll(instant(now), &mut self.wire, &mut self.sockets) == SocketStateChanged
    }

    /// Returns the frames that leave, in order.
    pub fn leaving(&mut self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.wire.leaving)
    }

    /// Time of the next timer of the stack.
    pub fn next_event(&mut self, now: Nanoseconds) -> Option<Nanoseconds> {
        let at = self.interface.poll_at(instant(now), &self.sockets)?;
        // smoltcp counts microseconds: work that is left in this one waits for the next.
        Some((at.total_micros().max(0) as u64).max(self.polled_us + 1) * NS_PER_US)
    }

    pub fn add_tcp(&mut self) -> TcpHandle {
        let buffer = || tcp::SocketBuffer::new(vec![0; TCP_BUFFER_BYTES]);
        let mut socket = tcp::Socket::new(buffer(), buffer());
        socket.set_nagle_enabled(false);
        socket.set_ack_delay(Some(ACK_DELAY));
        socket.set_hop_limit(Some(HOP_LIMIT));
        TcpHandle(self.sockets.add(socket))
    }

    /// Begins to connect, from the address that fits that of the peer where none is given. Errors: no address of the host
    /// fits.
    pub fn connect(&mut self, handle: TcpHandle, from: Option<IpAddr>, to: SocketAddr) -> Result<(), String> {
        let port = self.dynamic_port();
        let socket = self.sockets.get_mut::<tcp::Socket>(handle.0);
        let local = IpListenEndpoint { addr: from.map(Into::into), port };
        socket.connect(self.interface.context(), to, local).map_err(|error| error.to_string())
    }

    /// Waits for a connection to one of the host's own ports.
    pub fn listen(&mut self, handle: TcpHandle, port: u16) {
        let socket = self.sockets.get_mut::<tcp::Socket>(handle.0);
        if !socket.is_open() {
            socket.listen(port).expect("a port that is not zero, on a closed socket");
        }
    }

    pub fn connection(&self, handle: TcpHandle) -> Connection {
        let socket = self.sockets.get::<tcp::Socket>(handle.0);
        match socket.state() {
            tcp::State::Established => Connection::Open,
            tcp::State::Listen | tcp::State::SynSent | tcp::State::SynReceived => Connection::Opening,
            // The peer has closed its half: what it has sent before is still read.
            tcp::State::CloseWait if socket.can_recv() => Connection::Open,
            _ => Connection::Closed,
        }
    }

    /// The far end of a connection.
    pub fn remote(&self, handle: TcpHandle) -> Option<IpAddr> {
        self.sockets.get::<tcp::Socket>(handle.0).remote_endpoint().map(|it| it.addr.into())
    }

    /// Sends what fits into the connection's buffer. Returns how many bytes that were.
    pub fn send(&mut self, handle: TcpHandle, bytes: &[u8]) -> usize {
        self.sockets.get_mut::<tcp::Socket>(handle.0).send_slice(bytes).unwrap_or(0)
    }

    /// True when the far end has acknowledged everything.
    pub fn all_acknowledged(&self, handle: TcpHandle) -> bool {
        self.sockets.get::<tcp::Socket>(handle.0).send_queue() == 0
    }

    /// Returns the bytes that have arrived in order.
    pub fn receive(&mut self, handle: TcpHandle) -> Vec<u8> {
        let socket = self.sockets.get_mut::<tcp::Socket>(handle.0);
        let mut received = Vec::new();
        while socket.can_recv() {
            let taken = socket.recv(|bytes| {
                received.extend_from_slice(bytes);
                (bytes.len(), ())
            });
            if taken.is_err() {
                break;
            }
        }
        received
    }

    /// Closes a connection after its buffer is sent.
    pub fn close(&mut self, handle: TcpHandle) {
        self.sockets.get_mut::<tcp::Socket>(handle.0).close();
    }

    /// Breaks a connection off, so that its socket can be used again.
    pub fn abort(&mut self, handle: TcpHandle) {
        self.sockets.get_mut::<tcp::Socket>(handle.0).abort();
    }

    /// A socket for datagrams on a port of the host, or on a dynamic one.
    pub fn add_udp(&mut self, port: Option<u16>) -> UdpHandle {
        let buffer = || {
            let slots = vec![udp::PacketMetadata::EMPTY; DATAGRAMS];
            udp::PacketBuffer::new(slots, vec![0; DATAGRAM_BYTES])
        };
        let mut socket = udp::Socket::new(buffer(), buffer());
        let port = port.unwrap_or_else(|| self.dynamic_port());
        socket.bind(port).expect("a port that is not zero, on a new socket");
        socket.set_hop_limit(Some(HOP_LIMIT));
        UdpHandle(self.sockets.add(socket))
    }

    /// Sends a datagram; drops it when the buffer is full, as a wire may.
    pub fn send_datagram(&mut self, handle: UdpHandle, to: SocketAddr, bytes: &[u8]) {
        let _ = self.sockets.get_mut::<udp::Socket>(handle.0).send_slice(bytes, to);
    }

    /// Returns the datagrams that have arrived, with their senders.
    pub fn datagrams(&mut self, handle: UdpHandle) -> Vec<(IpAddr, Vec<u8>)> {
        let socket = self.sockets.get_mut::<udp::Socket>(handle.0);
        let mut received = Vec::new();
        while let Ok((bytes, about)) = socket.recv() {
            received.push((about.endpoint.addr.into(), bytes.to_vec()));
        }
        received
    }

    fn dynamic_port(&mut self) -> u16 {
        let port = self.next_port;
        self.next_port = port.checked_add(1).unwrap_or(FIRST_DYNAMIC_PORT);
        port
    }
}

fn instant(now: Nanoseconds) -> Instant {
    Instant::from_micros((now / NS_PER_US) as i64)
}

/// The wire as smoltcp sees it: frames that have arrived, and frames that leave.
#[derive(Default)]
struct Wire {
    arrived: VecDeque<Vec<u8>>,
    leaving: Vec<Vec<u8>>,
}

struct Arrived(Vec<u8>);

struct Leaving<'a>(&'a mut Vec<Vec<u8>>);

impl RxToken for Arrived {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, read: F) -> R {
        read(&self.0)
    }
}

impl TxToken for Leaving<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, bytes: usize, write: F) -> R {
        let mut frame = vec![0; bytes];
        let result = write(&mut frame);
        self.0.push(frame);
        result
    }
}

impl Device for Wire {
    type RxToken<'a> = Arrived;
    type TxToken<'a> = Leaving<'a>;

    fn receive(&mut self, _: Instant) -> Option<(Arrived, Leaving<'_>)> {
        let frame = self.arrived.pop_front()?;
        Some((Arrived(frame), Leaving(&mut self.leaving)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Leaving<'_>> {
        Some(Leaving(&mut self.leaving))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ethernet;
        capabilities.max_transmission_unit = FRAME_BYTES;
        // Linux leaves them to the interface, and veth leaves them out: a router in a namespace or a container sends
        // none. Damage on the wire is the business of the FCS.
        capabilities.checksum.tcp = Checksum::Tx;
        capabilities.checksum.udp = Checksum::Tx;
        capabilities
    }
}
