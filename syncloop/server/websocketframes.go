package server

import (
	"bufio"
	"encoding/base64"
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

// errWebSocketFrame ends a WebSocket whose client sends a frame that RFC 6455 forbids, or a long message that is not
// base64.
var errWebSocketFrame = errors.New("server: a WebSocket frame is invalid")

// webSocketFrameReader reads the frames of a client's WebSocket with channels. It splits long frames, because the
// library stores each frame as a whole, up to 32 MiB. The first byte of a message is the channel. The library
// expects it in each frame, so the reader repeats it in each part of a split frame, and in the later frames of a
// fragmented message. An invalid frame is an error.
//
// The library decodes each frame of a protocol in base64 on its own, but a fragment of a message may end anywhere. So
// the reader joins the fragments of such a message, up to maxDataFrame bytes. A longer message has several parts, and
// each part except the last one has maxDataFrame bytes, a multiple of 4. The library ignores a message that is not
// base64. If such a message has several parts, it is an error, because the process may have read an earlier part.
type webSocketFrameReader struct {
	nextFrame
	from      *bufio.Reader
	isBase64  bool    // the data of messages are base64
	left      uint64  // bytes of the frame after the part
	opcode    byte    // of the message
	channel   byte    // of the message
	isPartial bool    // the message has further frames
	key       [4]byte // masks the parts of the frame; the first byte masks the channel
	encoded   []byte  // of a message in base64: data that no part contains yet
	isSplit   bool    // of a message in base64: it has an earlier part
	isPadded  bool    // of a message in base64: its last part ended with padding, so no data may follow
}

// Read implements io.Reader. It returns the frames of the client, with each long frame split into several frames.
// It returns an error for an invalid frame.
func (f *webSocketFrameReader) Read(p []byte) (n int, err error) {
	return f.read(p, f.from, f.startNextFrameOrPart)
}

// startNextFrameOrPart sets the header that Read returns next. While a frame has remaining data, this is a header
// for its next part. After the frame it reads the next header from the client, and returns an error for an invalid
// one.
func (f *webSocketFrameReader) startNextFrameOrPart() error {
	if f.left > 0 {
		return f.startPart()
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
		f.header, f.rest = header, int(length)
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
// later frame has no channel, so its data and its key move by one byte. An empty frame stays empty, except one that
// ends a message in base64. It returns an error if a message of several frames begins with an empty one, or if the
// frame is longer than a frame may be.
func (f *webSocketFrameReader) startDataFrame(opcode byte, length uint64) error {
	isFirst := opcode != continuation
	if isFirst {
		f.opcode, f.encoded, f.isSplit, f.isPadded = opcode, f.encoded[:0], false, false
	}
	switch {
	case length > math.MaxInt64, isFirst && f.isPartial && length == 0:
		return errWebSocketFrame
	case length == 0 && (isFirst || !f.isBase64):
		f.header = webSocketHeader(f.opcode, 0, f.key)
		return nil
	case isFirst:
		masked, err := f.from.ReadByte()
		if err != nil {
			return err
		}
		f.channel = masked ^ f.key[0]
		length--
	default:
		f.shiftKey(len(f.key) - 1)
	}
	f.left = length
	return f.startPart()
}

// startPart makes a header for the channel and at most maxDataFrame bytes of the remaining data. It returns the error
// of startBase64Part.
func (f *webSocketFrameReader) startPart() error {
	if f.isBase64 {
		return f.startBase64Part()
	}
	f.rest = int(min(f.left, maxDataFrame))
	f.left -= uint64(f.rest)
	f.header = append(webSocketHeader(f.opcode, 1+f.rest, f.key), f.channel^f.key[0])
	return nil
}

// startBase64Part reads remaining data of the frame. If the message is complete, or if maxDataFrame bytes of it are
// read, the next frame has the channel and these bytes. Otherwise the next frame is empty, and the library ignores
// it. Line breaks do not count, because the decoder ignores them. It returns an error for a part that is not base64,
// unless the part is the whole message.
func (f *webSocketFrameReader) startBase64Part() error {
	data := make([]byte, min(f.left, uint64(maxDataFrame-len(f.encoded))))
	if _, err := io.ReadFull(f.from, data); err != nil {
		return err
	}
	f.left -= uint64(len(data))
	for i, masked := range data {
		if c := masked ^ f.key[(1+i)%len(f.key)]; c != '\r' && c != '\n' {
			f.encoded = append(f.encoded, c)
		}
	}
	f.shiftKey(len(data))
	isLast := f.left == 0 && !f.isPartial
	if !isLast && len(f.encoded) < maxDataFrame || f.isSplit && len(f.encoded) == 0 {
		f.header = webSocketHeader(f.opcode, 0, f.key)
		return nil
	}
	f.isSplit = f.isSplit || !isLast
	if _, err := base64.StdEncoding.AppendDecode(nil, f.encoded); f.isSplit && (err != nil || f.isPadded) {
		return errWebSocketFrame
	}
	f.isPadded = len(f.encoded) > 0 && f.encoded[len(f.encoded)-1] == '='
	f.header = append(append(webSocketHeader(f.opcode, 1+len(f.encoded), [4]byte{}), f.channel), f.encoded...)
	f.encoded = f.encoded[:0]
	return nil
}

// webSocketHeader returns the header of a final frame. length is at most 1+maxDataFrame.
func webSocketHeader(opcode byte, length int, key [4]byte) []byte {
	header := []byte{finalBit | opcode, maskBit | byte(length)}
	if length >= length16 {
		header = binary.BigEndian.AppendUint16([]byte{finalBit | opcode, maskBit | length16}, uint16(length))
	}
	return append(header, key[:]...)
}

// shiftKey moves the key by n bytes of data.
func (f *webSocketFrameReader) shiftKey(n int) {
	key := f.key
	for i := range f.key {
		f.key[i] = key[(i+n)%len(key)]
	}
}
