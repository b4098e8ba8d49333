package manifest

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/validation"
)

// manifestFile is the state of one manifest file, or of the answer of a server.
type manifestFile struct {
	path  string
	isURL bool // path is a URL
	// displayPath is the path in reports; empty if it equals path.
	displayPath string
	// pods and good are the pods and the hash of the last good version. They stay while later versions are bad.
	pods []*v1.Pod
	good contentHash
	// ignored are the ignored fields of the last good version.
	ignored Faults
	// saved is the hash of the version that was saved for the next process.
	saved contentHash
	// text is the content of the good version, while it waits to be saved. It is nil if there is no room for it.
	text []byte
	// state describes the version that the file has now.
	state fileState
	// lastSeen is the hash of the last version that was parsed. The same version is not parsed again.
	lastSeen contentHash
	// readNext means that the next scan must read the file, because its content may change without a further event: the
	// file may be a link, or was missing, or the read began before the scan.
	readNext bool
	// memory is what the pods use. neededMemory is what the pods of the last version would use, if they exceed the
	// memory limit.
	memory, neededMemory int64
	// newRuleErr is the error with which the good version would be rejected if it was new. An earlier version of this
	// package has accepted it. Nil: it would be accepted.
	newRuleErr error
	// legacyUIDs means that pods of the file have UIDs by the rule of an earlier version of this package.
	legacyUIDs bool
	// reported identifies the last reported problem, so that it is reported once.
	reported string
}

// fileState describes the current version of a file.
type fileState uint8

const (
	// stateGood: it is the last good version, or it has no pod and no earlier version had one. A new file is good.
	stateGood fileState = iota
	// stateBroken: it is bad or cannot be read. The last good version, if any, stays in use.
	stateBroken
	// stateLost: it is broken, and the version that an earlier process has saved cannot be read. That version may have
	// pods that still run.
	stateLost
)

// contentHash identifies the content of a file. It alone decides whether the file has changed, because modification
// times can be wrong (F34). The zero value stands for no content.
type contentHash [sha256.Size]byte

// lacksGoodVersion reports whether the file has a problem and no valid version of it is known. Its pods are
// then unknown.
func (f *manifestFile) lacksGoodVersion() bool {
	return f.state != stateGood && f.good == contentHash{}
}

// mayHavePods reports whether pods of the file may run: the last good version has pods, or the version that an
// earlier process saved cannot be read.
func (f *manifestFile) mayHavePods() bool { return len(f.pods) > 0 || f.state == stateLost }

// needsRead reports whether a scan must read the file although it has not changed, because the same content may now give
// another state. savesVersions says that good versions are saved for the next process. A nil f is a file that was never
// read, and needs it.
func (f *manifestFile) needsRead(savesVersions bool) bool {
	switch {
	case f == nil || f.readNext:
		return true
	case f.lastSeen == contentHash{}: // The last read failed.
		return true
	case f.neededMemory > 0: // Other files may need less memory now.
		return true
	case f.state == stateLost: // Perhaps the saved version can be read now.
		return true
	case isIgnoredName(filepath.Base(f.path)): // Its events are ignored.
		return true
	}
	return savesVersions && f.state == stateGood && f.saved != f.good && f.text == nil // There may be room for its text now.
}

// parseIfChanged updates the file's pods from its content, and returns the problem to report, or nil. It parses
// the content if the content has changed. It also parses unchanged content that did not fit the memory limit
// before and now does. After a problem the file keeps the pods of the last good version.
func (f *manifestFile) parseIfChanged(data []byte, c *Config, memoryLimit int64) *Problem {
	version := contentHash(sha256.Sum256(data))
	switch {
	case version == f.good && f.newRuleErr != nil:
		f.lastSeen, f.state, f.neededMemory = version, max(f.state, stateBroken), 0
		return f.problemIfUnreported(fmt.Sprintf("%x", version), f.newRuleErr)
	case version == f.good: // Also after a problem: the pods are the same objects.
		f.lastSeen, f.state, f.reported, f.neededMemory = version, stateGood, "", 0
		return nil
	case version == f.lastSeen && (f.neededMemory == 0 || f.neededMemory > memoryLimit):
		return nil
	}
	f.lastSeen, f.neededMemory = version, 0
	l, err := loadPods(data, manifestOrigin{c.NodeName, f.path, f.isURL, f.legacyUIDs, c.Strict}, validation.Available{ConfigMaps: c.Objects, Secrets: c.Objects})
	if err == nil && l.memory > memoryLimit {
		f.neededMemory = l.memory
		err = Faults{{Reason: fmt.Sprintf("with the other files of the directory, it needs more than %d MiB of memory", c.MaxMemory>>20)}}
	}
	switch {
	case err == nil:
		f.pods, f.memory, f.ignored, f.good, f.state, f.reported, f.newRuleErr = l.pods, l.memory, l.ignored, version, stateGood, "", nil
		return nil
	case errors.Is(err, ErrEmpty) && !f.mayHavePods():
		// The file has no pod and never had one, so no pod is missing (F1).
		f.good, f.state = version, stateGood
	default:
		f.state = max(f.state, stateBroken)
	}
	return f.problemIfUnreported(fmt.Sprintf("%x", version), err)
}

// loadSavedVersion sets the file from the version that an earlier process has saved. If its pods break only
// rules that are newer than the saved version, they are accepted, because they may run. It returns an error if
// this process cannot use that version.
func (f *manifestFile) loadSavedVersion(body []byte, c *Config, memoryLimit int64) error {
	l, newRuleErr, err := loadAcceptedPods(body, manifestOrigin{c.NodeName, f.path, f.isURL, f.legacyUIDs, c.Strict}, validation.Available{ConfigMaps: c.Objects, Secrets: c.Objects})
	if err == nil && newRuleErr != nil && l.memory <= memoryLimit {
		version := contentHash(sha256.Sum256(body))
		f.pods, f.memory, f.ignored, f.good, f.lastSeen, f.newRuleErr, f.state = l.pods, l.memory, l.ignored, version, version, newRuleErr, stateBroken
		return nil
	}
	if p := f.parseIfChanged(body, c, memoryLimit); p != nil {
		return p.Err
	}
	return nil
}

// setReadError stores that the file cannot be read, and returns the problem to report, or nil. The file keeps
// its pods. A path that is no regular file and never had pods counts as good, because it cannot contain a pod.
func (f *manifestFile) setReadError(err error) *Problem {
	f.lastSeen = contentHash{} // The next version is parsed in any case.
	if errors.Is(err, ErrNotFile) && !f.mayHavePods() {
		f.state = stateGood // It cannot contain a pod.
		return f.problemIfUnreported(err.Error(), err)
	}
	f.state = max(f.state, stateBroken)
	if !errors.Is(err, ErrNotFile) {
		err = fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return f.problemIfUnreported(err.Error(), err)
}

// problemIfUnreported returns a problem with this error and stores key. If the last problem had the same key,
// it returns nil.
func (f *manifestFile) problemIfUnreported(key string, err error) *Problem {
	if f.reported == key {
		return nil
	}
	f.reported = key
	p := &Problem{Path: cmp.Or(f.displayPath, f.path), Kept: f.state != stateGood && len(f.pods) > 0, savedUnreadable: f.state == stateLost, Err: err}
	var faults Faults
	if errors.As(err, &faults) && len(faults) > 0 {
		p.Line, p.Pod = faults[0].Line, faults[0].Pod
	}
	return p
}
