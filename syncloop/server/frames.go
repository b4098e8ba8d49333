package server

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
)

const (
	// frameHeader is the size of the header of a SPDY/3.1 frame: a stream ID or a control type, flags, and
	// the length of the rest.
	frameHeader = 8
	// maxDataFrame is the maximum length of the data frames that the library gets. For a process that does
	// not read, the library stores 50 frames.
	maxDataFrame = 16 << 10
	// maxControlFrame is the maximum length of a control frame. Its headers are compressed, to a thousandth
	// at best. The headers of a stream take about 100 bytes.
	maxControlFrame = 1 << 10

	controlBit = 1 << 31
	lengthMask = 1<<24 - 1
)

// errControlFrameTooLong ends a connection whose client sends a control frame that no proper client
// needs.
var errControlFrameTooLong = errors.New("server: a SPDY control frame is too long")

// nextFrame is the frame that a reader of frames returns next: a header, and bytes of the client after it.
type nextFrame struct {
	header []byte // unread part of the header
	rest   int    // unread bytes of the client after the header
}

// read reads bytes of the frame. After the last byte of the frame, start sets the header and the rest of the next
// frame. It returns the error of start.
func (f *nextFrame) read(p []byte, from *bufio.Reader, start func() error) (n int, err error) {
	if len(p) == 0 {
		return 0, nil
	}
	if len(f.header) == 0 && f.rest == 0 {
		if err := start(); err != nil {
			return 0, err
		}
	}
	if len(f.header) > 0 {
		n = copy(p, f.header)
		f.header = f.header[n:]
		return n, nil
	}
	n, err = from.Read(p[:min(len(p), f.rest)])
	f.rest -= n
	return n, err
}

// spdyFrameReader reads the frames of a client and limits their length, because the library stores each
// frame as a whole, up to 16 MiB. It splits long data frames, which does not change the stream. A
// control frame that is too long is an error.
type spdyFrameReader struct {
	nextFrame
	from   *bufio.Reader
	stream uint32 // stream of the data frame that is split
	flags  byte   // flags of the last frame of the split
	data   int    // bytes of the split data frame that are left
}

// Read implements io.Reader. It returns the SPDY frames of the client, with each long data frame split into
// several frames. It returns an error for a control frame that is too long.
func (f *spdyFrameReader) Read(p []byte) (n int, err error) {
	return f.read(p, f.from, f.startNextFrameOrPart)
}

// startNextFrameOrPart sets the header that Read returns next. While a long data frame has remaining data, this
// is a new header for the next part of the frame. After the frame it reads the next SPDY header from the
// client, and returns an error for a control frame that is too long.
func (f *spdyFrameReader) startNextFrameOrPart() error {
	if f.data > 0 {
		f.startDataFramePart()
		return nil
	}
	header := make([]byte, frameHeader)
	if _, err := io.ReadFull(f.from, header); err != nil {
		return err
	}
	first, second := binary.BigEndian.Uint32(header), binary.BigEndian.Uint32(header[frameHeader/2:])
	length := int(second & lengthMask)
	if first&controlBit == 0 {
		f.stream, f.flags, f.data = first, byte(second>>24), length
		f.startDataFramePart()
		return nil
	}
	if length > maxControlFrame {
		return errControlFrameTooLong
	}
	f.header, f.rest = header, length
	return nil
}

// startDataFramePart makes a SPDY header for at most maxDataFrame bytes of the remaining data. Only the last
// part of a frame gets the flags of the frame.
func (f *spdyFrameReader) startDataFramePart() {
	f.rest = min(f.data, maxDataFrame)
	f.data -= f.rest
	second := uint32(f.rest)
	if f.data == 0 {
		second |= uint32(f.flags) << 24
	}
	f.header = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, f.stream), second)
}
