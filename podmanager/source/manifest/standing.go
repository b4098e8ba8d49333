package manifest

import (
	"cmp"
	"log/slog"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager/source"
)

// faultKey identifies what a fault is about. At most one fault per key is active.
type faultKey struct{ kind, subject string }

// Keys of faults that concern the directory, the server or the state directory as a whole.
var (
	listingFault = faultKey{kind: "listing"}
	watchFault   = faultKey{kind: "watch"}
	fetchFault   = faultKey{kind: "fetch"}
	saveFault    = faultKey{kind: "keep"}
	cleanupFault = faultKey{kind: "sweep"}
)

// invalidFileFaultKey returns the key of the fault "the current version of this file is invalid". The next functions
// return the keys of the other faults. fileSaveFaultKey is for a version that cannot be saved.
// ignoredFieldsFaultKey is for ignored fields. ignoredNameFaultKey is for an ignored name. duplicatePodFaultKey is
// for a pod with the name or UID of a pod in another file.
func invalidFileFaultKey(path string) faultKey       { return faultKey{"file", path} }
func fileSaveFaultKey(path string) faultKey          { return faultKey{saveFault.kind, path} }
func ignoredFieldsFaultKey(path string) faultKey     { return faultKey{"ignored", path} }
func ignoredNameFaultKey(path string) faultKey       { return faultKey{"name", path} }
func duplicatePodFaultKey(path, pod string) faultKey { return faultKey{"pod", path + "\x00" + pod} }

// activeFaults holds the faults that exist now. The source sets and resolves them in one goroutine. Reads are safe for
// concurrent use.
type activeFaults struct {
	report   func(Problem)
	resolved func(source.Fault)
	log      *slog.Logger
	now      func() time.Time

	warned map[string]bool // texts of the warnings that were reported; used by the goroutine of the source only

	mu       sync.Mutex
	byKey    map[faultKey]*activeFault
	podPaths map[types.UID]string // the file of each pod
}

// activeFault is one fault, with the pods that it concerns.
type activeFault struct {
	fault source.Fault
	text  string // the whole error, to detect a changed fault
	pods  []*v1.Pod
}

// newActiveFaults returns an empty set of faults. Its methods call report for each new problem, and resolved
// for each fault that no longer exists.
func newActiveFaults(report func(Problem), resolved func(source.Fault), log *slog.Logger, now func() time.Time) *activeFaults {
	return &activeFaults{report: report, resolved: resolved, log: log, now: now, warned: map[string]bool{}, byKey: map[faultKey]*activeFault{}}
}

// setPodPaths stores from which file each pod comes. It replaces the previous map.
func (s *activeFaults) setPodPaths(paths map[types.UID]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.podPaths = paths
}

// filePathOfPod returns the path of the manifest file from which a pod comes, whether it has a fault or not.
// found is false for an unknown pod.
func (s *activeFaults) filePathOfPod(uid types.UID) (path string, found bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	path, found = s.podPaths[uid]
	return path, found
}

// logAndReport writes a problem to the log and passes it to Config.Report.
func (s *activeFaults) logAndReport(p Problem) {
	s.log.Warn("A manifest has a problem", p.logAttributes()...)
	s.report(p)
}

// storeFault stores a fault and returns true if no fault with this key existed or its text was different. A
// fault that replaces another keeps the start time of the other.
func (s *activeFaults) storeFault(key faultKey, p Problem, pods []*v1.Pod) (isNew bool) {
	fault := source.Fault{Path: p.Path, Reason: p.Reason(), Effect: p.Effect(), Since: s.now()}
	text := p.Err.Error()
	s.mu.Lock()
	defer s.mu.Unlock()
	if previous := s.byKey[key]; previous != nil {
		fault.Since = previous.fault.Since
		isNew = previous.text != text
	} else {
		isNew = true
	}
	s.byKey[key] = &activeFault{fault, text, pods}
	return isNew
}

