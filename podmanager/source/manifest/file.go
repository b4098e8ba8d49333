package manifest

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/validation"
)

// file is what is known of one manifest file.
type file struct {
	path string
	url  bool // path is one
	// shown is the path in reports; empty if that is path.
	shown string
	// pods and good are of the last good version: its pods, and what it was
	// like. Both stay while later versions are bad.
	pods []*v1.Pod
	good sum
	// ignored are the fields of the last good version that are ignored.
	ignored Faults
	// saved is the good version that is kept for the next process.
	saved sum
	// text is that of the good version, if it is not kept yet and there is room for it.
	text []byte
	// state is how the version is that is there now.
	state fileState
	// known is the version last looked at; one like it is not parsed again.
	known sum
	// memory is what pods take, need what those of the known version would, if there
	// was no room for them.
	memory, need int64
	// outdated is the error for which the good version would be refused if it was new: an earlier
	// version of this package has accepted it. Nil: it would be accepted.
	outdated error
	// formerUIDs: pods of the file run that have the UIDs of an earlier version of this package.
	formerUIDs bool
	// told is the trouble last reported, so that it is reported once.
	told string
}

// fileState is how the present version of a file is.
type fileState uint8

const (
	// fine: it is the last good version, or holds no pod and never has. A new file is fine.
	fine fileState = iota
	// broken: it is bad, or cannot be read. The last good version counts, if there is one.
	broken
	// lost: it is broken, and an earlier process has kept a good version that cannot be read.
	// That may have had pods, and they may run.
	lost
)

// sum identifies content, which alone decides whether a file has changed: not
// its times, which lie (F34). The zero sum is that of nothing.
type sum [sha256.Size]byte

// blind reports a file that is desired and of which no good version is known.
func (f *file) blind() bool { return f.state != fine && f.good == sum{} }

// mayHavePods reports whether pods of the file may run.
func (f *file) mayHavePods() bool { return len(f.pods) > 0 || f.state == lost }

// look takes in the content of the file, and returns what people should be told.
// room is what its pods may take.
func (f *file) look(data []byte, c *Config, room int64) *Problem {
	version := sum(sha256.Sum256(data))
	switch {
	case version == f.good && f.outdated != nil:
		f.known, f.state, f.need = version, max(f.state, broken), 0
		return f.problem(fmt.Sprintf("%x", version), f.outdated)
	case version == f.good: // Also after trouble: the pods are the very same.
		f.known, f.state, f.told, f.need = version, fine, "", 0
		return nil
	case version == f.known && (f.need == 0 || f.need > room):
		return nil
	}
	f.known, f.need = version, 0
	l, err := load(data, origin{c.NodeName, f.path, f.url, f.formerUIDs, c.Strict}, validation.Available{ConfigMaps: c.Objects, Secrets: c.Objects})
	if err == nil && l.memory > room {
		f.need = l.memory
		err = Faults{{Reason: fmt.Sprintf("with the other files of the directory, it needs more than %d MiB of memory", c.MaxMemory>>20)}}
	}
	switch {
	case err == nil:
		f.pods, f.memory, f.ignored, f.good, f.state, f.told, f.outdated = l.pods, l.memory, l.ignored, version, fine, "", nil
		return nil
	case errors.Is(err, ErrEmpty) && !f.mayHavePods():
		// It holds no pod and never has, so nothing is missing (F1).
		f.good, f.state = version, fine
	default:
		f.state = max(f.state, broken)
	}
	return f.problem(fmt.Sprintf("%x", version), err)
}

// loadKept reads the last good version that an earlier process has kept. Its error says why this
// process cannot use that version. Pods that would be refused if they were new go on.
func (f *file) loadKept(body []byte, c *Config, room int64) error {
	l, outdated, err := loadAccepted(body, origin{c.NodeName, f.path, f.url, f.formerUIDs, c.Strict}, validation.Available{ConfigMaps: c.Objects, Secrets: c.Objects})
	if err == nil && outdated != nil && l.memory <= room {
		version := sum(sha256.Sum256(body))
		f.pods, f.memory, f.ignored, f.good, f.known, f.outdated, f.state = l.pods, l.memory, l.ignored, version, version, outdated, broken
		return nil
	}
	if p := f.look(body, c, room); p != nil {
		return p.Err
	}
	return nil
}

// trouble takes in that the file cannot be read.
func (f *file) trouble(err error) *Problem {
	f.known = sum{} // Whatever is read next is looked at.
	if errors.Is(err, ErrNotFile) && !f.mayHavePods() {
		f.state = fine // Nothing that could hold a pod.
		return f.problem(err.Error(), err)
	}
	f.state = max(f.state, broken)
	if !errors.Is(err, ErrNotFile) {
		err = fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return f.problem(err.Error(), err)
}

// problem is nil if the same was told before.
func (f *file) problem(key string, err error) *Problem {
	if f.told == key {
		return nil
	}
	f.told = key
	p := &Problem{Path: cmp.Or(f.shown, f.path), Kept: f.state != fine && len(f.pods) > 0, lost: f.state == lost, Err: err}
	var faults Faults
	if errors.As(err, &faults) && len(faults) > 0 {
		p.Line, p.Pod = faults[0].Line, faults[0].Pod
	}
	return p
}
