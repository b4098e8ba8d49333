package server

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
)

const (
	// frameHeader is the size of what each frame of SPDY/3.1 begins with: a stream and flags, or
	// what it controls, and the length of the rest.
	frameHeader = 8
	// maxDataFrame is how much of a stream one frame holds for the library, which keeps 50 of them
	// for a process that does not read.
	maxDataFrame = 16 << 10
	// maxControlFrame bounds a frame that is no data, in bytes. Its headers are compressed, to a
	// thousandth at best. Those of a stream take about 100 bytes.
	maxControlFrame = 1 << 10

	controlBit = 1 << 31
	lengthMask = 1<<24 - 1
)

// errControlFrameTooLong ends a connection whose client sends what no client needs.
var errControlFrameTooLong = errors.New("server: a SPDY frame of control is too long")

// frameReader reads what a client sends, and bounds its frames: the library keeps each in memory as a
// whole, of 16 MiB perhaps. Data are divided into more frames, which is the same to whoever reads
// the stream; a frame of control that is too long is an error.
type frameReader struct {
	from   *bufio.Reader
	header []byte // that has not been read
	rest   int    // bytes that follow it
	stream uint32 // whose data go on after that
	flags  byte   // of the last frame of these data
	data   int    // that go on
}

// Read implements io.Reader.
func (f *frameReader) Read(p []byte) (n int, err error) {
	if len(p) == 0 {
		return 0, nil
	}
	if len(f.header) == 0 && f.rest == 0 {
		if err := f.startNextFrame(); err != nil {
			return 0, err
		}
	}
	if len(f.header) > 0 {
		n = copy(p, f.header)
		f.header = f.header[n:]
		return n, nil
	}
	n, err = f.from.Read(p[:min(len(p), f.rest)])
	f.rest -= n
	return n, err
}

// nextStream begins the next frame.
func (f *frameReader) startNextFrame() error {
	if f.data > 0 {
		f.startDataFrame()
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
		f.startDataFrame()
		return nil
	}
	if length > maxControlFrame {
		return errControlFrameTooLong
	}
	f.header, f.rest = header, length
	return nil
}

// startDataFrame begins a frame of what is left of the data of a stream, or of a part of it: the flags
// come with the last one.
func (f *frameReader) startDataFrame() {
	f.rest = min(f.data, maxDataFrame)
	f.data -= f.rest
	second := uint32(f.rest)
	if f.data == 0 {
		second |= uint32(f.flags) << 24
	}
	f.header = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, f.stream), second)
}
