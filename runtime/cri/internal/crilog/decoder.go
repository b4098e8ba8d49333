package crilog

import (
	"bytes"
	"time"
)

const (
	// maxLine is how much is read of a line of the file.
	maxLine = 1 << 20
	// maxHeld is how much of a line of the container is held back.
	maxHeld = 1 << 20
)

// Decoder turns the bytes of a log file into what the container printed. The zero
// value gives all of it.
type Decoder struct {
	// Since leaves out the lines that were begun before.
	Since time.Time
	// Timestamps is the format of the time before each line. Empty: lines have none.
	Timestamps string

	torn []byte // a line of the file whose end has not come, at most maxLine of it
	open [2]line
}

// line is one of the container's that has begun and has not ended.
type line struct {
	begun, old bool
	held       []byte
}

// Feed takes the next bytes of the file, and appends to out the lines that they
// complete.
func (d *Decoder) Feed(out, p []byte) []byte {
	for {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			d.keep(p)
			return out
		}
		whole := p[:min(i, maxLine)]
		if len(d.torn) != 0 {
			d.keep(whole)
			whole = d.torn
		}
		out = d.add(out, whole)
		d.Skip()
		p = p[i+1:]
	}
}

// keep remembers the beginning of a line.
func (d *Decoder) keep(p []byte) {
	d.torn = append(d.torn, p[:min(len(p), maxLine-len(d.torn))]...)
}

// Skip forgets a line of the file whose end will not come, as another file is
// read from now on.
func (d *Decoder) Skip() { d.torn = d.torn[:0] }

// End appends what has come of lines whose ends will not come.
func (d *Decoder) End(out []byte) []byte {
	if e, ok := Parse(d.torn); ok {
		e.Full = false // The container did not end its line, as far as anybody knows.
		out = d.append(out, e)
	}
	d.Skip()
	for i := range d.open {
		out = append(out, d.open[i].held...)
		d.open[i] = line{}
	}
	return out
}

// add takes a line of the file.
func (d *Decoder) add(out, whole []byte) []byte {
	if e, ok := Parse(whole); ok {
		return d.append(out, e)
	}
	return out
}

// append takes a piece of a line of the container, and gives what need not wait.
func (d *Decoder) append(out []byte, e Entry) []byte {
	l := &d.open[e.Stream]
	if !l.begun {
		l.begun, l.old = true, e.At.Before(d.Since)
		if !l.old {
			l.held = e.At.AppendFormat(l.held, d.Timestamps)
		}
	}
	if !l.old {
		out = l.append(out, e)
	}
	if e.Full {
		*l = line{held: l.held[:0]}
	}
	return out
}

// append gives a piece with what was held before it, or holds it too.
func (l *line) append(out []byte, e Entry) []byte {
	if e.Full {
		return append(append(append(out, l.held...), e.Text...), '\n')
	}
	if len(l.held)+len(e.Text) > maxHeld {
		out = append(append(out, l.held...), e.Text...)
		l.held = l.held[:0]
		return out
	}
	l.held = append(l.held, e.Text...)
	return out
}
