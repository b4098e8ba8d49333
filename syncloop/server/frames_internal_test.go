package server

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// frame is one of SPDY/3.1.
func frame(first uint32, flags byte, body []byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, first)
	return append(binary.BigEndian.AppendUint32(b, uint32(flags)<<24|uint32(len(body))), body...)
}

// decoded is what frames say: the data of each stream with the flags, and the frames of control
// as they are.
func decoded(t require.TestingT, text []byte) (data map[uint32]string, flags map[uint32]byte, control []byte, longest int) {
	data, flags = map[uint32]string{}, map[uint32]byte{}
	for len(text) > 0 {
		first, second := binary.BigEndian.Uint32(text), binary.BigEndian.Uint32(text[4:])
		length := int(second & lengthMask)
		require.LessOrEqual(t, frameHeader+length, len(text))
		body := text[frameHeader : frameHeader+length]
		if first&controlBit != 0 {
			control = append(control, text[:frameHeader+length]...)
		} else {
			require.Zero(t, flags[first], "nothing comes after the end")
			data[first] += string(body)
			flags[first] = byte(second >> 24)
		}
		longest = max(longest, length)
		text = text[frameHeader+length:]
	}
	return data, flags, control, longest
}

// TestFrames: data frames are divided, the end of a stream stays in its last frame, and all other frames are unchanged,
// in whatever pieces they arrive.
func TestFrames(t *testing.T) {
	var sent []byte
	for _, f := range [][]byte{
		frame(controlBit|3<<16|1, 0, make([]byte, 100)), frame(1, 0, []byte("short")), frame(3, 0, bytes.Repeat([]byte("x"), maxDataFrame)),
		frame(controlBit|3<<16|6, 0, []byte{0, 0, 0, 1}), frame(1, 1, bytes.Repeat([]byte("long"), 1<<20)), frame(5, 1, nil), frame(3, 0, nil),
		frame(controlBit|3<<16|3, 0, make([]byte, maxControlFrame)),
	} {
		sent = append(sent, f...)
	}
	data, flags, control, _ := decoded(t, sent)
	for name, from := range map[string]io.Reader{"whole": bytes.NewReader(sent), "halves": iotest.HalfReader(bytes.NewReader(sent)), "bytes": iotest.OneByteReader(bytes.NewReader(sent))} {
		read, err := io.ReadAll(&spdyFrameReader{from: bufio.NewReader(from)})
		require.NoError(t, err, name)
		gotData, gotFlags, gotControl, longest := decoded(t, read)
		assert.Equal(t, data, gotData, name)
		assert.Equal(t, flags, gotFlags, name)
		assert.Equal(t, control, gotControl, name)
		assert.Equal(t, maxDataFrame, longest, name)
	}
}

// TestFrames_Refused: a frame of control that is too long is not read, and one that is cut short
// is an error.
func TestFrames_Refused(t *testing.T) {
	_, err := io.ReadAll(&spdyFrameReader{from: bufio.NewReader(bytes.NewReader(frame(controlBit|3<<16|1, 0, make([]byte, maxControlFrame+1))))})
	require.ErrorIs(t, err, errControlFrameTooLong)
	_, err = io.ReadAll(&spdyFrameReader{from: bufio.NewReader(bytes.NewReader([]byte{0, 0, 0, 1, 0}))})
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
}

// FuzzFrames: whatever a client sends, no frame is longer than it may be.
func FuzzFrames(f *testing.F) {
	f.Add(frame(1, 1, make([]byte, 100_000)))
	f.Add(frame(controlBit|1, 0, make([]byte, 2000)))
	f.Fuzz(func(t *testing.T, sent []byte) {
		read, _ := io.ReadAll(&spdyFrameReader{from: bufio.NewReader(bytes.NewReader(sent))})
		for len(read) >= frameHeader {
			first, second := binary.BigEndian.Uint32(read), binary.BigEndian.Uint32(read[4:])
			length := int(second & lengthMask)
			if first&controlBit != 0 && length > maxControlFrame || first&controlBit == 0 && length > maxDataFrame {
				t.Fatalf("a frame of %d bytes", length)
			}
			read = read[min(len(read), frameHeader+length):]
		}
	})
}
