package server

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"io"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// clientFrame is a frame of a client, masked with a key.
func clientFrame(first byte, key [4]byte, payload string) []byte {
	frame := []byte{first}
	switch n := len(payload); {
	case n < length16:
		frame = append(frame, maskBit|byte(n))
	case n < 1<<16:
		frame = binary.BigEndian.AppendUint16(append(frame, maskBit|length16), uint16(n))
	default:
		frame = binary.BigEndian.AppendUint64(append(frame, maskBit|length64), uint64(n))
	}
	frame = append(frame, key[:]...)
	for i := range len(payload) {
		frame = append(frame, payload[i]^key[i%4])
	}
	return frame
}

// unmasked is a frame as the library receives it.
type unmasked struct {
	first   byte
	payload string
}

// parseFrames returns the frames in text. Each must be complete, masked and no longer than a part.
func parseFrames(t require.TestingT, text []byte) (frames []unmasked) {
	for len(text) > 0 {
		length, at := int(text[1]&lengthMask7), 2
		require.NotEqual(t, length64, length)
		if length == length16 {
			length, at = int(binary.BigEndian.Uint16(text[2:])), 4
		}
		require.NotZero(t, text[1]&maskBit)
		require.LessOrEqual(t, length, maxDataFrame+1)
		key, payload := text[at:at+4], bytes.Clone(text[at+4:at+4+length])
		for i := range payload {
			payload[i] ^= key[i%4]
		}
		frames, text = append(frames, unmasked{text[0], string(payload)}), text[at+4+length:]
	}
	return frames
}

// TestWebSocketFrames: each part and each fragment begins with the channel of its message, and the frames of control
// between them are unchanged.
func TestWebSocketFrames(t *testing.T) {
	key, long := [4]byte{1, 2, 3, 4}, strings.Repeat("abcd", maxDataFrame/4)
	var sent []byte
	for _, f := range [][]byte{
		clientFrame(0x82, key, "\x00short"), clientFrame(0x82, key, "\x00"), clientFrame(0x82, key, ""), clientFrame(0x81, key, "1dGV4dA=="),
		clientFrame(0x82, key, "\x03"+long+long+"rest"), clientFrame(0x82, key, "\x03"+long),
		clientFrame(0x02, key, "\x05first"), clientFrame(0x89, key, "ping"), clientFrame(0x00, key, ""), clientFrame(0x00, key, long+"second"), clientFrame(0x80, key, "third"),
		clientFrame(0x88, key, "\x03\xe8"),
	} {
		sent = append(sent, f...)
	}
	want := []unmasked{
		{0x82, "\x00short"}, {0x82, "\x00"}, {0x82, ""}, {0x81, "1dGV4dA=="},
		{0x82, "\x03" + long}, {0x82, "\x03" + long}, {0x82, "\x03rest"}, {0x82, "\x03" + long},
		{0x82, "\x05first"}, {0x89, "ping"}, {0x82, ""}, {0x82, "\x05" + long}, {0x82, "\x05second"}, {0x82, "\x05third"},
		{0x88, "\x03\xe8"},
	}
	for name, from := range map[string]io.Reader{"whole": bytes.NewReader(sent), "halves": iotest.HalfReader(bytes.NewReader(sent)), "bytes": iotest.OneByteReader(bytes.NewReader(sent))} {
		read, err := io.ReadAll(&webSocketFrameReader{from: bufio.NewReader(from)})
		require.NoError(t, err, name)
		assert.Equal(t, want, parseFrames(t, read), name)
	}
}

