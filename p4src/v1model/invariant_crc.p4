// Invariant CRC of RoCEv2 (InfiniBand Architecture 1.5, A17.3.3): the last four bytes of a frame, over all that no router
// changes. A program writes nothing behind a payload, so the bytes that count up there stay as they are, and four bytes in
// front of the signature, which balance them, make them the right CRC. Only v1model has this.
#ifndef P4MESH_INVARIANT_CRC
#define P4MESH_INVARIANT_CRC

#include "types.p4"

// CRC-32 is linear. A bit of the CRC up to the signature, with zeros for the balance, asks for these bits of it: the bit
// taken back from the end of the signature to the beginning of the four bytes, with their first byte uppermost.
#define ADDS_BIT(BIT, BITS) value = value ^ ((0 - (bit<32>)crc[BIT:BIT]) & BITS);
// The CRC goes on with more words: the first of them takes it in. Words that no stream changes are zeros here, and the
// seed's balance has what they make: a frame without a CRC has none of them to clear.
#define WITH_CRC(WORD) ((crc[7:0] ++ crc[15:8] ++ crc[23:16] ++ crc[31:24]) ^ WORD)
#define GOES_ON_BEHIND(WORDS) if (words > WORDS + 2) { CRC_OF(WITH_CRC(0)) }
// Zeros around the four bytes keep both words from looking like a signature.
#define BALANCES(WORD, NEXT) if (words == NEXT + 1) { \
        hdr.own[WORD].value = hdr.own[WORD].value ^ (8w0 ++ value[31:8]); \
        hdr.own[NEXT].value = hdr.own[NEXT].value ^ (value[7:0] ++ 24w0); \
    }
// One number instead of fields: every field of a list would take room in each packet of the switch.
#define CRC_OF(BITS) hash(crc, HashAlgorithm.crc32, 32w0, { BITS }, 33w0x1_0000_0000);
// Ones stand for what routers change.
#define LOCAL_ROUTE 64w0xFFFF_FFFF_FFFF_FFFF
// The seed has the balance that payload, length and constant words need.
control InvariantCrc(inout headers_t hdr) {
    bit<32> crc = 0;
    bit<32> value = 0;
    bit<5>  words = hdr.loop.count[4:0];

    @hidden action balance() {
        ADDS_BIT(0, 0xA3CE2EC5) ADDS_BIT(1, 0x079B2C51) ADDS_BIT(2, 0x0E3659A2) ADDS_BIT(3, 0x5D6AC39F)
        ADDS_BIT(4, 0xFBD2F7E4) ADDS_BIT(5, 0xB7A39E12) ADDS_BIT(6, 0x6E473D25) ADDS_BIT(7, 0xDC8E7A4A)
        ADDS_BIT(8, 0xB81DF594) ADDS_BIT(9, 0x313D9BF2) ADDS_BIT(10, 0x237C473E) ADDS_BIT(11, 0x46F88E7C)
        ADDS_BIT(12, 0x8CF01DF9) ADDS_BIT(13, 0x59E74A29) ADDS_BIT(14, 0xB2CE9552) ADDS_BIT(15, 0x649D2BA5)
        ADDS_BIT(16, 0x893C2691) ADDS_BIT(17, 0x537F3DF9) ADDS_BIT(18, 0xE7F80B29) ADDS_BIT(19, 0xCEF11752)
        ADDS_BIT(20, 0x9CE32FA4) ADDS_BIT(21, 0x79C12E93) ADDS_BIT(22, 0xB3842CFD) ADDS_BIT(23, 0x270F2821)
        ADDS_BIT(24, 0x4E1E5042) ADDS_BIT(25, 0x9C3CA084) ADDS_BIT(26, 0x797F31D2) ADDS_BIT(27, 0xB3F8137F)
        ADDS_BIT(28, 0x66F127FE) ADDS_BIT(29, 0x8DE43E27) ADDS_BIT(30, 0x1AC97D4E) ADDS_BIT(31, 0x3492FB9C)
    }

    apply {
        bit<128> signature = hdr.signature.magic ++ hdr.signature.run ++ hdr.signature.receiver ++ hdr.signature.flow
                             ++ hdr.signature.sequence ++ hdr.signature.transmit_time;
        bit<16> check;
        hash(check, HashAlgorithm.csum16, 16w0, { signature ++ hdr.loop.count[31:16] }, 32w0x1_0000);
        if (hdr.ipv4.isValid()) {
            CRC_OF(LOCAL_ROUTE ++ hdr.ipv4.version ++ hdr.ipv4.header_words ++ 8w0xFF ++ hdr.ipv4.total_length
                   ++ hdr.ipv4.identification ++ hdr.ipv4.flags_offset ++ 8w0xFF ++ hdr.ipv4.protocol ++ 16w0xFFFF
                   ++ hdr.ipv4.src ++ hdr.ipv4.dst)
        } else {
            CRC_OF(LOCAL_ROUTE ++ hdr.ipv6.version ++ 28w0xFFF_FFFF ++ hdr.ipv6.payload_length ++ hdr.ipv6.next_header
                   ++ 8w0xFF ++ hdr.ipv6.src_prefix ++ hdr.ipv6.src_low ++ hdr.ipv6.dst_prefix ++ hdr.ipv6.dst_low)
        }
        CRC_OF(WITH_CRC((hdr.udp.src ++ hdr.udp.dst)) ++ hdr.udp.length_bytes ++ 16w0xFFFF ++ hdr.own[0].value
               ++ (hdr.own[1].value | 0xFF00_0000) ++ hdr.own[2].value)
        GOES_ON_BEHIND(3)
        GOES_ON_BEHIND(4)
        GOES_ON_BEHIND(5)
        GOES_ON_BEHIND(6)
        GOES_ON_BEHIND(7)
        GOES_ON_BEHIND(8)
        GOES_ON_BEHIND(9)
        CRC_OF(WITH_CRC(0) ++ 32w0 ++ signature ++ check)
        balance();
        BALANCES(3, 4)
        BALANCES(4, 5)
        BALANCES(5, 6)
        BALANCES(6, 7)
        BALANCES(7, 8)
        BALANCES(8, 9)
        BALANCES(9, 10)
        BALANCES(10, 11)
    }
}

#endif
