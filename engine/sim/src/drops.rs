//! Reasons why frames end outside of P4: one enum, and its counters.

use std::collections::BTreeMap;

use p4mesh_pipeline::DropReason;

macro_rules! drop_causes {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// Reason why the simulated network dropped a frame.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum DropCause { $($(#[$doc])* $variant,)* }

        impl DropCause {
            pub const ALL: &'static [DropCause] = &[$(DropCause::$variant,)*];

            /// The name in counters and reports.
            pub fn name(self) -> &'static str {
                match self { $(DropCause::$variant => $name,)* }
            }
        }
    };
}

drop_causes! {
    /// `mark_to_drop` in the ingress of the program.
    ProgramIngress = "program_ingress",
    /// `mark_to_drop` in the egress of the program.
    ProgramEgress = "program_egress",
    /// The program replicated to a group without members.
    EmptyMulticastGroup = "empty_multicast_group",
    /// The program chose a port that does not exist.
    UnknownPort = "unknown_port",
    /// The program cloned to a session that does not exist.
    UnknownCloneSession = "unknown_clone_session",
    /// Too many passes in a row, or too many at one instant.
    PassLimit = "pass_limit",
    /// Larger than the target or the device carries.
    Oversize = "oversize",
    /// Smaller than the device forwards, or too short for an Ethernet header.
    Undersize = "undersize",
    /// No program was installed.
    NoProgram = "no_program",
    /// The program repeated a parser state or an action too often within one pass.
    LoopLimit = "loop_limit",
    /// An `assert` or `assume` of the program failed.
    AssertionFailed = "assertion_failed",
    /// The program chose a queue that its port does not have.
    UnknownQueue = "unknown_queue",
    /// The queue of the output port was full.
    QueueFull = "queue_full",
    /// The queue of the recirculation port was full.
    LoopFull = "loop_full",
    /// The controller did not fetch the packet-ins.
    PacketInOverflow = "packet_in_overflow",
    /// The controller did not fetch the digests.
    DigestOverflow = "digest_overflow",
    /// The link was down.
    LinkDown = "link_down",
    /// The port has no link.
    Unconnected = "unconnected",
    /// The destination is behind the port from which the frame came.
    SamePort = "same_port",
    /// There is no other port to which a flooded frame could go.
    NoOutput = "no_output",
    /// More frames per second than the device can look up.
    LookupOverload = "lookup_overload",
    /// More flooded frames per second than the device can replicate.
    BroadcastOverload = "broadcast_overload",
    /// The random loss that the model asks for.
    RandomLoss = "random_loss",
    /// It came at the same moment as a frame of another port.
    SimultaneousArrival = "simultaneous_arrival",
    /// The FCS did not fit.
    BadFcs = "bad_fcs",
    /// A payload other than the one that was sent, at a port of the tester that was told of it.
    DamagedPayload = "damaged_payload",
    /// Addressed to the bridge group 01-80-C2-00-00-0x, which no switch forwards.
    LinkLocal = "link_local",
    /// The port is not a member of the VLAN, or the tag is malformed.
    VlanFilter = "vlan_filter",
    /// More flooded frames per second than the device allows.
    FloodLimit = "flood_limit",
    /// The queue of the input port was full.
    InputQueueFull = "input_queue_full",
    /// The queue of the input in front of the fabric was full.
    FabricQueueFull = "fabric_queue_full",
    /// The buffer that all ports share was full.
    BufferFull = "buffer_full",
    /// A multicast group without members.
    NoMembers = "no_members",
    /// Not addressed to the router, or no protocol that it knows.
    NotRouted = "not_routed",
    /// A damaged IP header.
    BadHeader = "bad_header",
    /// The time to live is over.
    TtlExpired = "ttl_expired",
    /// Multicast that did not come from the port towards its sender (RFC 7761 4.2).
    ReversePath = "reverse_path",
    /// No route to the destination.
    NoRoute = "no_route",
    /// The next hop did not answer, or too many packets wait for it.
    NoNeighbour = "no_neighbour",
    /// The device was reset.
    Reset = "reset",
}

impl From<DropReason> for DropCause {
    fn from(reason: DropReason) -> DropCause {
        match reason {
            DropReason::Ingress => DropCause::ProgramIngress,
            DropReason::Egress => DropCause::ProgramEgress,
            DropReason::EmptyMulticastGroup => DropCause::EmptyMulticastGroup,
            DropReason::UnknownPort => DropCause::UnknownPort,
            DropReason::UnknownCloneSession => DropCause::UnknownCloneSession,
            DropReason::PassLimit => DropCause::PassLimit,
            DropReason::Oversize => DropCause::Oversize,
            DropReason::LoopLimit => DropCause::LoopLimit,
            DropReason::AssertionFailed => DropCause::AssertionFailed,
            DropReason::UnknownQueue => DropCause::UnknownQueue,
        }
    }
}

/// One counter per cause, apart from what each frame needs.
#[derive(Clone, Debug)]
pub struct DropCounters(Box<[u64; DropCause::ALL.len()]>);

impl Default for DropCounters {
    fn default() -> DropCounters {
        DropCounters(Box::new([0; DropCause::ALL.len()]))
    }
}

impl DropCounters {
    #[inline]
    pub fn count(&mut self, cause: DropCause) {
        self.0[cause as usize] += 1;
    }

    pub fn get(&self, cause: DropCause) -> u64 {
        self.0[cause as usize]
    }

    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// The causes that occurred.
    pub fn nonzero(&self) -> BTreeMap<&'static str, u64> {
        let counts = DropCause::ALL.iter().map(|&cause| (cause.name(), self.get(cause)));
        counts.filter(|&(_, count)| count > 0).collect()
    }
}
