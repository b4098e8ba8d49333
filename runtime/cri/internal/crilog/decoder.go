package crilog

import (
	"bytes"
	"time"
)

const (
	// maxFileLineBytes limits how many bytes of a file line are decoded.
	maxFileLineBytes = 1 << 20
	// maxBufferedBytes limits how many bytes of an incomplete container line are buffered.
	maxBufferedBytes = 1 << 20
)

// Decoder converts the bytes of a log file to the output of the container. The zero value returns
// all output.
type Decoder struct {
	// Since omits lines that began before.
	Since time.Time
	// Timestamps is the format of the timestamp before each line. Empty: no timestamps.
	Timestamps string

	partialFileLine []byte // the beginning of a file line whose end was not fed yet, up to maxFileLineBytes
	openLines       [2]openLine
}

// openLine is a line of the container that has begun and is not complete.
type openLine struct {
	begun, beforeSince bool
	buffered           []byte
}

// Feed decodes the next bytes of the file and appends the completed lines to out.
func (d *Decoder) Feed(out, p []byte) []byte {
	for {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			d.bufferFileLine(p)
			return out
		}
		whole := p[:min(i, maxFileLineBytes)]
		if len(d.partialFileLine) != 0 {
			d.bufferFileLine(whole)
			whole = d.partialFileLine
		}
		out = d.decodeLine(out, whole)
		d.DiscardPartialLine()
		p = p[i+1:]
	}
}

// bufferFileLine appends bytes to the buffered, still incomplete line of the log file. It drops bytes beyond
// maxFileLineBytes.
func (d *Decoder) bufferFileLine(p []byte) {
	d.partialFileLine = append(d.partialFileLine, p[:min(len(p), maxFileLineBytes-len(d.partialFileLine))]...)
}

// DiscardPartialLine discards an incomplete file line. The caller continues with another file, so
// the rest of the line will not follow.
func (d *Decoder) DiscardPartialLine() { d.partialFileLine = d.partialFileLine[:0] }

// End appends all buffered output. It is called after the last Feed.
func (d *Decoder) End(out []byte) []byte {
	if e, ok := Parse(d.partialFileLine); ok {
		e.Full = false // Without the end of the file line, it is unknown whether the container ended its line.
		out = d.appendOrBufferEntry(out, e)
	}
	d.DiscardPartialLine()
	for i := range d.openLines {
		out = append(out, d.openLines[i].buffered...)
		d.openLines[i] = openLine{}
	}
	return out
}

// decodeLine decodes one line of the log file and appends the resulting text, if any, to out. A line that
// cannot be parsed is ignored.
func (d *Decoder) decodeLine(out, whole []byte) []byte {
	if e, ok := Parse(whole); ok {
		return d.appendOrBufferEntry(out, e)
	}
	return out
}

// appendOrBufferEntry appends the text of a log entry to out. A partial entry is buffered until the line of its
// stream is complete or too long. A line that began before Since is dropped. If Timestamps is set, each line
// begins with its timestamp.
func (d *Decoder) appendOrBufferEntry(out []byte, e Entry) []byte {
	l := &d.openLines[e.Stream]
	if !l.begun {
		l.begun, l.beforeSince = true, e.At.Before(d.Since)
		if !l.beforeSince {
			l.buffered = e.At.AppendFormat(l.buffered, d.Timestamps)
		}
	}
	if !l.beforeSince {
		out = l.appendOrBuffer(out, e)
	}
	if e.Full {
		*l = openLine{buffered: l.buffered[:0]}
	}
	return out
}

// appendOrBuffer appends the buffered text and the text of the entry to out, if the entry completes the line or
// the line is too long to buffer. In any other case it buffers the text.
func (l *openLine) appendOrBuffer(out []byte, e Entry) []byte {
	if e.Full {
		return append(append(append(out, l.buffered...), e.Text...), '\n')
	}
	if len(l.buffered)+len(e.Text) > maxBufferedBytes {
		out = append(append(out, l.buffered...), e.Text...)
		l.buffered = l.buffered[:0]
		return out
	}
	l.buffered = append(l.buffered, e.Text...)
	return out
}
