//! Takes messages out of what a neighbour has sent, UPDATEs without what is malformed in them.

use netgauze_bgp_pkt::iana::BgpMessageType;
use netgauze_bgp_pkt::notification::BgpNotificationMessage;
use netgauze_bgp_pkt::wire::deserializer::{BgpMessageParsingError, BgpParsingContext};
use netgauze_bgp_pkt::BgpMessage;
use netgauze_parse_utils::{LocatedParsingError, ReadablePduWithOneInput, Span};

use super::messages::{HEADER_BYTES, MAX_MESSAGE_BYTES};
use super::sifting::sift;

/// A message of the neighbour.
pub(crate) struct Received {
    pub message: BgpMessage,
    /// An UPDATE had a malformed attribute for which its routes are withdrawn (RFC 7606 section 2).
    pub withdraws: bool,
}

/// A message that ends the session: what the neighbour is told, and what is wrong.
pub(crate) struct Malformed {
    pub told: BgpNotificationMessage,
    pub problem: String,
}

/// Takes the first message out of a stream; `None` while it is not complete. `internal`: the neighbour is of the same
/// AS.
pub(crate) fn decode(
    stream: &mut Vec<u8>,
    context: &mut BgpParsingContext,
    internal: bool,
) -> Option<Result<Received, Malformed>> {
    if stream.len() < HEADER_BYTES {
        return None;
    }
    let bytes = usize::from(u16::from_be_bytes([stream[16], stream[17]]));
    // The parser refuses an impossible length.
    if stream.len() < bytes && (HEADER_BYTES..=MAX_MESSAGE_BYTES).contains(&bytes) {
        return None;
    }
    let taken: Vec<u8> = stream.drain(..bytes.clamp(HEADER_BYTES, stream.len())).collect();
    Some(read(taken, context, internal))
}

fn read(taken: Vec<u8>, context: &mut BgpParsingContext, internal: bool) -> Result<Received, Malformed> {
    let is_update = taken[18] == BgpMessageType::Update as u8 && taken[..16] == [u8::MAX; 16];
    let (taken, withdraws) = if is_update {
        let sifted = sift(&taken, context, internal).map_err(|error| Malformed {
            problem: format!("{error:?}"),
            told: BgpNotificationMessage::UpdateMessageError(error),
        })?;
        (sifted.message, sifted.withdraws)
    } else {
        (taken, false)
    };
    let message = match BgpMessage::from_wire(Span::new(&taken), context) {
        Ok((_, message)) => message,
        Err(error) => {
            let error = match error {
                nom::Err::Error(located) | nom::Err::Failure(located) => located.error().clone(),
                nom::Err::Incomplete(_) => BgpMessageParsingError::NomError(nom::error::ErrorKind::Eof),
            };
            return Err(Malformed { problem: format!("{error:?}"), told: error.into() });
        }
    };
    Ok(Received { message, withdraws })
}