// storeAndReportIfNew stores a fault. It also logs the problem and passes it to Config.Report, unless the
// previous fault with this key had the same text.
func (s *activeFaults) storeAndReportIfNew(key faultKey, p Problem, pods []*v1.Pod) {
	if s.storeFault(key, p, pods) {
		s.logAndReport(p)
	}
}

// storeAndReportFileFaults updates the active faults of a manifest file. If the file is good, it resolves the
// file's fault. If the file is not good, it stores p, if p is not nil, as the file's fault. It logs and reports
// p in both cases. It also stores and reports, or resolves, the fault for ignored fields, and reports new
// unusual priorities of the file's pods.
func (s *activeFaults) storeAndReportFileFaults(f *manifestFile, p *Problem) {
	key := invalidFileFaultKey(f.path)
	switch {
	case f.state == stateGood:
		s.resolveIfActive(key)
	case p != nil:
		s.storeFault(key, *p, f.pods)
	}
	if p != nil {
		s.logAndReport(*p)
	}
	s.reportUnusualPriorityTextsOnce(cmp.Or(f.displayPath, f.path), f.pods)
	ignoredKey := ignoredFieldsFaultKey(f.path)
	if len(f.ignored) == 0 {
		s.resolveIfActive(ignoredKey)
		return
	}
	s.storeAndReportIfNew(ignoredKey, Problem{Path: cmp.Or(f.displayPath, f.path), Line: f.ignored[0].Line, Pod: f.ignored[0].Pod, Err: f.ignored}, f.pods)
}

// resolveIfActive removes the fault with this key, logs that, and passes the fault to Config.Resolved. If there
// is no such fault, it does nothing.
func (s *activeFaults) resolveIfActive(key faultKey) {
	s.mu.Lock()
	fault := s.byKey[key]
	delete(s.byKey, key)
	s.mu.Unlock()
	if fault != nil {
		s.log.Info("The problem of a manifest is resolved", "path", fault.fault.Path, "was", fault.fault.Reason)
		s.resolved(fault.fault)
	}
}

// resolveOthersOfKind resolves all active faults of a kind, except those whose keys are in keep.
func (s *activeFaults) resolveOthersOfKind(kind string, keep map[faultKey]bool) {
	for _, what := range s.keysOfKind(kind) {
		if !keep[what] {
			s.resolveIfActive(what)
		}
	}
}

// keysOfKind returns the keys of the active faults of a kind, sorted by subject (the path or pod that the fault
// is about).
func (s *activeFaults) keysOfKind(kind string) (all []faultKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for what := range s.byKey {
		if what.kind == kind {
			all = append(all, what)
		}
	}
	slices.SortStableFunc(all, func(a, b faultKey) int { return cmp.Compare(a.subject, b.subject) })
	return all
}

// countAndFirstSortedFaults returns the number of active faults and the first source.MaxFaults of them, sorted
// by path and reason.
func (s *activeFaults) countAndFirstSortedFaults() source.Faults {
	var first []source.Fault
	s.mu.Lock()
	for _, one := range s.byKey {
		first = append(first, one.fault)
	}
	s.mu.Unlock()
	slices.SortStableFunc(first, func(a, b source.Fault) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Reason, b.Reason))
	})
	return source.Faults{Count: len(first), First: slices.Clip(first[:min(len(first), source.MaxFaults)])}
}

// faultOfPod returns the active fault that concerns a pod. Of several faults it returns the one with the
// smallest kind and subject. found is false if there is none.
func (s *activeFaults) faultOfPod(uid types.UID) (fault source.Fault, found bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var best faultKey
	for what, one := range s.byKey {
		if slices.ContainsFunc(one.pods, func(pod *v1.Pod) bool { return pod.UID == uid }) &&
			(!found || cmp.Or(cmp.Compare(what.kind, best.kind), cmp.Compare(what.subject, best.subject)) < 0) {
			fault, found, best = one.fault, true, what
		}
	}
	return fault, found
}