// TestWebSocketFrames_Random: whatever the lengths and keys of the fragments are, the data of a channel are the ones that
// the client has sent.
func TestWebSocketFrames_Random(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var sent []byte
		want := map[byte]string{}
		for range rapid.IntRange(1, 5).Draw(t, "messages") {
			channel := rapid.Byte().Draw(t, "channel")
			fragments := rapid.IntRange(1, 4).Draw(t, "fragments")
			for i := range fragments {
				data := strings.Repeat(string(rapid.SliceOfN(rapid.Byte(), 1, 7).Draw(t, "data")), rapid.IntRange(0, 9000).Draw(t, "times"))
				key := [4]byte(rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "key"))
				want[channel] += data
				first := byte(0x00)
				if i == 0 {
					first, data = 0x02, string(channel)+data
					if channel >= 0x80 {
						data = string([]byte{channel}) + data[2:]
					}
				}
				if i == fragments-1 {
					first |= finalBit
				}
				sent = append(sent, clientFrame(first, key, data)...)
			}
		}
		read, err := io.ReadAll(&webSocketFrameReader{from: bufio.NewReader(bytes.NewReader(sent))})
		require.NoError(t, err)
		got := map[byte]string{}
		for _, f := range parseFrames(t, read) {
			require.Equal(t, byte(0x82), f.first)
			if f.payload != "" {
				got[f.payload[0]] += f.payload[1:]
			}
		}
		for channel := range want {
			require.Equal(t, want[channel], got[channel])
		}
		require.LessOrEqual(t, len(got), len(want))
	})
}

// TestWebSocketFrames_Base64 (HS-17): wherever a client cuts a message in base64, the data of its parts decoded one by
// one are the data that the client has encoded.
func TestWebSocketFrames_Base64(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var sent []byte
		var want, got []byte
		for range rapid.IntRange(1, 3).Draw(t, "messages") {
			data := bytes.Repeat(rapid.SliceOfN(rapid.Byte(), 1, 7).Draw(t, "data"), rapid.IntRange(0, 9000).Draw(t, "times"))
			want = append(want, data...)
			message := "1" + base64.StdEncoding.EncodeToString(data)
			if length := rapid.SampledFrom([]int{1, 2, 76, 100_000}).Draw(t, "line"); length > 2 || len(message) < 1000 {
				message = strings.Join(slices.Collect(chunks(message, length)), "\r\n")
			}
			first := byte(0x01)
			for i := range rapid.IntRange(1, 5).Draw(t, "fragments") {
				end := rapid.IntRange(min(1, len(message)), len(message)).Draw(t, "end")
				sent = append(sent, clientFrame(first, [4]byte{1, 2, 3, byte(i)}, message[:end])...)
				message, first = message[end:], 0x00
			}
			sent = append(sent, clientFrame(finalBit, [4]byte{5, 6, 7, 8}, message)...)
		}
		read, err := io.ReadAll(&webSocketFrameReader{from: bufio.NewReader(bytes.NewReader(sent)), isBase64: true})
		require.NoError(t, err)
		for _, f := range parseFrames(t, read) {
			require.Equal(t, byte(0x81), f.first)
			if f.payload != "" {
				require.Equal(t, byte('1'), f.payload[0])
				got, err = base64.StdEncoding.AppendDecode(got, []byte(f.payload[1:]))
				require.NoError(t, err)
			}
		}
		require.Equal(t, len(want), len(got))
		require.True(t, bytes.Equal(want, got))
	})
}

// chunks returns the text in pieces of this length; the last piece may be shorter.
func chunks(text string, length int) iter.Seq[string] {
	return func(yield func(string) bool) {
		for piece := range slices.Chunk([]byte(text), length) {
			if !yield(string(piece)) {
				return
			}
		}
	}
}

