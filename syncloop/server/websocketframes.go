package server

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"math"
)

// The parts of a WebSocket frame's header (RFC 6455, section 5.2).
const (
	finalBit      = 0x80 // of the first byte: the frame is the last one of its message
	reservedBits  = 0x70 // of the first byte
	opcodeMask    = 0x0f // of the first byte
	maskBit       = 0x80 // of the second byte: the payload is masked
	lengthMask7   = 0x7f // of the second byte
	length16      = 126  // the length is in the two bytes that follow
	length64      = 127  // the length is in the eight bytes that follow
	continuation  = 0x0  // opcode
	binaryMessage = 0x2  // highest opcode of a message that RFC 6455 defines
	firstControl  = 0x8  // lowest opcode of a control frame
	lastControl   = 0xa  // highest opcode of a control frame that RFC 6455 defines
	maxControlLen = 125
)

// errWebSocketFrame ends a WebSocket whose client sends a frame that RFC 6455 forbids.
var errWebSocketFrame = errors.New("server: a WebSocket frame is invalid")

// webSocketFrameReader reads the frames of a client's WebSocket with channels. It splits long frames, because the
// library stores each frame as a whole, up to 32 MiB. The first byte of a message is the channel. The library
// expects it in each frame, so the reader repeats it in each part of a split frame, and in the later frames of a
// fragmented message. A split does not change the stream of a channel, also in base64, because a part has a
// multiple of 4 bytes after the channel. An invalid frame is an error.
type webSocketFrameReader struct {
	from      *bufio.Reader
	header    []byte  // unread part of the header of a part
	rest      uint64  // bytes of the part after the header
	left      uint64  // bytes of the frame after the part
	opcode    byte    // of the message
	channel   byte    // of the message
	isPartial bool    // the message has further frames
	key       [4]byte // masks the parts of the frame
}

// Read implements io.Reader. It returns the frames of the client, with each long frame split into several frames.
// It returns an error for an invalid frame.
func (f *webSocketFrameReader) Read(p []byte) (n int, err error) {
	if len(p) == 0 {
		return 0, nil
	}
	if len(f.header) == 0 && f.rest == 0 {
		if err := f.startNextFrameOrPart(); err != nil {
			return 0, err
		}
	}
	if len(f.header) > 0 {
		n = copy(p, f.header)
		f.header = f.header[n:]
		return n, nil
	}
	n, err = f.from.Read(p[:min(uint64(len(p)), f.rest)])
	f.rest -= uint64(n)
	return n, err
}

// startNextFrameOrPart sets the header that Read returns next. While a frame has remaining data, this is a header
// for its next part. After the frame it reads the next header from the client, and returns an error for an invalid
// one.
func (f *webSocketFrameReader) startNextFrameOrPart() error {
	if f.left > 0 {
		f.startPart()
		return nil
	}
	header := make([]byte, 2, 14)
	if _, err := io.ReadFull(f.from, header); err != nil {
		return err
	}
	first, second := header[0], header[1]
	opcode, isFinal := first&opcodeMask, first&finalBit != 0
	isControl := opcode >= firstControl
	length := uint64(second & lengthMask7)
	switch {
	case first&reservedBits != 0, second&maskBit == 0:
		return errWebSocketFrame
	case opcode > binaryMessage && opcode < firstControl, opcode > lastControl: // They are reserved.
		return errWebSocketFrame
	case isControl && (length > maxControlLen || !isFinal):
		return errWebSocketFrame
	case !isControl && (opcode == continuation) != f.isPartial:
		return errWebSocketFrame
	}
	extended := map[uint64]int{length16: 2, length64: 8}[length]
	header = header[:2+extended+len(f.key)]
	if _, err := io.ReadFull(f.from, header[2:]); err != nil {
		return err
	}
	if isControl {
		f.header, f.rest = header, length
		return nil
	}
	switch extended {
	case 2:
		length = uint64(binary.BigEndian.Uint16(header[2:]))
	case 8:
		length = binary.BigEndian.Uint64(header[2:])
	}
	copy(f.key[:], header[2+extended:])
	f.isPartial = !isFinal
	return f.startDataFrame(opcode, length)
}

// startDataFrame starts the first part of a data frame. From the first frame of a message it reads the channel. A
// later frame has no channel, so its data and its key move by one byte. An empty frame stays empty. It returns an
// error if a message of several frames begins with an empty one, or if the frame is longer than a frame may be.
func (f *webSocketFrameReader) startDataFrame(opcode byte, length uint64) error {
	isFirst := opcode != continuation
	if isFirst {
		f.opcode = opcode
	}
	switch {
	case length > math.MaxInt64, isFirst && f.isPartial && length == 0:
		return errWebSocketFrame
	case length == 0:
		f.header = append([]byte{finalBit | f.opcode, maskBit}, f.key[:]...)
		return nil
	case isFirst:
		masked, err := f.from.ReadByte()
		if err != nil {
			return err
		}
		f.channel = masked ^ f.key[0]
		length--
	default:
		f.key = [4]byte{f.key[3], f.key[0], f.key[1], f.key[2]}
	}
	f.left = length
	f.startPart()
	return nil
}

// startPart makes a header for the channel and at most maxDataFrame bytes of the remaining data.
func (f *webSocketFrameReader) startPart() {
	f.rest = min(f.left, maxDataFrame)
	f.left -= f.rest
	f.header = append(f.header[:0], finalBit|f.opcode)
	if length := f.rest + 1; length < length16 {
		f.header = append(f.header, maskBit|byte(length))
	} else {
		f.header = binary.BigEndian.AppendUint16(append(f.header, maskBit|length16), uint16(length))
	}
	f.header = append(append(f.header, f.key[:]...), f.channel^f.key[0])
}