// TestWebSocketFrames_NoBase64 (HS-17): a message that is not base64 stays one frame, which the library ignores as a
// whole. A longer message that is not base64 is an error.
func TestWebSocketFrames_NoBase64(t *testing.T) {
	key, long := [4]byte{1, 2, 3, 4}, strings.Repeat("abcd", maxDataFrame/4)
	for _, c := range []struct {
		message string
		want    []unmasked
		fails   bool
	}{
		{"abcd!", []unmasked{{0x81, ""}, {0x81, "0abcd!"}}, false},
		{long[1:] + "!", []unmasked{{0x81, ""}, {0x81, "0" + long[1:] + "!"}}, false},
		{"!" + long, nil, true},
		{long + "!", []unmasked{{0x81, "0" + long}}, true},
		{long + "abc", []unmasked{{0x81, "0" + long}}, true},
		{long[4:] + "abc=" + "abcd", []unmasked{{0x81, "0" + long[4:] + "abc="}}, true},
	} {
		sent := append(clientFrame(0x01, key, "0"), clientFrame(0x80, key, c.message)...)
		read, err := io.ReadAll(&webSocketFrameReader{from: bufio.NewReader(bytes.NewReader(sent)), isBase64: true})
		if c.fails {
			require.ErrorIs(t, err, errWebSocketFrame)
			c.want = append([]unmasked{{0x81, ""}}, c.want...)
		} else {
			require.NoError(t, err)
		}
		assert.Equal(t, c.want, parseFrames(t, read))
	}
}

// TestWebSocketFrames_Refused: frames that RFC 6455 forbids are errors, before their payload is read.
func TestWebSocketFrames_Refused(t *testing.T) {
	key := "\x01\x02\x03\x04"
	for name, sent := range map[string]string{
		"not masked": "\x82\x05hello", "reserved bits": "\xc2\x81" + key, "long ping": "\x89\xfe\x00\x7e" + key, "ping in fragments": "\x09\x80" + key,
		"continuation of nothing": "\x80\x81" + key, "message in a message": "\x02\x81" + key + "x\x82\x81" + key, "begins empty": "\x02\x80" + key,
		"reserved opcode": "\x83\x81" + key, "reserved control opcode": "\x8b\x80" + key,
		"longer than a frame may be": "\x82\xff\xff\xff\xff\xff\xff\xff\xff\xff" + key,
	} {
		_, err := io.ReadAll(&webSocketFrameReader{from: bufio.NewReader(strings.NewReader(sent))})
		require.ErrorIs(t, err, errWebSocketFrame, name)
	}
	for name, sent := range map[string]string{"header": "\x82", "length": "\x82\xfe\x00", "key": "\x82\x81\x01"} {
		_, err := io.ReadAll(&webSocketFrameReader{from: bufio.NewReader(strings.NewReader(sent))})
		require.ErrorIs(t, err, io.ErrUnexpectedEOF, name)
	}
}

// FuzzWebSocketFrames: whatever a client sends, no data frame is longer than a part, and no other frame longer than it
// may be.
func FuzzWebSocketFrames(f *testing.F) {
	f.Add(clientFrame(0x82, [4]byte{1, 2, 3, 4}, strings.Repeat("x", 100_000)))
	f.Add(append(clientFrame(0x02, [4]byte{1, 2, 3, 4}, "\x01x"), clientFrame(0x80, [4]byte{5, 6, 7, 8}, strings.Repeat("x", 100_000))...))
	f.Fuzz(func(t *testing.T, sent []byte) {
		raw, _ := io.ReadAll(&webSocketFrameReader{from: bufio.NewReader(bytes.NewReader(sent))})
		encoded, _ := io.ReadAll(&webSocketFrameReader{from: bufio.NewReader(bytes.NewReader(sent)), isBase64: true})
		read := slices.Concat(raw, encoded)
		for len(read) >= 2 {
			length, at := int(read[1]&lengthMask7), 2
			if length == length64 {
				t.Fatal("a frame with a long length")
			}
			if length == length16 && len(read) >= 4 {
				length, at = int(binary.BigEndian.Uint16(read[2:])), 4
			}
			if length > maxDataFrame+1 || read[0]&opcodeMask >= firstControl && length > maxControlLen {
				t.Fatalf("a frame of %d bytes", length)
			}
			read = read[min(len(read), at+4+length):]
		}
	})
}
